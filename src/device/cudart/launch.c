/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches, functions' attributes, occupancy, libraries. */
#define _GNU_SOURCE
#include <string.h>

#include "device/cudart/rt.h"

/* ---- what <<<...>>> compiles to ---- */

#define DEPTH 16
static __thread struct configuration {
	dim3 grid, block;
	size_t shared;
	CUstream stream;
} pushed[DEPTH];
static __thread int depth;

RT_EXPORT unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
						   CUstream stream);
RT_EXPORT unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
						   CUstream stream)
{
	if (depth == DEPTH)
		return 1;
	pushed[depth++] = (struct configuration) { grid, block, shared, stream };
	return 0;
}

RT_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
						 void *stream);
RT_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared,
						 void *stream)
{
	if (!depth)
		return cudaErrorMissingConfiguration;
	depth--;
	*grid = pushed[depth].grid;
	*block = pushed[depth].block;
	*shared = pushed[depth].shared;
	memcpy(stream, &pushed[depth].stream, sizeof(CUstream));
	return cudaSuccess;
}

/* The driver has one error for all bad launches; the Runtime tells a bad shape apart. */
static cudaError_t judge(CUresult rc, dim3 grid, dim3 block)
{
	int max = 0, x = 0, y = 0, z = 0, d = rt_device();
	unsigned long long threads = (unsigned long long)block.x * block.y * block.z;

	if (rc != CUDA_ERROR_INVALID_VALUE)
		return rt_error(rc);
	DRV(cuDeviceGetAttribute)(&max, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, d);
	DRV(cuDeviceGetAttribute)(&x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, d);
	DRV(cuDeviceGetAttribute)(&y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, d);
	DRV(cuDeviceGetAttribute)(&z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, d);
	if (!threads || !grid.x || !grid.y || !grid.z || threads > (unsigned int)max ||
	    grid.x > (unsigned int)x || grid.y > (unsigned int)y || grid.z > (unsigned int)y ||
	    block.z > (unsigned int)z)
		return cudaErrorInvalidConfiguration;
	return cudaErrorInvalidValue;
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared,
			  CUstream stream)
{
	if (shared > UINT32_MAX)
		return cudaErrorInvalidValue;
	return judge(DRV(cuLaunchKernel)((CUfunction)kernel, grid.x, grid.y, grid.z, block.x,
					 block.y, block.z, (unsigned int)shared, rt_stream(stream),
					 args, NULL),
		     grid, block);
}

RT_EXPORT cudaError_t __cudaGetKernel(CUkernel *kernel, const void *func);
RT_EXPORT cudaError_t __cudaGetKernel(CUkernel *kernel, const void *func)
{
	cudaError_t rc = rt_begin(RT_CONTEXT);

	return rt_end(rc == cudaSuccess ? rt_kernel(func, kernel) : rc);
}

RT_EXPORT cudaError_t __cudaLaunchKernel(CUkernel kernel, dim3 grid, dim3 block, void **args,
					 size_t shared, CUstream stream);
RT_EXPORT cudaError_t __cudaLaunchKernel(CUkernel kernel, dim3 grid, dim3 block, void **args,
					 size_t shared, CUstream stream)
{
	cudaError_t rc = rt_begin(RT_CONTEXT);

	if (rc == cudaSuccess)
		rc = kernel ? launch(kernel, grid, block, args, shared, stream) :
			      cudaErrorInvalidDeviceFunction;
	return rt_end(rc);
}

RT_EXPORT cudaError_t __cudaLaunchKernel_ptsz(CUkernel kernel, dim3 grid, dim3 block, void **args,
					      size_t shared, CUstream stream);
RT_EXPORT cudaError_t __cudaLaunchKernel_ptsz(CUkernel kernel, dim3 grid, dim3 block, void **args,
					      size_t shared, CUstream stream)
{
	cudaError_t rc;

	rt_per_thread++;
	rc = __cudaLaunchKernel(kernel, grid, block, args, shared, stream);
	rt_per_thread--;
	return rc;
}

/* ---- launches by name ---- */

cudaError_t rt_LaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
			    CUstream stream)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	return launch(k, grid, block, args, shared, stream);
}

cudaError_t rt_LaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **args,
				       size_t shared, CUstream stream)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	if (shared > UINT32_MAX)
		return cudaErrorInvalidValue;
	return judge(DRV(cuLaunchCooperativeKernel)((CUfunction)k, grid.x, grid.y, grid.z, block.x,
						    block.y, block.z, (unsigned int)shared,
						    rt_stream(stream), args),
		     grid, block);
}

cudaError_t rt_LaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	CUlaunchConfig c = { 0 };
	CUkernel k;

	if (!config || config->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(func, &k));
	c.gridDimX = config->gridDim.x;
	c.gridDimY = config->gridDim.y;
	c.gridDimZ = config->gridDim.z;
	c.blockDimX = config->blockDim.x;
	c.blockDimY = config->blockDim.y;
	c.blockDimZ = config->blockDim.z;
	c.sharedMemBytes = (unsigned int)config->dynamicSmemBytes;
	c.hStream = rt_stream(config->stream);
	c.attrs = config->attrs;
	c.numAttrs = config->numAttrs;
	return judge(DRV(cuLaunchKernelEx)(&c, (CUfunction)k, args, NULL), config->gridDim,
		     config->blockDim);
}

/* ---- functions ---- */

cudaError_t rt_FuncGetAttributes(struct cudaFuncAttributes *a, const void *func)
{
	int v[CU_FUNC_ATTRIBUTE_MAX] = { 0 };
	CUkernel k;

	if (!a)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(func, &k));
	for (int i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++)
		DRV_TRY(DRV(cuKernelGetAttribute)(&v[i], (CUfunction_attribute)i, k, rt_device()));
	memset(a, 0, sizeof(*a));
	a->maxThreadsPerBlock = v[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
	a->sharedSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
	a->constSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES];
	a->localSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES];
	a->numRegs = v[CU_FUNC_ATTRIBUTE_NUM_REGS];
	a->ptxVersion = v[CU_FUNC_ATTRIBUTE_PTX_VERSION];
	a->binaryVersion = v[CU_FUNC_ATTRIBUTE_BINARY_VERSION];
	a->cacheModeCA = v[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA];
	a->maxDynamicSharedSizeBytes = v[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
	a->preferredShmemCarveout = v[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT];
	a->clusterDimMustBeSet = v[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET];
	a->requiredClusterWidth = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
	a->requiredClusterHeight = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT];
	a->requiredClusterDepth = v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH];
	a->clusterSchedulingPolicyPreference =
		v[CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE];
	a->nonPortableClusterSizeAllowed = v[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];
	return cudaSuccess;
}

cudaError_t rt_FuncSetAttribute(const void *func, CUfunction_attribute attribute, int value)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	DRV_RETURN(DRV(cuKernelSetAttribute)(attribute, value, k, rt_device()));
}

cudaError_t rt_FuncSetCacheConfig(const void *func, CUfunc_cache config)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	DRV_RETURN(DRV(cuFuncSetCacheConfig)((CUfunction)k, config));
}

cudaError_t rt_FuncSetSharedMemConfig(const void *func, int config)
{
	CUkernel k;

	(void)config;
	return rt_kernel(func, &k);
}

cudaError_t rt_FuncGetName(const char **name, const void *func)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	DRV_RETURN(DRV(cuKernelGetName)(name, k));
}

cudaError_t rt_FuncGetParamInfo(const void *func, size_t index, size_t *offset, size_t *size)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	DRV_RETURN(DRV(cuKernelGetParamInfo)(k, index, offset, size));
}

cudaError_t rt_GetFuncBySymbol(CUfunction *function, const void *symbol)
{
	CUkernel k;

	RT_TRY(rt_kernel(symbol, &k));
	DRV_RETURN(DRV(cuKernelGetFunction)(function, k));
}

cudaError_t rt_GetKernel(CUkernel *kernel, const void *func)
{
	return kernel ? rt_kernel(func, kernel) : cudaErrorInvalidValue;
}

cudaError_t rt_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func,
								  int block_size, size_t shared,
								  unsigned int flags)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	DRV_RETURN(DRV(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
		blocks, (CUfunction)k, block_size, shared, flags));
}

cudaError_t rt_OccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func,
							 int block_size, size_t shared)
{
	return rt_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, block_size,
								     shared, 0);
}

cudaError_t rt_OccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *func, int blocks,
						     int block_size)
{
	CUkernel k;

	RT_TRY(rt_kernel(func, &k));
	DRV_RETURN(DRV(cuOccupancyAvailableDynamicSMemPerBlock)(shared, (CUfunction)k, blocks,
								block_size));
}

/* ---- libraries ---- */

cudaError_t rt_LibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
			       void **jit_values, unsigned int njit, CUlibraryOption *options,
			       void **values, unsigned int n)
{
	DRV_RETURN(
		DRV(cuLibraryLoadData)(library, code, jit, jit_values, njit, options, values, n));
}

cudaError_t rt_LibraryGetGlobal(void **ptr, size_t *bytes, CUlibrary library, const char *name)
{
	CUdeviceptr p;

	if (!ptr)
		return cudaErrorInvalidValue;
	DRV_TRY(DRV(cuLibraryGetGlobal)(&p, bytes, library, name));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}
