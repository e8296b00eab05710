/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules and libraries list the program's own kernels, which are known from then on. */
#define _GNU_SOURCE
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/kernels.h"
#include "device/shim/session.h"
#include "device/shim/shim.h"
#include "fake_driver.h"
#include "test_shim_modules.h"

extern void *shim_slot[SHIM_FN_COUNT];

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry a(.param .u64 p)\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, %ctaid.x;\n\tret;\n}\n"
	".visible .entry b(.param .u64 p)\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, %ctaid.x;\n\tret;\n}\n";

/* ---- a driver whose modules hold these, the variants among them; a handle is its number ---- */

static const char *const names[] = { "b__gpushare_p", "b",     "b__gpushare_g", "a",
				     "a__gpushare_p", "my_end" };
#define NAMES (sizeof(names) / sizeof(names[0]))
#define MODULE 0x900000u
#define LIBRARY 0xa00000u
#define HANDLE(of, i) ((of) + 0x10 * ((uintptr_t)(i) + 1))

static CUresult refusal; /* to list */

static CUresult fake_load(CUmodule *module, const void *image, unsigned int n,
			  CUjit_option *options, void **values)
{
	(void)image, (void)n, (void)options, (void)values;
	*module = (CUmodule)(uintptr_t)MODULE;
	return CUDA_SUCCESS;
}

static CUresult fake_load_library(CUlibrary *library, const void *code, CUjit_option *jit,
				  void **jit_values, unsigned int njit, CUlibraryOption *options,
				  void **values, unsigned int n)
{
	(void)code, (void)jit, (void)jit_values, (void)njit, (void)options, (void)values, (void)n;
	*library = (CUlibrary)(uintptr_t)LIBRARY;
	return CUDA_SUCCESS;
}

/* Of a module or a library. */
static CUresult fake_count(unsigned int *n, const void *of)
{
	(void)of;
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	*n = NAMES;
	return refusal;
}

static CUresult fake_list(void **handle, unsigned int n, const void *of)
{
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < n && i < NAMES; i++)
		handle[i] = (void *)HANDLE((uintptr_t)of, i);
	return CUDA_SUCCESS;
}

static CUresult fake_name(const char **name, const void *handle)
{
	*name = names[((uintptr_t)handle >> 4 & 0xf) - 1];
	return CUDA_SUCCESS;
}

/* By name. */
static CUresult fake_get(void **handle, const void *of, const char *name)
{
	for (unsigned int i = 0; i < NAMES; i++) {
		if (strcmp(names[i], name) == 0) {
			*handle = (void *)HANDLE((uintptr_t)of, i);
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

static int setup(void **unused)
{
	(void)unused;
	shim_slot[SHIM_FN_cuModuleLoadDataEx] = (void *)(uintptr_t)fake_load;
	shim_slot[SHIM_FN_cuLibraryLoadData] = (void *)(uintptr_t)fake_load_library;
	shim_slot[SHIM_FN_cuModuleGetFunctionCount] = (void *)(uintptr_t)fake_count;
	shim_slot[SHIM_FN_cuLibraryGetKernelCount] = (void *)(uintptr_t)fake_count;
	shim_slot[SHIM_FN_cuModuleEnumerateFunctions] = (void *)(uintptr_t)fake_list;
	shim_slot[SHIM_FN_cuLibraryEnumerateKernels] = (void *)(uintptr_t)fake_list;
	shim_slot[SHIM_FN_cuFuncGetName] = (void *)(uintptr_t)fake_name;
	shim_slot[SHIM_FN_cuKernelGetName] = (void *)(uintptr_t)fake_name;
	shim_slot[SHIM_FN_cuModuleGetFunction] = (void *)(uintptr_t)fake_get;
	shim_slot[SHIM_FN_cuLibraryGetKernel] = (void *)(uintptr_t)fake_get;
	return 0;
}

static void expect_known(uintptr_t of, const void *handle, int i, int variant)
{
	const struct shim_kernel *k;

	assert_ptr_equal(handle, HANDLE(of, i));
	k = shim_kernel_find(handle);
	assert_string_equal(k->name, names[i]);
	if (variant < 0) {
		assert_int_equal(k->transform, PTX_TRANSFORM_AS_IS);
		return;
	}
	assert_int_equal(k->transform, PTX_TRANSFORM_PERSISTENT);
	assert_ptr_equal(k->variant, HANDLE(of, variant));
	assert_int_equal(k->nparam, 1);
}

static void functions_of_a_module(void **unused)
{
	CUfunction f[NAMES + 1] = { NULL };
	unsigned int n = 0;
	CUmodule module;

	(void)unused;
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleGetFunctionCount(&n, module), CUDA_SUCCESS);
	assert_int_equal(n, 3);
	assert_int_equal(cuModuleEnumerateFunctions(f, n, module), CUDA_SUCCESS);
	expect_known(MODULE, f[0], 1, 0);
	expect_known(MODULE, f[1], 3, 4);
	expect_known(MODULE, f[2], 5, -1);
	assert_null(f[3]);
	/* As many as there is room for, and no more than there are. */
	memset(f, 0, sizeof(f));
	assert_int_equal(cuModuleEnumerateFunctions(f, 1, module), CUDA_SUCCESS);
	assert_ptr_equal(f[0], HANDLE(MODULE, 1));
	assert_null(f[1]);
	assert_int_equal(cuModuleEnumerateFunctions(f, NAMES + 1, module), CUDA_SUCCESS);
	assert_ptr_equal(f[2], HANDLE(MODULE, 5));
	assert_null(f[3]);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
}

static void kernels_of_a_library(void **unused)
{
	CUkernel k[NAMES] = { NULL };
	CUlibrary library;
	unsigned int n = 0;

	(void)unused;
	assert_int_equal(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0),
			 CUDA_SUCCESS);
	assert_int_equal(cuLibraryGetKernelCount(&n, library), CUDA_SUCCESS);
	assert_int_equal(n, 3);
	assert_int_equal(cuLibraryEnumerateKernels(k, NAMES, library), CUDA_SUCCESS);
	expect_known(LIBRARY, k[0], 1, 0);
	expect_known(LIBRARY, k[1], 3, 4);
	expect_known(LIBRARY, k[2], 5, -1);
	assert_null(k[3]);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
}

/* A module that is loaded as it is has the number of one with variants: its functions have none. */
static void functions_with_the_numbers_of_others(void **unused)
{
	static const char other[64] = "\x7f"
				      "ELF: no PTX"; /* as long as a header */
	CUfunction f[NAMES];
	CUmodule module;

	(void)unused;
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(cuModuleEnumerateFunctions(f, NAMES, module), CUDA_SUCCESS);
	expect_known(MODULE, f[0], 1, 0);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	assert_int_equal(cuModuleLoadData(&module, other), CUDA_SUCCESS);
	assert_int_equal(cuModuleEnumerateFunctions(f, NAMES, module), CUDA_SUCCESS);
	expect_known(MODULE, f[0], 1, -1);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
}

/* What is wrong with a call, the driver says. */
static void errors_are_the_drivers(void **unused)
{
	unsigned int n = 77;
	CUfunction f = NULL;

	(void)unused;
	assert_int_equal(cuModuleGetFunctionCount(NULL, (CUmodule)MODULE),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuModuleEnumerateFunctions(NULL, 1, (CUmodule)MODULE),
			 CUDA_ERROR_INVALID_VALUE);
	refusal = CUDA_ERROR_INVALID_HANDLE;
	assert_int_equal(cuModuleGetFunctionCount(&n, (CUmodule)MODULE), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuModuleEnumerateFunctions(&f, 1, (CUmodule)MODULE),
			 CUDA_ERROR_INVALID_HANDLE);
	refusal = CUDA_SUCCESS;
	assert_int_equal(n, 77);
	assert_null(f);
}

/* ---- the driver's own table ---- */

typedef int each_fn(CUcontext ctx, CUmodule module, void (*visit)(void *user, CUfunction f),
		    void *user);

static int each(CUcontext ctx, CUmodule module, void (*visit)(void *user, CUfunction f), void *user)
{
	assert_ptr_equal(ctx, FAKE_CONTEXT);
	for (unsigned int i = 0; i < NAMES; i++)
		visit(user, (CUfunction)HANDLE((uintptr_t)module, i));
	return NAMES;
}

static struct {
	size_t bytes;
	void *others[6];
	each_fn *each;
	void *more[3];
} table = { sizeof(table), { NULL }, each, { &table, &table, NULL } };

static CUresult fake_table(const void **out, const CUuuid *id)
{
	(void)id;
	*out = &table;
	return CUDA_SUCCESS;
}

static const void *table_of(const char *id)
{
	const void *out = NULL;
	CUuuid uuid;

	memcpy(uuid.bytes, id, sizeof(uuid.bytes));
	assert_int_equal(cuGetExportTable(&out, &uuid), CUDA_SUCCESS);
	return out;
}

static CUfunction seen[NAMES];
static unsigned int nseen;

static void see(void *user, CUfunction f)
{
	assert_ptr_equal(user, seen);
	seen[nseen++] = f;
}

#define FUNCTIONS_ID "\x6e\x16\x3f\xbe\xb9\x58\x44\x4d\x83\x5c\xe1\x82\xaf\xf1\x99\x1e"

/* The program's own code gets that entry without the variants, as the calls that are documented;
 * libraries get the driver's. */
static void functions_by_the_drivers_table(void **unused)
{
	const void *entry = (void *)(uintptr_t)cuGetExportTable, *out = NULL;
	size_t one = 1;
	each_fn *own;
	CUmodule module;

	(void)unused;
	shim_slot[SHIM_FN_cuGetExportTable] = (void *)(uintptr_t)fake_table;
	assert_ptr_equal(table_of("0123456789abcdef"), &table);
	lfind(&out, FUNCTIONS_ID, &one, 1, (int (*)(const void *, const void *))(uintptr_t)entry);
	assert_ptr_equal(out, &table);
	table.bytes = 7 * sizeof(void *); /* it ends before that entry */
	assert_ptr_equal(table_of(FUNCTIONS_ID), &table);
	table.bytes = sizeof(table);
	out = table_of(FUNCTIONS_ID);
	assert_ptr_not_equal(out, &table);
	assert_ptr_equal(table_of(FUNCTIONS_ID), out);
	memcpy(&own, (const char *)out + offsetof(__typeof__(table), each), sizeof(own));
	assert_true(own != each);
	assert_memory_equal(out, &table, offsetof(__typeof__(table), each));
	assert_memory_equal((const char *)out + offsetof(__typeof__(table), more), table.more,
			    sizeof(table.more));
	assert_int_equal(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(own(FAKE_CONTEXT, module, see, seen), 3);
	assert_int_equal(nseen, 3);
	expect_known(MODULE, seen[0], 1, 0);
	expect_known(MODULE, seen[1], 3, 4);
	expect_known(MODULE, seen[2], 5, -1);
	assert_int_equal(cuModuleUnload(module), CUDA_SUCCESS);
	shim_slot[SHIM_FN_cuGetExportTable] = NULL;
}

int shim_listings(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_a_module),
		cmocka_unit_test(kernels_of_a_library),
		cmocka_unit_test(functions_with_the_numbers_of_others),
		cmocka_unit_test(errors_are_the_drivers),
		cmocka_unit_test(functions_by_the_drivers_table),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
