/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Graphs with allocation nodes: the executable graph owns that memory from its
 * first launch until it is destroyed.  Charged when it is instantiated, each
 * node in full, although nodes may come to share memory.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "device/shim/kernels.h"
#include "device/shim/memory.h"
#include "device/shim/wraps.h"

/* CUDA_MEM_ALLOC_NODE_PARAMS */
struct alloc_node {
	CUmemPoolProps pool;
	const void *access;
	size_t naccess, bytes;
	CUdeviceptr ptr;
};

#define DEPTH_MAX 16 /* of child graphs */

/* What all nodes take. */
struct needs {
	uint64_t bytes;
	uint32_t frame; /* the largest of a kernel */
	uint32_t nodes;
};

static void add_graph(CUgraph graph, int depth, struct needs *needs);

/*
 * What a driver before 12.0 writes is the begin of it.  REAL() takes the name as it is
 * written: the header's macro, which makes the second of the first, is not expanded there.
 */
static CUresult kernel_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *k)
{
	CUresult rc = REAL(cuGraphKernelNodeGetParams_v2)(node, k);

	return rc == CUDA_ERROR_NOT_SUPPORTED ? REAL(cuGraphKernelNodeGetParams)(node, k) : rc;
}

static void add_node(CUgraphNode node, int depth, struct needs *needs)
{
	struct alloc_node a = { .bytes = 0 };
	CUDA_KERNEL_NODE_PARAMS k = { .func = NULL };
	CUgraphNodeType type;
	uint32_t frame;
	CUgraph child;

	needs->nodes++;
	if (REAL(cuGraphNodeGetType)(node, &type) != CUDA_SUCCESS)
		return;
	if (type == CU_GRAPH_NODE_TYPE_GRAPH && depth < DEPTH_MAX &&
	    REAL(cuGraphChildGraphNodeGetGraph)(node, &child) == CUDA_SUCCESS)
		add_graph(child, depth + 1, needs);
	if (type == CU_GRAPH_NODE_TYPE_KERNEL && kernel_params(node, &k) == CUDA_SUCCESS) {
		frame = shim_local_frame(k.func ? k.func : (CUfunction)(uintptr_t)k.kern);
		needs->frame = frame > needs->frame ? frame : needs->frame;
	}
	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
	    REAL(cuGraphMemAllocNodeGetParams)(node, &a) == CUDA_SUCCESS &&
	    __builtin_add_overflow(needs->bytes, a.bytes, &needs->bytes))
		needs->bytes = UINT64_MAX;
}

static void add_graph(CUgraph graph, int depth, struct needs *needs)
{
	CUgraphNode *node;
	size_t n = 0;

	if (REAL(cuGraphGetNodes)(graph, NULL, &n) != CUDA_SUCCESS || !n)
		return;
	node = calloc(n, sizeof(CUgraphNode));
	if (!node) {
		needs->bytes = UINT64_MAX;
		return;
	}
	if (REAL(cuGraphGetNodes)(graph, node, &n) != CUDA_SUCCESS)
		n = 0;
	for (size_t i = 0; i < n && needs->bytes != UINT64_MAX; i++)
		add_node(node[i], depth, needs);
	free(node);
}

static uint64_t bytes_of(CUgraph graph, struct needs *needs)
{
	add_graph(graph, 0, needs);
	return needs->bytes;
}

static CUresult made(CUresult rc, const CUgraphExec *exec, const struct needs *needs)
{
	if (rc == CUDA_SUCCESS && shim_session_peek())
		shim_kernel_graph(*exec, needs->frame, needs->nodes);
	return rc;
}

#define INSTANTIATE(call) \
	struct needs needs = { 0, 0, 0 }; \
	SHIM_COUNTED(SHIM_HOLD_GRAPH, bytes_of(graph, &needs), made(call, exec, &needs), (uintptr_t)*exec, NULL)

SHIM_EXPORT CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node,
					char *log, size_t size)
{
	INSTANTIATE(REAL(cuGraphInstantiate)(exec, graph, error_node, log, size));
}

SHIM_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph,
					   CUgraphNode *error_node, char *log, size_t size)
{
	INSTANTIATE(REAL(cuGraphInstantiate_v2)(exec, graph, error_node, log, size));
}

SHIM_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
						 unsigned long long flags)
{
	INSTANTIATE(REAL(cuGraphInstantiateWithFlags)(exec, graph, flags));
}

SHIM_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
						  CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	shim_hold_behind(SHIM_QUEUES_OPERATIONS); /* it may upload */
	INSTANTIATE(REAL(cuGraphInstantiateWithParams)(exec, graph, params));
}

SHIM_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
						       CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	shim_hold_behind(SHIM_QUEUES_OPERATIONS); /* it may upload */
	INSTANTIATE(REAL(cuGraphInstantiateWithParams_ptsz)(exec, graph, params));
}

SHIM_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	SHIM_UNCOUNTED(SHIM_HOLD_GRAPH, (uintptr_t)exec, REAL(cuGraphExecDestroy)(exec));
}
