/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules that are loaded again and again, and those that go with their context. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/base/upcalls.h"
#include "device/shim/context/context.h"
#include "modules_rig.h"

static void count(struct shim_kernel *k, void *n)
{
	(void)k;
	++*(size_t *)n;
}

static size_t records(void)
{
	size_t n = 0;

	shim_kernels_each(count, &n);
	return n;
}

static void a_module_that_comes_back_is_known(void **unused)
{
	CUmodule module = module_of(ptx);
	const struct shim_module *m = shim_module_find(module);
	struct shim_kernel *k = kernel_of(module);
	uint32_t number = k->code->number;
	size_t before = records();

	(void)unused;
	for (int i = 0; i < 20000; i++) {
		k->code->build = SHIM_BUILD_OVER; /* of a variant that went with the module */
		unload(module);
		assert_null(k->handle);
		assert_ptr_equal(k->code->module, m);
		assert_true(m->gone);
		module = module_of(ptx);
		assert_ptr_equal(shim_module_find(module), m);
		assert_false(m->gone);
		assert_ptr_equal(kernel_of(module), k);
	}
	assert_int_equal(records(), before);
	assert_int_equal(k->code->number, number);
	assert_int_equal(k->code->build, SHIM_BUILD_NOT);
	assert_int_equal(k->code->reason, PTX_REASON_NOT_BUILT);
	unload(module);
}

/* Each time it has another handle: a kernel has a record in each bucket at most. */
static void a_module_that_comes_back_elsewhere(void **unused)
{
	size_t before = records();

	(void)unused;
	for (int i = 0; i < 20000; i++) {
		CUmodule module = module_of(ptx);

		assert_ptr_equal(kernel_of(module)->original, (uintptr_t)module + 0x10);
		assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	}
	assert_true(records() - before <= 1 << SHIM_BUCKET_BITS);
}

/* Two that are loaded at once are two; and what differs in one character is another one. */
static void what_is_alike_is_not_the_same(void **unused)
{
	char *other = strdup(ptx);
	CUmodule a, b;
	const struct shim_module *m;

	(void)unused;
	strstr(other, "ctaid.x")[strlen("ctaid.")] = 'y';
	a = module_of(ptx);
	b = module_of(ptx);
	assert_ptr_not_equal(kernel_of(a), kernel_of(b));
	assert_ptr_not_equal(kernel_of(a)->code, kernel_of(b)->code);
	m = shim_module_find(b);
	assert_int_equal(cuModuleUnload(a), CUDA_SUCCESS);
	unload(b);
	a = module_of(other);
	assert_ptr_not_equal(shim_module_find(a), m);
	assert_string_equal(shim_module_find(a)->image.at, other);
	unload(a);
	free(other);
}

/* A variant that was begun for the module that is gone may still come. */
static void what_is_being_made_is_not_used_again(void **unused)
{
	CUmodule module = module_of(ptx);
	struct shim_kernel *k = kernel_of(module);

	(void)unused;
	k->code->build = SHIM_BUILD_WANTED;
	unload(module);
	module = module_of(ptx);
	assert_ptr_not_equal(kernel_of(module), k);
	k->code->build = SHIM_BUILD_NOT;
	unload(module);
}

/* A library is as it was: its kernels have records in several places. */
static void libraries_do_not_come_back(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_module *m = shim_module_find(library);

	(void)unused;
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	library = library_of(ptx);
	assert_ptr_not_equal(shim_module_find(library), m);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* The driver unloads them. Meanwhile another thread has got the context's handle and the module's
 * for new ones, which stay. */
static void modules_go_with_their_context(void **unused)
{
	CUcontext ctx = shim_context_handle();
	char *heap = strdup(ptx);
	CUmodule module = module_of(heap), other;
	struct shim_module *m = shim_module_find(module), *fresh;
	struct shim_kernel *k = kernel_of(module), *its;
	CUlibrary library = library_of(ptx);

	(void)unused;
	assert_non_null(m->image.own);
	shim_upcalls->context_ends(ctx, 0);
	assert_ptr_equal(shim_module_find(module), m);
	assert_null(k->handle); /* it may be another function's before the driver returns */
	next_handle = (uintptr_t)module - 0x100000;
	other = module_of(ptx);
	assert_ptr_equal(other, module);
	fresh = shim_module_find(other);
	its = kernel_of(other);
	shim_upcalls->context_ends(ctx, 1);
	assert_null(m->image.own);
	assert_true(m->gone);
	assert_ptr_equal(shim_module_find(other), fresh);
	assert_ptr_equal(kernel_of(other), its);
	assert_non_null(shim_module_find(library));
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	/* As one that the program has unloaded it may come back. */
	next_handle += 0x100000;
	assert_ptr_equal(shim_module_find(module_of(heap)), m);
	free(heap);
}

/* The driver gives its handle to another function, which comes from a list. */
static void functions_of_libraries_go_with_their_context(void **unused)
{
	CUlibrary library = library_of(ptx);
	const struct shim_code *code = code_of(library);
	CUcontext ctx = shim_context_handle();
	size_t before = records();
	CUkernel kernel = NULL;

	(void)unused;
	for (int i = 0; i < 100; i++) {
		shim_upcalls->context_ends(ctx, 0);
		shim_upcalls->context_ends(ctx, 1);
		assert_ptr_equal(code_of(library), code);
	}
	assert_int_equal(records(), before);
	shim_upcalls->context_ends(ctx, 0);
	shim_upcalls->context_ends(ctx, 1);
	assert_ptr_not_equal(shim_kernel_find((CUfunction)0x7000)->code, code);
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	assert_ptr_equal(shim_kernel_find(kernel)->code, code);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* A thread that has been cancelled gets a function and unloads its module: it ends afterwards. */
static void *cancelled(void *module)
{
	CUmodule is = *(CUmodule *)module;
	CUfunction f;

	pthread_cancel(pthread_self());
	if (cuModuleGetFunction(&f, is, "k") == CUDA_SUCCESS && shim_kernel_find(f) &&
	    cuModuleUnload(is) == CUDA_SUCCESS)
		*(CUmodule *)module = NULL;
	return module;
}

static void who_is_cancelled_does_it_all(void **unused)
{
	CUmodule module = module_of(ptx);
	struct shim_module *m = shim_module_find(module);
	pthread_t thread;

	(void)unused;
	assert_int_equal(pthread_create(&thread, NULL, cancelled, &module), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_null(module);
	assert_int_equal(m->users, 0);
	next_handle += 0x100000;
}

int shim_reloads(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_that_comes_back_is_known),
		cmocka_unit_test(a_module_that_comes_back_elsewhere),
		cmocka_unit_test(what_is_alike_is_not_the_same),
		cmocka_unit_test(what_is_being_made_is_not_used_again),
		cmocka_unit_test(libraries_do_not_come_back),
		cmocka_unit_test(modules_go_with_their_context),
		cmocka_unit_test(functions_of_libraries_go_with_their_context),
		cmocka_unit_test(who_is_cancelled_does_it_all),
	};

	return cmocka_run_group_tests_name("reloads", tests, NULL, NULL);
}
