/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entry points that the shim wraps and the emulated device does not have:
 * their interface (facts of the driver API).  Opaque where the shim only
 * passes a pointer on.
 */
#ifndef GPUSHARE_SHIM_MORE_CUDA_H
#define GPUSHARE_SHIM_MORE_CUDA_H

#include "device/driver/cuda.h"

typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUmemAllocationProp_st CUmemAllocationProp;

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);
CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				 CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				      CUstream stream);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatbin);
CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit,
			       void **jit_values, unsigned int njit,
			       CUlibraryOption *options, void **values, unsigned int n);

#endif
