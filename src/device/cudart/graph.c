/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capture and graphs. */
#define _GNU_SOURCE
#include <string.h>

#include "device/cudart/rt.h"

/* ---- nodes ---- */

static cudaError_t kernel(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *d)
{
	CUkernel k;

	if (!p)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(p->func, &k));
	memset(d, 0, sizeof(*d));
	d->func = (CUfunction)k;
	d->gridDimX = p->gridDim.x;
	d->gridDimY = p->gridDim.y;
	d->gridDimZ = p->gridDim.z;
	d->blockDimX = p->blockDim.x;
	d->blockDimY = p->blockDim.y;
	d->blockDimZ = p->blockDim.z;
	d->sharedMemBytes = p->sharedMemBytes;
	d->kernelParams = p->kernelParams;
	d->extra = p->extra;
	return cudaSuccess;
}

static cudaError_t set(const struct cudaMemsetParams *p, CUDA_MEMSET_NODE_PARAMS *d)
{
	if (!p)
		return cudaErrorInvalidValue;
	*d = (CUDA_MEMSET_NODE_PARAMS) { (CUdeviceptr)(uintptr_t)p->dst,
					 p->pitch,
					 p->value,
					 p->elementSize,
					 p->width,
					 p->height };
	return cudaSuccess;
}

static CUcontext current(void)
{
	CUcontext ctx = NULL;

	DRV(cuCtxGetCurrent)(&ctx);
	return ctx;
}

cudaError_t rt_GraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				  size_t n, const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS d;

	RT_TRY(kernel(p, &d));
	DRV_RETURN(DRV(cuGraphAddKernelNode_v2)(node, graph, deps, n, &d));
}

cudaError_t rt_GraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				  size_t n, const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;

	RT_TRY(rt_copy_3d(p, &c));
	DRV_RETURN(DRV(cuGraphAddMemcpyNode)(node, graph, deps, n, &c, current()));
}

cudaError_t rt_GraphAddMemcpyNode1D(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				    size_t n, void *dst, const void *src, size_t bytes,
				    enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D c;

	(void)kind;
	rt_copy_1d(&c, dst, src, bytes);
	DRV_RETURN(DRV(cuGraphAddMemcpyNode)(node, graph, deps, n, &c, current()));
}

cudaError_t rt_GraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				  size_t n, const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS d;

	RT_TRY(set(p, &d));
	DRV_RETURN(DRV(cuGraphAddMemsetNode)(node, graph, deps, n, &d, current()));
}

cudaError_t rt_GraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
				const struct cudaHostNodeParams *p)
{
	CUDA_HOST_NODE_PARAMS d;

	if (!p)
		return cudaErrorInvalidValue;
	d = (CUDA_HOST_NODE_PARAMS) { p->fn, p->userData };
	DRV_RETURN(DRV(cuGraphAddHostNode)(node, graph, deps, n, &d));
}

cudaError_t rt_GraphKernelNodeSetParams(CUgraphNode node, const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS d;

	RT_TRY(kernel(p, &d));
	DRV_RETURN(DRV(cuGraphKernelNodeSetParams_v2)(node, &d));
}

/* ---- executable graphs ---- */

cudaError_t rt_GraphInstantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	DRV_RETURN(DRV(cuGraphInstantiateWithFlags)(exec, graph, flags));
}

cudaError_t rt_GraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	return rt_GraphInstantiate(exec, graph, flags);
}

cudaError_t rt_GraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const struct cudaKernelNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS d;

	RT_TRY(kernel(p, &d));
	DRV_RETURN(DRV(cuGraphExecKernelNodeSetParams_v2)(exec, node, &d));
}

cudaError_t rt_GraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;

	RT_TRY(rt_copy_3d(p, &c));
	DRV_RETURN(DRV(cuGraphExecMemcpyNodeSetParams)(exec, node, &c, current()));
}

cudaError_t rt_GraphExecMemcpyNodeSetParams1D(CUgraphExec exec, CUgraphNode node, void *dst,
					      const void *src, size_t bytes,
					      enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D c;

	(void)kind;
	rt_copy_1d(&c, dst, src, bytes);
	DRV_RETURN(DRV(cuGraphExecMemcpyNodeSetParams)(exec, node, &c, current()));
}

cudaError_t rt_GraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					    const struct cudaMemsetParams *p)
{
	CUDA_MEMSET_NODE_PARAMS d;

	RT_TRY(set(p, &d));
	DRV_RETURN(DRV(cuGraphExecMemsetNodeSetParams)(exec, node, &d, current()));
}

cudaError_t rt_GraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
					  const struct cudaHostNodeParams *p)
{
	CUDA_HOST_NODE_PARAMS d;

	if (!p)
		return cudaErrorInvalidValue;
	d = (CUDA_HOST_NODE_PARAMS) { p->fn, p->userData };
	DRV_RETURN(DRV(cuGraphExecHostNodeSetParams)(exec, node, &d));
}
