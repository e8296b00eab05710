/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The local memory of executable graphs; see graph.h.
 *
 * Two numbers are kept for each (kernels.h, local_bytes[]): the most that a launch may need, by
 * which it waits if local memory would grow (request.h), and what a launch needs for certain, to
 * which the context has grown once it is out. Where the two differ, launches wait unnecessarily;
 * the opposite errors would end in a deadlock. Once a launch is out, the graph in its present form
 * waits no more, whatever it contains.
 */
#define _GNU_SOURCE
#include "device/shim/graph/graph.h"

#include <pthread.h>
#include <stdlib.h>

#include "device/shim/copy/count.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/kernel/loading.h"
#include "device/shim/base/wraps.h"
#include "device/shim/memory/local.h"

/* A kernel in a graph. */
struct part {
	CUgraphNode node;
	uint32_t local_bytes;
};

/* The kernels of a graph in the order of their nodes; of an executable graph only those with local
 * memory. */
struct shim_graph {
	CUgraph made_of,
		/* the graph that it was made of; the graph whose nodes the parts have */
		named_by;
	struct part *part;
	size_t n, room;
	uint32_t nodes; /* nodes of all kinds */
	struct shim_copy_sum copies;
	uint32_t floor; /* local memory per thread that some kernel may need, which is no part */
	int blind;      /* it has kernels that are not known */
	int vague;      /* not all known kernels are still in it */
	int gaps;       /* some of its kernels may have been disabled */
};

/* Protects the graphs of the records. Not held while the driver is called. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int copying; /* some executable graph copies */

static int each(CUgraph graph, int depth,
		void (*visit)(CUgraphNode node, CUgraphNodeType type, void *user), void *user)
{
	CUgraphNode *node;
	size_t n = 0;
	int rc = 0;

	if (REAL(cuGraphGetNodes)(graph, NULL, &n) != CUDA_SUCCESS)
		return 2;
	if (!n)
		return 0;
	node = calloc(n, sizeof(CUgraphNode));
	if (!node)
		return -1;
	if (REAL(cuGraphGetNodes)(graph, node, &n) != CUDA_SUCCESS) {
		n = 0;
		rc = 2;
	}
	for (size_t i = 0; i < n && rc >= 0; i++) {
		CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
		CUgraph child;
		int below = 0;

		if (REAL(cuGraphNodeGetType)(node[i], &type) != CUDA_SUCCESS)
			type = CU_GRAPH_NODE_TYPE_EMPTY;
		visit(node[i], type, user);
		if (type == CU_GRAPH_NODE_TYPE_GRAPH &&
		    REAL(cuGraphChildGraphNodeGetGraph)(node[i], &child) == CUDA_SUCCESS)
			below = depth < SHIM_GRAPH_DEPTH_MAX ? each(child, depth + 1, visit, user) :
							       1;
		if (below && rc >= 0)
			rc = below;
	}
	free(node);
	return rc;
}

int shim_graph_each(CUgraph graph,
		    void (*visit)(CUgraphNode node, CUgraphNodeType type, void *user), void *user)
{
	return each(graph, 0, visit, user);
}

/*
 * A driver before 12.0 writes only the beginning of the struct. REAL() takes the name literally:
 * the header's macro, which turns the first version's name into the second's, is not expanded
 * there.
 */
static CUresult kernel_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *k)
{
	CUresult rc = REAL(cuGraphKernelNodeGetParams_v2)(node, k);

	return rc == CUDA_ERROR_NOT_SUPPORTED ? REAL(cuGraphKernelNodeGetParams)(node, k) : rc;
}

static uint32_t local_bytes_of(CUfunction f, CUkernel kern)
{
	return shim_local_bytes(f ? f : (CUfunction)(uintptr_t)kern);
}

static void add_part(struct shim_graph *g, CUgraphNode node, uint32_t local_bytes)
{
	if (g->n == g->room) {
		size_t room = g->room ? 2 * g->room : 8;
		struct part *grown = realloc(g->part, room * sizeof(*grown));

		if (!grown) {
			g->blind = 1;
			return;
		}
		g->part = grown;
		g->room = room;
	}
	g->part[g->n++] = (struct part) { node, local_bytes };
}

static void add_node(CUgraphNode node, CUgraphNodeType type, void *user)
{
	CUDA_KERNEL_NODE_PARAMS k = { .func = NULL };
	struct shim_graph *g = user;
	CUDA_MEMCPY3D copy;

	g->nodes++;
	if (type == CU_GRAPH_NODE_TYPE_MEMCPY &&
	    REAL(cuGraphMemcpyNodeGetParams)(node, &copy) == CUDA_SUCCESS) {
		enum gs_copy_direction way = shim_copy_of_box(&copy);

		g->copies.copies[way]++;
		g->copies.bytes[way] += shim_copy_box_bytes(&copy);
		atomic_store(&copying, 1);
	}
	/* The body of a conditional node is a graph that no call returns. */
	if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		g->blind = 1;
	if (type != CU_GRAPH_NODE_TYPE_KERNEL)
		return;
	if (kernel_params(node, &k) == CUDA_SUCCESS)
		add_part(g, node, local_bytes_of(k.func, k.kern));
	else
		g->blind = 1;
}

static struct shim_graph inspect(CUgraph graph)
{
	struct shim_graph g = { .named_by = graph };

	if (shim_graph_each(graph, add_node, &g) != 0)
		g.blind = 1;
	return g;
}

/* Kernels without local memory, as almost all are, need not be remembered. */
static void keep_local(struct shim_graph *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->part[i].local_bytes)
			g->part[n++] = g->part[i];
	g->n = n;
}

static uint32_t most_of(const struct shim_graph *g)
{
	uint32_t most = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->part[i].local_bytes > most)
			most = g->part[i].local_bytes;
	return most;
}

/* Under lock: writes to the record what is known of its graph. */
static void tell(struct shim_kernel *k)
{
	const struct shim_graph *g = k->graph;
	uint32_t most = most_of(g);

	k->local_bytes[0] = g->blind ? UINT32_MAX : g->floor > most ? g->floor : most;
	k->local_bytes[1] = g->vague || g->gaps ? 0 : most;
}

/* Under lock: what is known of the graph; at first nothing. NULL: no memory. */
static struct shim_graph *known(struct shim_kernel *k)
{
	if (!k->graph) {
		k->graph = calloc(1, sizeof(*k->graph));
		if (k->graph)
			k->graph->vague = k->graph->blind = 1;
		else
			k->local_bytes[0] = UINT32_MAX;
	}
	return k->graph;
}

/* Under lock: the kernel of that node needs this much local memory per thread from now on. */
static void set_part(struct shim_graph *g, CUgraphNode node, uint32_t local_bytes)
{
	for (size_t i = 0; i < g->n; i++) {
		if (g->part[i].node == node) {
			g->part[i].local_bytes = local_bytes;
			return;
		}
	}
	/* One of the known parts may be this one, under its name in another graph. */
	if (g->n && g->named_by != g->made_of)
		g->vague = 1;
	if (local_bytes)
		add_part(g, node, local_bytes);
}

void shim_graph_gone(CUgraphExec exec)
{
	struct shim_kernel *k = shim_graph_seen(exec);
	struct shim_graph *g;

	if (!k)
		return;
	shim_kernel_forget(k);
	pthread_mutex_lock(&lock);
	g = k->graph;
	k->graph = NULL;
	k->local_bytes[1] = 0;
	pthread_mutex_unlock(&lock);
	if (g)
		free(g->part);
	free(g);
}

void shim_graph_made(CUgraphExec exec, CUgraph graph)
{
	struct shim_graph g = inspect(graph), *now;
	struct shim_kernel *k;

	keep_local(&g);
	g.made_of = graph;
	/* an older graph with the same handle, which went with its context */
	shim_graph_gone(exec);
	shim_kernel_graph(exec, 0, g.nodes, shim_graph_branches(graph));
	k = shim_graph_find(exec);
	pthread_mutex_lock(&lock);
	now = k ? known(k) : NULL;
	if (now) {
		*now = g;
		tell(k);
	}
	pthread_mutex_unlock(&lock);
	if (!now)
		free(g.part);
}

void shim_graph_went(struct shim_kernel *k)
{
	if (k->local_bytes[0] == k->local_bytes[1])
		return;
	pthread_mutex_lock(&lock);
	k->local_bytes[0] = k->local_bytes[1];
	pthread_mutex_unlock(&lock);
}

void shim_graph_copied(CUgraphExec exec)
{
	struct shim_kernel *k =
		atomic_load_explicit(&copying, memory_order_relaxed) ? shim_graph_find(exec) : NULL;

	if (!k)
		return;
	pthread_mutex_lock(&lock);
	if (k->graph)
		shim_copy_count_sum(&k->graph->copies);
	pthread_mutex_unlock(&lock);
}

void shim_graph_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* ---- what changes an executable graph -------------------------------------- */

/* The driver was asked to make the executable graph like `graph`. If it refused, part of it may
 * have changed, so both are possible from now on. */
static CUresult updated(CUgraphExec exec, CUgraph graph, CUresult rc)
{
	struct shim_kernel *k = shim_session_peek() ? shim_graph_find(exec) : NULL;
	struct shim_graph g, *is;
	uint32_t most;

	if (!k)
		return rc;
	g = inspect(graph);
	keep_local(&g);
	pthread_mutex_lock(&lock);
	is = known(k);
	if (is && rc == CUDA_SUCCESS) {
		struct part *old = is->part;

		g.made_of = is->made_of;
		g.gaps = is->gaps;
		*is = g;
		g.part = old;
		k->nodes = g.nodes;
	} else if (is) {
		is->vague = 1;
		is->blind |= g.blind;
		most = most_of(&g);
		if (most > is->floor)
			is->floor = most;
	}
	if (is)
		tell(k);
	pthread_mutex_unlock(&lock);
	free(g.part);
	return rc;
}

SHIM_EXPORT CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
				       CUgraphExecUpdateResult *result)
{
	return updated(exec, graph, REAL(cuGraphExecUpdate)(exec, graph, error_node, result));
}

SHIM_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
					  CUgraphExecUpdateResultInfo *info)
{
	return updated(exec, graph, REAL(cuGraphExecUpdate_v2)(exec, graph, info));
}

/* The node has another kernel, or the same one with other parameters. */
static CUresult kernel_set(CUgraphExec exec, CUgraphNode node, CUfunction f, CUkernel kern,
			   CUresult rc)
{
	struct shim_kernel *k =
		rc == CUDA_SUCCESS && shim_session_peek() ? shim_graph_find(exec) : NULL;
	uint32_t local_bytes;

	if (!k)
		return rc;
	local_bytes = local_bytes_of(f, kern);
	pthread_mutex_lock(&lock);
	if (known(k)) {
		set_part(k->graph, node, local_bytes);
		tell(k);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

SHIM_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct shim_load l;
	CUresult rc;

	/* The first version's struct ends where the second's `kern` begins. */
	shim_load_enter(&l, p ? p->func : NULL, NULL);
	rc = shim_load_leave(&l, REAL(cuGraphExecKernelNodeSetParams)(exec, node, p));
	return p ? kernel_set(exec, node, p->func, NULL, rc) : rc;
}

SHIM_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						       const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct shim_load l;
	CUresult rc;

	shim_load_enter_node(&l, p);
	rc = shim_load_leave(&l, REAL(cuGraphExecKernelNodeSetParams_v2)(exec, node, p));
	return p ? kernel_set(exec, node, p->func, p->kern, rc) : rc;
}

/* The nodes of the child graph are now like those of `graph`, in their order. */
static CUresult child_set(CUgraphExec exec, CUgraphNode node, CUgraph graph, CUresult rc)
{
	struct shim_kernel *k =
		rc == CUDA_SUCCESS && shim_session_peek() ? shim_graph_find(exec) : NULL;
	struct shim_graph old = { .blind = 1 }, g;
	CUgraph child;

	if (!k)
		return rc;
	if (REAL(cuGraphChildGraphNodeGetGraph)(node, &child) == CUDA_SUCCESS)
		old = inspect(child);
	g = inspect(graph);
	pthread_mutex_lock(&lock);
	if (known(k)) {
		/* Not for a graph that the driver refused: then it still has all of them, under
		 * whatever names. */
		k->graph->vague |= old.blind || old.n != g.n;
		k->graph->blind |= g.blind;
		for (size_t i = 0; i < g.n; i++)
			set_part(k->graph, i < old.n ? old.part[i].node : g.part[i].node,
				 g.part[i].local_bytes);
		tell(k);
	}
	pthread_mutex_unlock(&lock);
	free(old.part);
	free(g.part);
	return rc;
}

SHIM_EXPORT CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
							CUgraph graph)
{
	return child_set(exec, node, graph,
			 REAL(cuGraphExecChildGraphNodeSetParams)(exec, node, graph));
}

SHIM_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
					      struct shim_node_params *p)
{
	struct shim_load l;
	CUresult rc;

	shim_load_enter_node(&l, p && p->type == CU_GRAPH_NODE_TYPE_KERNEL ? &p->is.kernel : NULL);
	rc = shim_load_leave(&l, REAL(cuGraphExecNodeSetParams)(exec, node, p));
	if (p && p->type == CU_GRAPH_NODE_TYPE_KERNEL)
		return kernel_set(exec, node, p->is.kernel.func, p->is.kernel.kern, rc);
	return p && p->type == CU_GRAPH_NODE_TYPE_GRAPH ? child_set(exec, node, p->is.graph, rc) :
							  rc;
}

/* May the node be one with local memory? */
static int has_part(const struct shim_graph *g, CUgraphNode node)
{
	if (g->named_by != g->made_of)
		return 1;
	for (size_t i = 0; i < g->n; i++)
		if (g->part[i].node == node)
			return 1;
	return 0;
}

/* Whether a kernel that was disabled once runs again is not tracked: what it needs counts as
 * possible, but not as certain. */
SHIM_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int is)
{
	CUresult rc = REAL(cuGraphNodeSetEnabled)(exec, node, is);
	struct shim_kernel *k =
		rc == CUDA_SUCCESS && shim_session_peek() ? shim_graph_find(exec) : NULL;

	if (!k)
		return rc;
	pthread_mutex_lock(&lock);
	if (known(k) && has_part(k->graph, node)) {
		k->graph->gaps = 1;
		tell(k);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}
