/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program sets on a kernel, its variant gets, too. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "device/shim/context/context.h"
#include "device/shim/session/session.h"
#include "device/shim/variant/variant.h"
#include "fake_driver.h"
#include "modules_rig.h"

/* Each call adds up the handles that it is for. */
static uintptr_t set_on;
static int shared_bytes; /* the original's */

static CUresult fake_get_attribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	*value = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES && f != FAKE_VARIANT ?
			 shared_bytes :
			 0;
	return CUDA_SUCCESS;
}

static CUresult fake_set_attribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	(void)attribute, (void)value;
	set_on += (uintptr_t)f;
	return CUDA_SUCCESS;
}

static CUresult fake_set_cache(CUfunction f, CUfunc_cache config)
{
	(void)config;
	set_on += (uintptr_t)f;
	return CUDA_SUCCESS;
}

static CUresult fake_set_kernels_attribute(CUfunction_attribute attribute, int value,
					   CUkernel kernel, CUdevice device)
{
	(void)attribute, (void)value, (void)device;
	set_on += (uintptr_t)kernel;
	return CUDA_SUCCESS;
}

static uintptr_t what_was_set(void)
{
	uintptr_t on = set_on;

	set_on = 0;
	return on;
}

static void set_on_both(void **unused)
{
	struct shim_variant *v = calloc(1, sizeof(*v));
	CUlibrary library = library_of(ptx);
	CUkernel kernel = NULL;
	struct shim_code *code;

	(void)unused;
	PUT(cuFuncGetAttribute, fake_get_attribute);
	PUT(cuFuncSetAttribute, fake_set_attribute);
	PUT(cuFuncSetCacheConfig, fake_set_cache);
	PUT(cuKernelSetAttribute, fake_set_kernels_attribute);
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "k"), CUDA_SUCCESS);
	code = shim_kernel_find(kernel)->code;
	v->ctx = shim_context_current(shim_session());
	v->f = FAKE_VARIANT;
	v->transform = PTX_TRANSFORM_PERSISTENT;
	/* Before the variant is there: */
	assert_int_equal(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0), CUDA_SUCCESS);
	shared_bytes = 70000;
	set_on = 0;
	shim_variant_take_settings(shim_kernel_find(kernel), v);
	assert_int_equal(what_was_set(), 2 * (uintptr_t)FAKE_VARIANT);
	/* and after. */
	shim_variant_add(code, v);
	assert_int_equal(code->transform, PTX_TRANSFORM_PERSISTENT);
	assert_int_equal(
		cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1, kernel, 0),
		CUDA_SUCCESS);
	assert_int_equal(what_was_set(), (uintptr_t)kernel + (uintptr_t)FAKE_VARIANT);
	assert_int_equal(cuFuncSetAttribute((CUfunction)(uintptr_t)kernel,
					    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1),
			 CUDA_SUCCESS);
	assert_int_equal(what_was_set(), (uintptr_t)kernel + (uintptr_t)FAKE_VARIANT);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	assert_null(code->variants);
	assert_int_equal(code->transform,
			 PTX_TRANSFORM_PERSISTENT); /* the report says what it had */
	shim_variant_free(v);
}

int shim_settings(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_on_both),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
