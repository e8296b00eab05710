/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the emulated libcudart: the CUDA Runtime API on top of the driver API
 * of whatever libcuda.so.1 the dynamic linker finds, the shim for one.  No part
 * of it knows of the emulated device.
 */
#ifndef GPUSHARE_CUDART_RT_H
#define GPUSHARE_CUDART_RT_H

#include "device/cudart/runtime.h"

/* ---- driver.c ---- */

enum rt_fn {
#define DRIVER(name) RT_FN_##name,
#include "device/cudart/driver.def"
#undef DRIVER
	RT_FN_COUNT
};

/* Never NULL: what the driver lacks answers CUDA_ERROR_NOT_SUPPORTED. */
void *rt_driver(enum rt_fn fn);
#define DRV(name) ((__typeof__(&name))rt_driver(RT_FN_##name))
/* The driver is there and initialised; otherwise the error that the Runtime has for it. */
cudaError_t rt_init(void);

/* ---- entry.c, error.c ---- */

enum rt_need { RT_NOTHING, RT_DRIVER, RT_CONTEXT };
/* Before an entry point's work: what it needs is there. */
cudaError_t rt_begin(enum rt_need need);
/* After it: an error becomes the thread's last one. */
cudaError_t rt_end(cudaError_t rc);
cudaError_t rt_error(CUresult rc);
/* The thread is in a _ptsz or _ptds call. */
extern __thread int rt_per_thread;

static inline CUdeviceptr rt_address(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

static inline CUstream rt_stream(CUstream stream)
{
	return !stream && rt_per_thread ? CU_STREAM_PER_THREAD : stream;
}

#define RT_EXPORT __attribute__((visibility("default")))
#define RT_TRY(expr) \
	do { \
		cudaError_t rc_ = (expr); \
		if (rc_ != cudaSuccess) \
			return rc_; \
	} while (0)
#define DRV_TRY(expr) \
	do { \
		CUresult rc_ = (expr); \
		if (rc_ != CUDA_SUCCESS) \
			return rt_error(rc_); \
	} while (0)
#define DRV_RETURN(expr) return rt_error(expr)

/* ---- device.c ---- */

int rt_device(void); /* the thread's */

/* ---- register.c ---- */

/* The kernel behind a host function, or a kernel's own handle (cudaGetKernel). */
cudaError_t rt_kernel(const void *host, CUkernel *kernel);
/* A device variable's address and size (either may be NULL). */
cudaError_t rt_symbol(const void *host, CUdeviceptr *address, size_t *size);

/* ---- launch.c, copy.c: what graphs need too ---- */

cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c);
/* A copy of so many bytes as one row. */
void rt_copy_1d(CUDA_MEMCPY3D *c, void *dst, const void *src, size_t bytes);
/* array.c */
cudaError_t rt_array_element(CUarray array, size_t *bytes);

/* ---- the entry points' work ---- */

#define RT(variant, need, name, parameters, arguments) cudaError_t rt_##name parameters;
#define RT_AS(variant, need, name, parameters, arguments, driver, driver_arguments)
#include "device/cudart/entries.def"
#undef RT
#undef RT_AS

#endif
