/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charging kernels' local memory; see local.h. */
#define _GNU_SOURCE
#include "device/shim/memory/local.h"

#include "device/shim/base/wraps.h"
#include "device/shim/memory/charge.h"

uint64_t shim_resident_threads(void)
{
	int sms = 0, threads = 0;
	CUdevice dev;

	if (REAL(cuCtxGetDevice)(&dev) != CUDA_SUCCESS ||
	    REAL(cuDeviceGetAttribute)(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev) ||
	    REAL(cuDeviceGetAttribute)(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
				       dev))
		return 0;
	return (uint64_t)sms * (uint64_t)threads;
}

/* At a launch the driver accepts a library's kernel as a function, but not in every call. */
uint32_t shim_local_bytes(CUfunction f)
{
	int bytes = 0;
	CUdevice dev;

	if (REAL(cuFuncGetAttribute)(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f) == CUDA_SUCCESS)
		return bytes > 0 ? (uint32_t)bytes : 0;
	if (REAL(cuCtxGetDevice)(&dev) != CUDA_SUCCESS ||
	    REAL(cuKernelGetAttribute)(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
				       (CUkernel)(uintptr_t)f, dev) != CUDA_SUCCESS)
		return 0;
	return bytes > 0 ? (uint32_t)bytes : 0;
}

/* The driver sets local memory aside when it launches the kernel, and keeps it. What fits within
 * the stack limit is part of the context's charge. */
int shim_local_charge(struct shim_session *s, CUfunction f)
{
	CUcontext ctx = shim_current();
	uint64_t had = 0, want, more;
	uint32_t local = ctx ? shim_local_bytes(f) : 0;
	size_t stack = 0;
	int refused;

	if (!local || REAL(cuCtxGetLimit)(&stack, CU_LIMIT_STACK_SIZE) != CUDA_SUCCESS ||
	    local <= stack)
		return 0;
	want = shim_resident_threads() * (local - stack);
	/* Two threads at once may charge it twice until the context is gone: too much rather than
	 * too little. */
	shim_unhold(SHIM_CHARGE_LOCAL, (uintptr_t)ctx, &had, NULL);
	more = want > had ? want - had : 0;
	refused = !shim_charge(s, more);
	if (!refused)
		had += more;
	if (had)
		shim_charge_record(s, SHIM_CHARGE_LOCAL, (uintptr_t)ctx, had, ctx, NULL);
	return refused ? -1 : 0;
}
