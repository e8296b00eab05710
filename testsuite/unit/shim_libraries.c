/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See shim_libraries.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_libraries.h"
#include "shim_rig.h"

uintptr_t next_library = 0x100000;
_Atomic int inside;

static CUresult fake_library(CUlibrary *library, const void *code, CUjit_option *jit,
			     void **jit_values, unsigned int njit, CUlibraryOption *options,
			     void **values, unsigned int n)
{
	(void)code, (void)jit, (void)jit_values, (void)njit, (void)options, (void)values, (void)n;
	*library = (CUlibrary)next_library;
	return CUDA_SUCCESS;
}

static CUresult fake_kernel(CUkernel *of, CUlibrary library, const char *name)
{
	*of = (CUkernel)((uintptr_t)library + (strcmp(name, "one") == 0 ? 0x100 : 0x200));
	return strstr(name, "__gpushare") ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

/* Of any of the calls below: where the arguments do not matter, so does the prototype not. */
CUresult fake_inside(void)
{
	inside++;
	return CUDA_SUCCESS;
}

CUresult fake_function(CUfunction *f, CUkernel of)
{
	*f = (CUfunction)((uintptr_t)of + 0x10);
	return fake_inside();
}

static CUresult fake_count(unsigned int *n, CUlibrary library)
{
	(void)library;
	*n = 2;
	return CUDA_SUCCESS;
}

static CUresult fake_kernels(CUkernel *list, unsigned int n, CUlibrary library)
{
	static const char *const name[] = { "one", "two" };

	for (unsigned int i = 0; i < n && i < 2; i++)
		fake_kernel(&list[i], library, name[i]);
	return CUDA_SUCCESS;
}

CUresult fake_module(CUmodule *module, CUlibrary library)
{
	*module = (CUmodule)((uintptr_t)library + 0x1000);
	return fake_inside();
}

static CUresult fake_add_kernel(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
				const CUDA_KERNEL_NODE_PARAMS *p)
{
	(void)node, (void)graph, (void)deps, (void)n;
	return p ? fake_inside() : CUDA_ERROR_INVALID_VALUE;
}

int is_captured;
_Thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static _Thread_local int calls; /* it makes the program's calls; the agent's mode is its own */
_Atomic int relaxed, strict;

static CUresult fake_exchange(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode was = capture_mode;

	capture_mode = *mode;
	relaxed += calls && *mode == CU_STREAM_CAPTURE_MODE_RELAXED;
	strict += calls && *mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
	*mode = was;
	return CUDA_SUCCESS;
}

static CUresult fake_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	*status = is_captured && stream == OTHER ? CU_STREAM_CAPTURE_STATUS_ACTIVE :
						   CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

/* ---- the calls, and what they wait for ------------------------------------------ */

void get_function(CUlibrary library, CUkernel of)
{
	CUfunction f;

	(void)library;
	assert_int_equal(cuKernelGetFunction(&f, of), CUDA_SUCCESS);
}

void launch_it(CUlibrary library, CUkernel of)
{
	(void)library;
	assert_int_equal(launch_in((CUfunction)(uintptr_t)of, 1, OTHER), CUDA_SUCCESS);
	inside = 1; /* the launch itself, which the rig's driver has taken, and what it asked before
		     */
}

static struct call {
	call_fn fn;
	CUlibrary library;
	CUkernel kernel;
	_Atomic int begun, done;
} call;

static void *make_call(void *unused)
{
	(void)unused;
	calls = 1;
	call.begun = 1;
	call.fn(call.library, call.kernel);
	call.done = 1;
	return NULL;
}

CUlibrary load_text(const char *text, CUkernel *one, CUkernel *two)
{
	CUlibrary library = NULL;

	next_library += 0x10000;
	assert_int_equal(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0),
			 CUDA_SUCCESS);
	assert_int_equal(cuLibraryGetKernel(one, library, "one"), CUDA_SUCCESS);
	if (two)
		assert_int_equal(cuLibraryGetKernel(two, library, "two"), CUDA_SUCCESS);
	return library;
}

CUlibrary load(CUkernel *one, CUkernel *two)
{
	return load_text("", one, two);
}

void expect_wait(call_fn fn, CUlibrary library, CUkernel of)
{
	struct gs_slot *slot;
	pthread_t thread;

	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	call = (struct call) { .fn = fn, .library = library, .kernel = of };
	inside = 0;
	pthread_create(&thread, NULL, make_call, NULL);
	EVENTUALLY(call.begun);
	usleep(30000);
	assert_int_equal(inside, 0);
	assert_int_equal(call.done, 0);
	gs_page_store(slot->state, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_true(inside > 0);
	finish_all();
	EVENTUALLY(all_prepared());
}

void expect_pass(call_fn fn, CUlibrary library, CUkernel of)
{
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	inside = 0;
	fn(library, of);
	assert_int_equal(inside, 1);
	finish_all();
	EVENTUALLY(all_prepared());
}

void shim_libraries_setup(void)
{
	shim_slot[SHIM_FN_cuLibraryLoadData] = (void *)(uintptr_t)fake_library;
	shim_slot[SHIM_FN_cuLibraryGetKernel] = (void *)(uintptr_t)fake_kernel;
	shim_slot[SHIM_FN_cuLibraryGetKernelCount] = (void *)(uintptr_t)fake_count;
	shim_slot[SHIM_FN_cuLibraryEnumerateKernels] = (void *)(uintptr_t)fake_kernels;
	shim_slot[SHIM_FN_cuKernelGetFunction] = (void *)(uintptr_t)fake_function;
	shim_slot[SHIM_FN_cuLibraryGetModule] = (void *)(uintptr_t)fake_module;
	shim_slot[SHIM_FN_cuLibraryGetGlobal] = (void *)(uintptr_t)fake_inside;
	shim_slot[SHIM_FN_cuLibraryGetManaged] = (void *)(uintptr_t)fake_inside;
	shim_slot[SHIM_FN_cuThreadExchangeStreamCaptureMode] = (void *)(uintptr_t)fake_exchange;
	shim_slot[SHIM_FN_cuStreamIsCapturing] = (void *)(uintptr_t)fake_capturing;
	shim_slot[SHIM_FN_cuKernelGetParamInfo] = (void *)(uintptr_t)fake_inside;
	shim_slot[SHIM_FN_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags] =
		(void *)(uintptr_t)fake_inside;
	shim_slot[SHIM_FN_cuGraphAddKernelNode_v2] = (void *)(uintptr_t)fake_add_kernel;
	shim_slot[SHIM_FN_cuGraphAddNode] = (void *)(uintptr_t)fake_inside;
	shim_slot[SHIM_FN_cuGraphKernelNodeSetParams_v2] = (void *)(uintptr_t)fake_inside;
	shim_slot[SHIM_FN_cuGraphExecKernelNodeSetParams_v2] = (void *)(uintptr_t)fake_inside;
}
