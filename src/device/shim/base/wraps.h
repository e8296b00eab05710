/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shim's functions for the WRAPPED entry points. They have the driver's names and prototypes
 * (driver/cuda.h, more_cuda.h); this header undoes the renaming macros that would hide the old
 * versions.
 */
#ifndef GPUSHARE_SHIM_WRAPS_H
#define GPUSHARE_SHIM_WRAPS_H

#include "device/shim/base/shim.h"

#undef cuGetProcAddress
#undef cuMemAlloc
#undef cuMemAllocPitch
#undef cuArrayCreate
#undef cuArray3DCreate
#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxRelease
#undef cuGraphInstantiate
#undef cuGraphGetEdges
#undef cuGraphExecUpdate
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeSetParams
#undef cuStreamDestroy

/* With addresses of 32 bits; see memory/entries.c. */
CUresult cuMemAlloc(unsigned int *ptr, unsigned int bytes);
CUresult cuMemAllocPitch(unsigned int *ptr, unsigned int *pitch, unsigned int width,
			 unsigned int height, unsigned int element);
CUresult cuArrayCreate(CUarray *array, const void *d);
CUresult cuArray3DCreate(CUarray *array, const void *d);
/* Names that mean the newest version in a program's source. */
CUresult cuCtxCreate(CUcontext *ctx, unsigned int flags, CUdevice dev);
CUresult cuCtxDestroy(CUcontext ctx);
CUresult cuCtxPopCurrent(CUcontext *ctx);
CUresult cuCtxPushCurrent(CUcontext ctx);
CUresult cuDevicePrimaryCtxReset(CUdevice dev);
CUresult cuDevicePrimaryCtxRelease(CUdevice dev);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n);
CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log,
			    size_t size);
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
			   CUgraphExecUpdateResult *result);
CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
			      const CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_KERNEL_NODE_PARAMS *p);

#endif
