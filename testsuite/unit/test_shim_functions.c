/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a library's kernel is launched by, and in which context; what is asked for that ends no
 * capture. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/context/context.h"
#include "device/shim/kernel/kernels.h"
#include "fake_driver.h"
#include "shim_libraries.h"
#include "shim_rig.h"

/* The driver looks for the function of each launch that is given a library's kernel. */
static void test_what_untracked_is_launched_by_its_function(void **unused)
{
	CUkernel one;
	CUlibrary library = load(&one, NULL);
	CUfunction handle = (CUfunction)(uintptr_t)one,
		   function = (CUfunction)((uintptr_t)one + 0x10);
	struct shim_time *time;

	(void)unused;
	expect_wait(launch_it, library, one);
	time = shim_kernel_time(shim_kernel_find(one), (const unsigned int[]) { 32, 1, 1 },
				LONG_GRID);
	time->tpt_ps = 1000;
	time->due = UINT64_MAX;
	expect_pass(launch_it, library, one); /* what went untracked before is told */
	assert_int_equal(launch_in(handle, 1, OTHER), CUDA_SUCCESS);
	assert_true(all_prepared());
	assert_ptr_equal(fake_launched, function);
	/* As for a stream of another context than the current one. */
	fake_elsewhere = function;
	assert_int_equal(launch_in(handle, 1, OTHER), CUDA_SUCCESS);
	assert_ptr_equal(fake_launched, handle);
	fake_elsewhere = NULL;
	assert_int_equal(launch_in(handle, 1, OTHER), CUDA_SUCCESS);
	assert_ptr_equal(fake_launched, function);
}

/* ---- contexts whose handle comes again, as another one's ------------------------ */

static unsigned int generation; /* of the context: its functions are others */

static CUresult fake_own_function(CUfunction *f, CUkernel of)
{
	*f = (CUfunction)((uintptr_t)of + 0x10 + generation * 0x1000000);
	return CUDA_SUCCESS;
}

static CUresult fake_from_green(CUcontext *as, CUgreenCtx ctx)
{
	(void)ctx;
	assert_int_equal(cuCtxGetCurrent(as), CUDA_SUCCESS);
	return CUDA_SUCCESS;
}

static CUresult fake_success(void)
{
	return CUDA_SUCCESS;
}

static CUresult destroy(CUcontext ctx)
{
	return cuCtxDestroy_v2(ctx);
}

static CUresult detach(CUcontext ctx)
{
	return cuCtxDetach(ctx);
}

static CUresult detach_rc;

static CUresult fake_detach(CUcontext ctx)
{
	(void)ctx;
	return detach_rc;
}

/* Neither another context's detaching nor one that fails counts. */
static CUresult attach_and_detach(CUcontext ctx)
{
	assert_int_equal(cuCtxAttach(&ctx, 0), CUDA_SUCCESS);
	assert_int_equal(cuCtxDetach((CUcontext)0x5550), CUDA_SUCCESS);
	detach_rc = CUDA_ERROR_INVALID_VALUE;
	assert_int_equal(cuCtxDetach(ctx), CUDA_ERROR_INVALID_VALUE);
	detach_rc = CUDA_SUCCESS;
	return cuCtxDetach(ctx);
}

static CUresult destroy_green(CUcontext ctx)
{
	(void)ctx;
	return cuGreenCtxDestroy((CUgreenCtx)0x1234);
}

static void launch_thrice(CUfunction f)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(launch_in(f, 1, OTHER), CUDA_SUCCESS);
		EVENTUALLY(all_prepared());
	}
}

static void test_the_next_context_has_its_own_functions(void **unused)
{
	static CUresult (*const end[])(CUcontext ctx) = { destroy, detach, destroy_green,
							  attach_and_detach };
	void *was = shim_slot[SHIM_FN_cuKernelGetFunction];

	(void)unused;
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_own_function;
	shim_slot[SHIM_FN_cuCtxFromGreenCtx] = (void *)(uintptr_t)fake_from_green;
	shim_slot[SHIM_FN_cuGreenCtxDestroy] = (void *)(uintptr_t)fake_success;
	shim_slot[SHIM_FN_cuCtxAttach] = (void *)(uintptr_t)fake_success;
	shim_slot[SHIM_FN_cuCtxDetach] = (void *)(uintptr_t)fake_detach;
	for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++) {
		CUcontext ctx = NULL;
		CUfunction f;
		CUkernel one;
		const struct shim_context *was_in;
		struct shim_time *time;

		load(&one, NULL);
		time = shim_kernel_time(shim_kernel_find(one), (const unsigned int[]) { 32, 1, 1 },
					LONG_GRID);
		time->tpt_ps = 1000;
		time->due = UINT64_MAX;
		assert_int_equal(cuCtxGetCurrent(&ctx), CUDA_SUCCESS);
		launch_thrice((CUfunction)(uintptr_t)one);
		fake_own_function(&f, one);
		assert_ptr_equal(fake_launched, f);
		was_in = shim_context_current(shim_session());
		assert_int_equal(end[i](ctx), CUDA_SUCCESS);
		assert_int_equal(shim_context_current(shim_session()) == was_in,
				 end[i] == attach_and_detach);
		generation += end[i] != attach_and_detach; /* that one is still there */
		launch_thrice((CUfunction)(uintptr_t)one);
		fake_own_function(&f, one);
		assert_ptr_equal(fake_launched, f);
	}
	shim_slot[SHIM_FN_cuKernelGetFunction] = was;
}

/* A function that the program has asked for, too: another library's may have its handle, and more
 * local memory. */
static void test_what_is_unloaded_is_counted_anew(void **unused)
{
	CUkernel one;
	CUlibrary library = load(&one, NULL);
	CUfunction f, again;

	(void)unused;
	assert_int_equal(cuKernelGetFunction(&f, one), CUDA_SUCCESS);
	launch_thrice(f);
	assert_non_null(shim_kernel_find(f)->counted_in);
	assert_int_equal(cuLibraryUnload(library), CUDA_SUCCESS);
	next_library -= 0x10000;
	assert_ptr_equal(load(&one, NULL), library);
	assert_int_equal(cuKernelGetFunction(&again, one), CUDA_SUCCESS);
	assert_ptr_equal(f, again);
	assert_null(shim_kernel_find(f)->counted_in);
	assert_null(shim_kernel_find(one)->counted_in);
}

/* ---- what we ask of our own accord, in a capture -------------------------------- */

static unsigned int unsafe;

static CUresult fake_unsafe_module(CUmodule *module, CUlibrary library)
{
	if (capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return fake_module(module, library);
	unsafe++;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static CUresult fake_unsafe_function(CUfunction *f, CUkernel of)
{
	if (capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return fake_function(f, of);
	unsafe++;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static void test_what_is_requested_in_a_capture_does_not_end_it(void **unused)
{
	CUkernel one, other;

	(void)unused;
	load(&other, NULL);
	shim_slot[SHIM_FN_cuLibraryGetModule] = (void *)(uintptr_t)fake_unsafe_module;
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_unsafe_function;
	assert_int_equal(cuStreamBeginCapture_v2(OTHER, CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_SUCCESS);
	is_captured = 1;
	load_text(shim_rig_ptx, &one, NULL);
	/* Into a stream that is not captured. */
	assert_int_equal(launch_in((CUfunction)(uintptr_t)other, 1, STREAM), CUDA_SUCCESS);
	EVENTUALLY(all_prepared());
	is_captured = 0;
	assert_int_equal(unsafe, 0);
	shim_slot[SHIM_FN_cuLibraryGetModule] = (void *)(uintptr_t)fake_module;
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_function;
}

/* Of two threads, each in its own context, one counts while the other launches: it is given no
 * other context's function. */
static void test_what_is_being_counted_is_not_read(void **unused)
{
	static struct shim_kernel k;
	CUfunction a = (CUfunction)0x10, b = (CUfunction)0x20, direct;

	(void)unused;
	shim_kernel_count(&k, a, a);
	assert_true(shim_kernel_counted_in(&k, a, &direct));
	assert_ptr_equal(direct, a);
	k.counts++; /* the other one has begun */
	k.direct = b;
	assert_false(shim_kernel_counted_in(&k, a, &direct));
	k.counted_in = b;
	assert_false(shim_kernel_counted_in(&k, b, &direct));
	k.counts++;
	assert_false(shim_kernel_counted_in(&k, a, &direct));
	assert_true(shim_kernel_counted_in(&k, b, &direct));
	assert_ptr_equal(direct, b);
}

int shim_functions(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_what_untracked_is_launched_by_its_function),
		SHIM(test_the_next_context_has_its_own_functions),
		SHIM(test_what_is_unloaded_is_counted_anew),
		SHIM(test_what_is_being_counted_is_not_read),
		SHIM(test_what_is_requested_in_a_capture_does_not_end_it),
	};

	return cmocka_run_group_tests_name("functions", tests, NULL, NULL);
}
