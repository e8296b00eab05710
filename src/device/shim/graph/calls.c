/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Graphs with allocation nodes: the executable graph owns that memory from its first launch until
 * it is destroyed. It is charged when the graph is instantiated, each node in full, although nodes
 * may share memory.
 */
#define _GNU_SOURCE
#include "device/shim/context/barrier.h"
#include "device/shim/graph/graph.h"
#include "device/shim/memory/charge.h"
#include "device/shim/base/wraps.h"

/* CUDA_MEM_ALLOC_NODE_PARAMS */
struct alloc_node {
	CUmemPoolProps pool;
	const void *access;
	size_t naccess, bytes;
	CUdeviceptr ptr;
};

static void add_node(CUgraphNode node, CUgraphNodeType type, void *user)
{
	struct alloc_node a = { .bytes = 0 };
	uint64_t *bytes = user;

	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
	    REAL(cuGraphMemAllocNodeGetParams)(node, &a) == CUDA_SUCCESS &&
	    __builtin_add_overflow(*bytes, a.bytes, bytes))
		*bytes = UINT64_MAX;
}

static uint64_t bytes_of(CUgraph graph)
{
	uint64_t bytes = 0;

	return shim_graph_each(graph, add_node, &bytes) < 0 ? UINT64_MAX : bytes;
}

static CUresult made(CUresult rc, const CUgraphExec *exec, CUgraph graph)
{
	if (rc == CUDA_SUCCESS && shim_session_peek())
		shim_graph_made(*exec, graph);
	return rc;
}

#define INSTANTIATE(call) \
	return SHIM_COUNTED(SHIM_CHARGE_GRAPH, bytes_of(graph), made(call, exec, graph), \
			    (uintptr_t)*exec, NULL)

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
	shim_blocked_behind(SHIM_QUEUES_OPERATIONS); /* it may upload */
	INSTANTIATE(REAL(cuGraphInstantiateWithParams)(exec, graph, params));
}

SHIM_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
						       CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	shim_blocked_behind(SHIM_QUEUES_OPERATIONS); /* it may upload */
	INSTANTIATE(REAL(cuGraphInstantiateWithParams_ptsz)(exec, graph, params));
}

SHIM_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	if (shim_session_peek())
		shim_graph_gone(exec); /* before its handle may be reused */
	return SHIM_UNCOUNTED(SHIM_CHARGE_GRAPH, (uintptr_t)exec, REAL(cuGraphExecDestroy)(exec));
}
