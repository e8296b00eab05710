/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Graphs with allocation nodes: the executable graph owns that memory from its
 * first launch until it is destroyed.  Charged when it is instantiated, each
 * node in full, although nodes may come to share memory.
 */
#define _GNU_SOURCE
#include <stdlib.h>

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

static uint64_t graph_bytes(CUgraph graph, int depth);

static uint64_t node_bytes(CUgraphNode node, int depth)
{
	struct alloc_node a = { .bytes = 0 };
	CUgraphNodeType type;
	CUgraph child;

	if (REAL(cuGraphNodeGetType)(node, &type) != CUDA_SUCCESS)
		return 0;
	if (type == CU_GRAPH_NODE_TYPE_GRAPH && depth < DEPTH_MAX)
		return REAL(cuGraphChildGraphNodeGetGraph)(node, &child) == CUDA_SUCCESS ?
			       graph_bytes(child, depth + 1) : 0;
	if (type != CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
	    REAL(cuGraphMemAllocNodeGetParams)(node, &a) != CUDA_SUCCESS)
		return 0;
	return a.bytes;
}

static uint64_t graph_bytes(CUgraph graph, int depth)
{
	CUgraphNode *node;
	uint64_t bytes = 0;
	size_t n = 0;

	if (REAL(cuGraphGetNodes)(graph, NULL, &n) != CUDA_SUCCESS || !n)
		return 0;
	node = calloc(n, sizeof(CUgraphNode));
	if (!node)
		return UINT64_MAX;
	if (REAL(cuGraphGetNodes)(graph, node, &n) != CUDA_SUCCESS)
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(bytes, node_bytes(node[i], depth), &bytes))
			bytes = UINT64_MAX;
	free(node);
	return bytes;
}

#define INSTANTIATE(call) \
	SHIM_COUNTED(SHIM_HOLD_GRAPH, graph_bytes(graph, 0), call, (uintptr_t)*exec, NULL)

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
	INSTANTIATE(REAL(cuGraphInstantiateWithParams)(exec, graph, params));
}

SHIM_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
						       CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	INSTANTIATE(REAL(cuGraphInstantiateWithParams_ptsz)(exec, graph, params));
}

SHIM_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	SHIM_UNCOUNTED(SHIM_HOLD_GRAPH, (uintptr_t)exec, REAL(cuGraphExecDestroy)(exec));
}
