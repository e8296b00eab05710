/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many branches a graph has, by what the driver says of its nodes (graph.h). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/shim/graph/graph.h"
#include "shim_rig.h"

/* Nodes 0 to nodes - 1, and what depends on what. */
static size_t nodes, edges;
static uintptr_t edge[16][2];
static int unusual_edges, old_driver;
static CUgraph child_of_first;                   /* node 1 is a child graph */
#define NODE(i) ((CUgraphNode)(0x500 - 8 * (i))) /* not in the order of their addresses */
#define CHILD ((CUgraph)0x77)

static CUresult get_nodes(CUgraph graph, CUgraphNode *node, size_t *n)
{
	*n = graph == CHILD ? 3 : nodes;
	for (uintptr_t i = 0; node && i < *n; i++)
		node[i] = graph == CHILD ? (CUgraphNode)(0x800 + i) : NODE(i);
	return CUDA_SUCCESS;
}

static CUresult get_edges_old(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	*n = graph == CHILD ? 0 : edges;
	for (size_t i = 0; from && i < *n; i++) {
		from[i] = NODE(edge[i][0]);
		to[i] = NODE(edge[i][1]);
	}
	return CUDA_SUCCESS;
}

static CUresult get_edges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
			  size_t *n)
{
	if (old_driver)
		return CUDA_ERROR_NOT_SUPPORTED;
	return unusual_edges && from && !data ? (CUresult)917 /* LOSSY_QUERY */ :
						get_edges_old(graph, from, to, n);
}

static CUresult get_type(CUgraphNode node, CUgraphNodeType *type)
{
	*type = child_of_first && node == NODE(1) ? CU_GRAPH_NODE_TYPE_GRAPH :
						    CU_GRAPH_NODE_TYPE_KERNEL;
	return CUDA_SUCCESS;
}

static CUresult get_child(CUgraphNode node, CUgraph *graph)
{
	(void)node;
	*graph = child_of_first;
	return CUDA_SUCCESS;
}

static int setup(void **state)
{
	(void)state;
	shim_slot[SHIM_FN_cuGraphGetNodes] = get_nodes;
	shim_slot[SHIM_FN_cuGraphGetEdges_v2] = get_edges;
	shim_slot[SHIM_FN_cuGraphGetEdges] = get_edges_old;
	shim_slot[SHIM_FN_cuGraphNodeGetType] = get_type;
	shim_slot[SHIM_FN_cuGraphChildGraphNodeGetGraph] = get_child;
	return 0;
}

static void depend(uintptr_t on, uintptr_t node)
{
	edge[edges][0] = on;
	edge[edges++][1] = node;
}

static void test_branches_of_a_graph(void **unused)
{
	(void)unused;
	nodes = 0;
	assert_int_equal(shim_graph_branches(NULL), 1);
	nodes = 5;
	assert_int_equal(shim_graph_branches(NULL), 5);
	for (uintptr_t i = 1; i < 5; i++) /* a chain */
		depend(i - 1, i);
	assert_int_equal(shim_graph_branches(NULL), 1);
	unusual_edges = 1;
	assert_int_equal(shim_graph_branches(NULL), 1);
	old_driver = 1;
	assert_int_equal(shim_graph_branches(NULL), 1);
	edges = 0;
	for (uintptr_t i = 1; i < 4; i++) { /* a fork of three that join */
		depend(0, i);
		depend(i, 4);
	}
	assert_int_equal(shim_graph_branches(NULL), 3);
	child_of_first = CHILD; /* one of them three wide */
	assert_int_equal(shim_graph_branches(NULL), 5);
}

int shim_branches(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches_of_a_graph),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
