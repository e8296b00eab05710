/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The API of graphs: their edges, and looking at what is in them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/graph.h"

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
					   const CUgraphNode *to, const CUgraphEdgeData *edges,
					   size_t n)
{
	(void)edges;
	EMU_TRY(emu_graph_check(graph));
	if (n && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		EMU_TRY(emu_node_check(from[i]));
		EMU_TRY(emu_node_check(to[i]));
		if (from[i]->graph != graph || to[i]->graph != graph || from[i] == to[i])
			return CUDA_ERROR_INVALID_VALUE;
		if (emu_nodes_add(&to[i]->deps, from[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

#undef cuGraphAddDependencies
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from,
					const CUgraphNode *to, size_t n)
{
	return cuGraphAddDependencies_v2(graph, from, to, NULL, n);
}

/*
 * Hand out a list: as many entries as there is room for and NULL behind them; without a place to
 * write, only their number.
 */
static CUresult give(CUgraphNode *out, size_t *n, const struct emu_node_list *list)
{
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; out && i < *n; i++)
		out[i] = i < list->n ? list->v[i] : NULL;
	if (!out || *n > list->n)
		*n = list->n;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	EMU_TRY(emu_graph_check(graph));
	return give(nodes, n, &graph->nodes);
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	struct emu_node_list roots = { 0 };
	CUresult rc = CUDA_SUCCESS;

	EMU_TRY(emu_graph_check(graph));
	for (size_t i = 0; i < graph->nodes.n && rc == CUDA_SUCCESS; i++)
		if (!graph->nodes.v[i]->deps.n && emu_nodes_add(&roots, graph->nodes.v[i]))
			rc = CUDA_ERROR_OUT_OF_MEMORY;
	if (rc == CUDA_SUCCESS)
		rc = give(nodes, n, &roots);
	emu_nodes_clear(&roots);
	return rc;
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
				    CUgraphEdgeData *edges, size_t *n)
{
	size_t at = 0;

	EMU_TRY(emu_graph_check(graph));
	if (!n || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < graph->nodes.n; i++) {
		struct CUgraphNode_st *node = graph->nodes.v[i];

		for (size_t k = 0; k < node->deps.n; k++, at++) {
			if (!from || at >= *n)
				continue;
			from[at] = node->deps.v[k];
			to[at] = node;
			if (edges)
				memset(&edges[at], 0, sizeof(edges[at]));
		}
	}
	if (!from || *n > at)
		*n = at;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *deps,
					       CUgraphEdgeData *edges, size_t *n)
{
	EMU_TRY(emu_node_check(node));
	if (edges && n)
		memset(edges, 0, (*n < node->deps.n ? *n : node->deps.n) * sizeof(*edges));
	return give(deps, n, &node->deps);
}

EMU_GET(cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType *type), emu_node_check(node), type,
	node->type);
