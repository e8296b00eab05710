/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry points that the shim wraps and the emulated device does not have: their interface (facts of
 * the driver API). Types are opaque where the shim only passes a pointer on. */
#ifndef GPUSHARE_SHIM_MORE_CUDA_H
#define GPUSHARE_SHIM_MORE_CUDA_H

#include "device/driver/cuda.h"

typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct CUmemAllocationProp_st CUmemAllocationProp;
typedef struct CUgreenCtx_st *CUgreenCtx;

CUresult cuCtxAttach(CUcontext *ctx, unsigned int flags);
CUresult cuCtxDetach(CUcontext ctx);
CUresult cuGreenCtxDestroy(CUgreenCtx ctx);
CUresult cuCtxFromGreenCtx(CUcontext *as, CUgreenCtx ctx);
CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx ctx, unsigned int flags, int priority);

#undef cuStreamBeginCapture
CUresult cuStreamBeginCapture(CUstream stream);
CUresult cuStreamBeginCapture_ptsz(CUstream stream);
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *nodes,
				     const void *edges, size_t n, CUstreamCaptureMode mode);
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode *nodes,
					  const void *edges, size_t n, CUstreamCaptureMode mode);
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);
CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream);
CUresult cuLaunch(CUfunction f);
CUresult cuLaunchGrid(CUfunction f, int width, int height);
CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream);
typedef struct {
	CUfunction function;
	unsigned int gridDimX, gridDimY, gridDimZ;
	unsigned int blockDimX, blockDimY, blockDimZ;
	unsigned int sharedMemBytes;
	CUstream hStream;
	void **kernelParams;
} CUDA_LAUNCH_PARAMS;
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int n,
					      unsigned int flags);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				 CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
				      CUstream stream);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr at, size_t size);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev);
CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool);
CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc,
				unsigned int levels);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray array);
CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log,
			       size_t size);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, void *params);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph);
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph graph);
/* The beginning of CUgraphNodeParams, as far as the shim reads it. */
struct shim_node_params {
	CUgraphNodeType type;
	int reserved[3];
	union {
		CUDA_KERNEL_NODE_PARAMS kernel;
		CUgraph graph;
	} is;
};
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
				  struct shim_node_params *params);
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int is);

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
			struct shim_node_params *params);
CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
			   const void *edges, size_t n, struct shim_node_params *params);
CUresult cuGraphNodeSetParams(CUgraphNode node, struct shim_node_params *params);
CUresult cuLibraryGetUnifiedFunction(void **f, CUlibrary library, const char *symbol);
CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction f, const CUlaunchConfig *config);
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction f, const CUlaunchConfig *config);

typedef struct CUextMemory_st *CUexternalMemory;
/* CUDA_EXTERNAL_MEMORY_HANDLE_DESC */
struct shim_external_memory {
	unsigned int type;
	union {
		int fd;
		struct {
			void *handle;
			const void *name;
		} win32;
	} handle;
	unsigned long long size;
	unsigned int flags;
	unsigned int reserved[16];
};
CUresult cuImportExternalMemory(CUexternalMemory *memory, const struct shim_external_memory *desc);
CUresult cuDestroyExternalMemory(CUexternalMemory memory);

/* Copies: MORE_D implies the default stream, MORE_Z takes one (driver/entries.def). */
#define MORE_D(name, params) \
	CUresult name params; \
	CUresult name##_ptds params
#define MORE_Z(name, params) \
	CUresult name params; \
	CUresult name##_ptsz params
MORE_D(cuMemcpyAtoA_v2, (CUarray dst, size_t to, CUarray src, size_t from, size_t bytes));
MORE_D(cuMemcpyAtoD_v2, (CUdeviceptr dst, CUarray src, size_t from, size_t bytes));
MORE_D(cuMemcpyDtoA_v2, (CUarray dst, size_t to, CUdeviceptr src, size_t bytes));
MORE_D(cuMemcpyHtoA_v2, (CUarray dst, size_t to, const void *src, size_t bytes));
MORE_D(cuMemcpyAtoH_v2, (void *dst, CUarray src, size_t from, size_t bytes));
MORE_Z(cuMemcpyHtoAAsync_v2,
       (CUarray dst, size_t to, const void *src, size_t bytes, CUstream stream));
MORE_Z(cuMemcpyAtoHAsync_v2, (void *dst, CUarray src, size_t from, size_t bytes, CUstream stream));
/* Their CUDA_MEMCPY3D_PEER has the same layout, with contexts in the place of what is reserved. */
MORE_D(cuMemcpy3DPeer, (const CUDA_MEMCPY3D *copy));
MORE_Z(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D *copy, CUstream stream));
MORE_Z(cuMemcpyWithAttributesAsync,
       (CUdeviceptr dst, CUdeviceptr src, size_t bytes, void *attributes, CUstream stream));
MORE_Z(cuMemcpyBatchAsync,
       (CUdeviceptr * dst, CUdeviceptr *src, size_t *bytes, size_t n, void *attributes, size_t *of,
	size_t nattributes, size_t *failed, CUstream stream));
MORE_Z(cuMemcpyBatchAsync_v2, (CUdeviceptr * dst, CUdeviceptr *src, size_t *bytes, size_t n,
			       void *attributes, size_t *of, size_t nattributes, CUstream stream));

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev);
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fatbin);

#endif
