/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many branches a graph has; see graph.h. */
#define _GNU_SOURCE
#include "device/shim/graph/graph.h"

#include <stdlib.h>

#include "device/shim/base/wraps.h"

struct tree {
	CUgraphNode *node; /* sorted by address */
	/* for each node: whether a path leads on from it (1), and whether one leads to it (2) */
	unsigned char *used;
	size_t n;
};

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (const CUgraphNode *)a,
		  y = (uintptr_t) * (const CUgraphNode *)b;

	return (x > y) - (x < y);
}

static unsigned char *used_of(const struct tree *s, CUgraphNode node)
{
	CUgraphNode *at = bsearch(&node, s->node, s->n, sizeof(*s->node), by_address);

	return at ? &s->used[at - s->node] : NULL;
}

/* If it gets no array for the kinds of edges, the driver refuses to list the edges when one is of
 * an unusual kind, as programmatic launches have. A driver before 12.3 has only the old call. */
static CUresult edges_of(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	CUgraphEdgeData *kinds = from ? calloc(*n, sizeof(*kinds)) : NULL;
	CUresult rc = REAL(cuGraphGetEdges_v2)(graph, from, to, kinds, n);

	free(kinds);
	return rc == CUDA_ERROR_NOT_SUPPORTED ? REAL(cuGraphGetEdges)(graph, from, to, n) : rc;
}

/* Nodes to which a path from another one leads; also 0 if the driver does not tell the
 * dependencies. */
static size_t joined(CUgraph graph, struct tree *s)
{
	CUgraphNode *from = NULL, *to;
	size_t n = 0, joins = 0;

	if (edges_of(graph, NULL, NULL, &n) == CUDA_SUCCESS && n)
		from = calloc(2 * n, sizeof(*from));
	if (!from)
		return 0;
	to = from + n;
	if (edges_of(graph, from, to, &n) != CUDA_SUCCESS)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char *a = used_of(s, from[i]), *b = used_of(s, to[i]);

		if (!a || !b || *a & 1 || *b & 2)
			continue;
		*a |= 1;
		*b |= 2;
		joins++;
	}
	free(from);
	return joins;
}

static uint32_t branches(CUgraph graph, int depth);

/* The branches of the child graphs, beyond the node that each is here. */
static uint32_t below(const struct tree *s, int depth)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
		CUgraph child;
		uint32_t its;

		if (REAL(cuGraphNodeGetType)(s->node[i], &type) != CUDA_SUCCESS ||
		    type != CU_GRAPH_NODE_TYPE_GRAPH ||
		    REAL(cuGraphChildGraphNodeGetGraph)(s->node[i], &child) != CUDA_SUCCESS)
			continue;
		its = depth < SHIM_GRAPH_DEPTH_MAX ? branches(child, depth + 1) : UINT32_MAX;
		if (its == UINT32_MAX)
			return its;
		n += its ? its - 1 : 0;
	}
	return n;
}

static uint32_t branches(CUgraph graph, int depth)
{
	struct tree s = { .n = 0 };
	uint32_t n, children;

	if (REAL(cuGraphGetNodes)(graph, NULL, &s.n) != CUDA_SUCCESS)
		return UINT32_MAX;
	if (!s.n)
		return 1;
	s.node = calloc(s.n, sizeof(CUgraphNode));
	s.used = calloc(s.n, 1);
	if (!s.node || !s.used || REAL(cuGraphGetNodes)(graph, s.node, &s.n) != CUDA_SUCCESS) {
		free(s.node);
		free(s.used);
		return UINT32_MAX;
	}
	qsort(s.node, s.n, sizeof(*s.node), by_address);
	children = below(&s, depth);
	n = (uint32_t)(s.n - joined(graph, &s));
	free(s.node);
	free(s.used);
	return children == UINT32_MAX ? children : n + children;
}

uint32_t shim_graph_branches(CUgraph graph)
{
	return branches(graph, 0);
}
