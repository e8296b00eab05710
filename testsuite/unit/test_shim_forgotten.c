/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handles that the driver gives anew: what went with a context, a module or a library is not what
 * the next one with its handle is. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/base/upcalls.h"
#include "device/shim/context/context.h"
#include "device/shim/graph/graph.h"
#include "modules_rig.h"

/* What the driver says of a function that the program has from a list. */
static const char *its_name;
static CUmodule its_module; /* NULL: the driver does not say */

static CUresult fake_function_name(const char **name, CUfunction f)
{
	(void)f;
	*name = its_name;
	return CUDA_SUCCESS;
}

static CUresult fake_function_module(CUmodule *module, CUfunction f)
{
	(void)f;
	*module = its_module;
	return its_module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static int setup(void **unused)
{
	(void)unused;
	PUT(cuFuncGetName, fake_function_name);
	PUT(cuFuncGetModule, fake_function_module);
	return 0;
}

/* A function that the program has launched, of a list that the shim has not seen. */
static struct shim_kernel *listed(CUfunction f, const char *name, CUmodule module)
{
	its_name = name;
	its_module = module;
	return shim_kernel_find(f);
}

static CUfunction named_in(CUmodule module)
{
	CUfunction f = NULL;

	assert_int_equal(cuModuleGetFunction(&f, module, "k"), CUDA_SUCCESS);
	return f;
}

static void end_context(void)
{
	CUcontext ctx = shim_context_handle();

	shim_upcalls->context_ends(ctx, 0);
	shim_upcalls->context_ends(ctx, 1);
}

static void expect_another(CUfunction f)
{
	const struct shim_kernel *k = listed(f, "another", NULL);

	assert_string_equal(k->code->name, "another");
	assert_null(k->code->module);
}

/* Whether the program asks for it by its name or has it from a list; the library stays. */
static void functions_of_a_librarys_module_go_with_their_context(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_module *m = shim_module_find(library);
	struct shim_kernel *k;
	CUmodule module;
	CUfunction f;

	(void)unused;
	for (int from_a_list = 0; from_a_list < 2; from_a_list++) {
		assert_int_equal(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
		f = from_a_list ? (CUfunction)((uintptr_t)module + 0x20) : named_in(module);
		k = listed(f, "k", module);
		assert_ptr_equal(k->code->module, m);
		shim_upcalls->context_ends((CUcontext)0x5550, 0);
		shim_upcalls->context_ends((CUcontext)0x5550, 1);
		assert_ptr_equal(shim_kernel_seen(f), k);
		end_context();
		expect_another(f);
		/* The module's handle may be another library's module by now. */
		assert_null(shim_module_find(module));
	}
	assert_ptr_equal(shim_module_find(library), m);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

static void a_function_goes_before_the_driver_is_asked(void **unused)
{
	CUlibrary library = library_of(ptx);
	CUmodule module;
	CUfunction f;

	(void)unused;
	assert_int_equal(cuLibraryGetModule(&module, library), CUDA_SUCCESS);
	f = named_in(module);
	shim_upcalls->context_ends(shim_context_handle(), 0);
	expect_another(f);
	shim_upcalls->context_ends(shim_context_handle(), 1);
	assert_string_equal(shim_kernel_seen(f)->code->name, "another");
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* It may be of whatever goes. If it stays, what is known of it comes back. */
static void a_function_of_an_unknown_module(void **unused)
{
	CUfunction f = (CUfunction)0x9900;
	struct shim_kernel *k = listed(f, "k", (CUmodule)0x9000);
	CUlibrary library;

	(void)unused;
	assert_null(k->code->module);
	for (int i = 0; i < 3; i++) {
		library = library_of(ptx);
		if (i == 0)
			assert_int_equal(cuModuleUnload(module_of(ptx)), CUDA_SUCCESS);
		else if (i == 1)
			end_context();
		assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
		assert_null(k->handle);
		assert_ptr_equal(listed(f, "k", (CUmodule)0x9000), k);
		assert_ptr_equal(k->handle, f);
	}
	assert_int_equal(cuModuleUnload(module_of(ptx)), CUDA_SUCCESS);
	expect_another(f);
}

/* One that was not seen to go does not come back when the one with its handle goes. */
static void the_one_before_does_not_come_back(void **unused)
{
	CUmodule module = module_of(ptx);
	CUfunction f = named_in(module);

	(void)unused;
	shim_kernel_add((void *)0x9900, 1, f, "of another library");
	shim_kernel_add(module, 0, f, "k");
	assert_string_equal(shim_kernel_seen(f)->code->name, "k");
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	assert_null(shim_kernel_seen(f));
}

/* A graph that was destroyed, or has gone with its context. */
static void a_graphs_handle(void **unused)
{
	CUgraphExec exec = (CUgraphExec)0x9900;

	(void)unused;
	assert_string_equal(shim_graph_find(exec)->code->name, "(graph)");
	shim_graph_gone(exec);
	assert_null(shim_kernel_seen(exec));
	shim_graph_find(exec);
	expect_another((CUfunction)(uintptr_t)exec);
	assert_string_equal(shim_graph_find(exec)->code->name, "(graph)");
	shim_graph_gone(exec);
	expect_another((CUfunction)(uintptr_t)exec);
}

int shim_forgotten(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_a_librarys_module_go_with_their_context),
		cmocka_unit_test(a_function_goes_before_the_driver_is_asked),
		cmocka_unit_test(a_function_of_an_unknown_module),
		cmocka_unit_test(the_one_before_does_not_come_back),
		cmocka_unit_test(a_graphs_handle),
	};

	return cmocka_run_group_tests_name("forgotten", tests, setup, NULL);
}
