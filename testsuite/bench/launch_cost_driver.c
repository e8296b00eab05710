/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver whose calls return at once, for launch_cost: what is enqueued is over as it is
 * enqueued, and device memory is host memory.  What is not here, the shim takes for not supported.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch_cost.h"

#define EXPORT __attribute__((visibility("default")))
#define SMS 132

#undef cuEventElapsedTime
CUresult cuEventElapsedTime_v2(float *ms, CUevent begin, CUevent end);

/* Marks that have been written so far, the program's way to tell launches apart. */
EXPORT unsigned int launch_cost_marks;

static CUfunction last;

/*
 * As a driver does that has work of its own (3 us of it, H200): when it returns, the first caches
 * have neither the shim's words nor its instructions.
 */
#define SWEEP_BYTES (128 * 1024)
EXPORT int launch_cost_sweeps;
static unsigned char words[SWEEP_BYTES];

static __attribute__((noinline)) void sweep(void)
{
	for (size_t i = 0; i < SWEEP_BYTES; i += 64)
		*(volatile unsigned char *)&words[i] += 1;
	__asm__ volatile(".rept 1024\n\tjmp 1f\n\t.balign 64\n1:\n\t.endr" ::: "memory");
}

/* When the driver was entered and left, for who wants to know what lies around it, with or without
 * that. */
EXPORT int launch_cost_times;
EXPORT uint64_t launch_cost_at[2];

static CUresult launched(CUfunction f)
{
	last = f;
	if (launch_cost_times | launch_cost_sweeps) {
		launch_cost_at[0] = launch_cost_ticks();
		if (launch_cost_sweeps)
			sweep();
		launch_cost_at[1] = launch_cost_ticks();
	}
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = (CUcontext)0x100;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? SMS : 0;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
	(void)p, (void)bytes, (void)flags;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *at, void *p, unsigned int flags)
{
	(void)flags;
	*at = (CUdeviceptr)(uintptr_t)p;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *at, size_t bytes)
{
	void *p = calloc(1, bytes);

	*at = (CUdeviceptr)(uintptr_t)p;
	return p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	*least = *greatest = 0;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	(void)flags, (void)priority;
	*stream = (CUstream)0x10;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
	(void)stream;
	*flags = CU_STREAM_NON_BLOCKING;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
				     CUstream stream)
{
	(void)stream;
	memcpy((void *)(uintptr_t)to, from, bytes);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetName(const char **name, CUfunction f)
{
	(void)f;
	*name = "k";
	return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	(void)attribute, (void)f;
	*value = 0;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	(void)flags;
	*event = (CUevent)0x20;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
	(void)event, (void)stream;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventElapsedTime_v2(float *ms, CUevent begin, CUevent end)
{
	(void)begin, (void)end;
	*ms = last == LAUNCH_COST_LONG ? 20.0f : 0.003f;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr at, cuuint32_t value,
					unsigned int flags)
{
	(void)stream, (void)flags;
	launch_cost_marks++;
	__atomic_store_n((uint32_t *)(uintptr_t)at, value, __ATOMIC_RELEASE);
	return CUDA_SUCCESS;
}

/* A context in which these fail is left unmanaged (context.c). */
EXPORT CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, cuuint32_t value,
				       unsigned int flags)
{
	(void)stream, (void)at, (void)value, (void)flags;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *op,
				      unsigned int flags)
{
	(void)stream, (void)n, (void)op, (void)flags;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			       unsigned int bx, unsigned int by, unsigned int bz,
			       unsigned int shared, CUstream stream, void **params, void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream,
		(void)params, (void)extra;
	return launched(f);
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
				 void **extra)
{
	(void)config, (void)params, (void)extra;
	return launched(f);
}
