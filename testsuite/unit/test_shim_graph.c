/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the shim knows of executable graphs: whether a launch makes local memory grow, as the
 * program changes them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/base/wraps.h"
#include "fake_driver.h"
#include "shim_rig.h"

#define OTHER ((CUstream)0x7100)

/* Of a kernel the frame is its handle's lower half. */
#define FRAMED(bytes) ((CUfunction)(uintptr_t)(0x10000000 + (bytes)))
#define SMALL 0x1000u
#define MIDDLE 0x2000u
#define LARGE 0x4000u

/* A driver's graphs: a node that is a child graph has it, a kernel its frame. */
struct node {
	CUgraphNodeType type;
	uint32_t local_bytes;
	struct graph *child;
};
struct graph {
	size_t n;
	struct node node[3];
};

#define KERNEL(bytes) \
	{ \
		CU_GRAPH_NODE_TYPE_KERNEL, (bytes), NULL \
	}
#define CHILD(graph) \
	{ \
		CU_GRAPH_NODE_TYPE_GRAPH, 0, (graph) \
	}
#define G(graph) ((CUgraph)(graph))
#define N(graph, i) ((CUgraphNode) & (graph)->node[i])

static CUresult nodes_of(CUgraph graph, CUgraphNode *node, size_t *n)
{
	struct graph *g = (struct graph *)graph;

	for (size_t i = 0; node && i < g->n; i++)
		node[i] = N(g, i);
	*n = g->n;
	return CUDA_SUCCESS;
}

static CUresult type_of(CUgraphNode node, CUgraphNodeType *type)
{
	*type = ((struct node *)node)->type;
	return CUDA_SUCCESS;
}

static CUresult child_of(CUgraphNode node, CUgraph *graph)
{
	*graph = G(((struct node *)node)->child);
	return CUDA_SUCCESS;
}

static CUresult params_of(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *k)
{
	k->func = FRAMED(((struct node *)node)->local_bytes);
	return CUDA_SUCCESS;
}

/* A copy to the host of as many bytes as the node's number says. */
static CUresult copy_of(CUgraphNode node, CUDA_MEMCPY3D *c)
{
	memset(c, 0, sizeof(*c));
	c->srcMemoryType = CU_MEMORYTYPE_DEVICE;
	c->dstMemoryType = CU_MEMORYTYPE_HOST;
	c->WidthInBytes = ((struct node *)node)->local_bytes;
	c->Height = c->Depth = 1;
	return CUDA_SUCCESS;
}

static CUresult no_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *k)
{
	(void)node, (void)k;
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult attribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	uintptr_t handle = (uintptr_t)f;

	*value = attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES && handle >> 28 == 1 ?
			 (int)(handle & 0xffff) :
			 0;
	return CUDA_SUCCESS;
}

static CUresult update_rc;

static CUresult update(void)
{
	return update_rc;
}

static const struct {
	enum shim_fn fn;
	void *is;
} put[] = {
	{ SHIM_FN_cuGraphGetNodes, (void *)(uintptr_t)nodes_of },
	{ SHIM_FN_cuGraphNodeGetType, (void *)(uintptr_t)type_of },
	{ SHIM_FN_cuGraphChildGraphNodeGetGraph, (void *)(uintptr_t)child_of },
	{ SHIM_FN_cuGraphKernelNodeGetParams, (void *)(uintptr_t)params_of },
	{ SHIM_FN_cuGraphKernelNodeGetParams_v2, (void *)(uintptr_t)params_of },
	{ SHIM_FN_cuGraphMemcpyNodeGetParams, (void *)(uintptr_t)copy_of },
	{ SHIM_FN_cuFuncGetAttribute, (void *)(uintptr_t)attribute },
	{ SHIM_FN_cuGraphExecUpdate, (void *)(uintptr_t)update },
	{ SHIM_FN_cuGraphExecUpdate_v2, (void *)(uintptr_t)update },
};
#define PUT (sizeof(put) / sizeof(put[0]))
static void *was[PUT];

static int put_graphs(void **state)
{
	int rc = shim_rig_setup(state);

	for (size_t i = 0; i < PUT; i++) {
		was[i] = shim_slot[put[i].fn];
		shim_slot[put[i].fn] = put[i].is;
	}
	return rc;
}

static int put_back(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < PUT; i++)
		shim_slot[put[i].fn] = was[i];
	shim_kernel_graph(FAKE_GRAPH, 0, 1, 1);
	return 0;
}

/* The context has grown for nobody, and the graph's one kernel is a small one. */
static CUgraphExec exec;
static struct graph one = { 1, { KERNEL(SMALL) } };

static void make(struct graph *g)
{
	assert_int_equal(cuGraphInstantiateWithFlags(&exec, G(g), 0), CUDA_SUCCESS);
}

static int fresh(void **state)
{
	int rc = shim_rig_idle(state);

	assert_int_equal(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0), CUDA_SUCCESS);
	update_rc = CUDA_SUCCESS;
	make(&one);
	forget_calls();
	return rc;
}

static CUfunction launching; /* NULL: the graph */

static void *launch_it(void *done)
{
	CUresult rc = launching ? launch_in(launching, 1, OTHER) : cuGraphLaunch(exec, OTHER);

	*(_Atomic int *)done = rc == CUDA_SUCCESS;
	return NULL;
}

/* Has a launch of f, or of the graph, gone out beside a kernel that is held, after so long at most?
 */
static int goes_out(CUfunction f, uint64_t patience_ns)
{
	_Atomic int done = 0;
	struct gs_slot *held;
	pthread_t thread;
	uint64_t until;
	int went;

	launching = f;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	held = active();
	pthread_create(&thread, NULL, launch_it, &done);
	for (until = gs_clock_ns() + patience_ns; !done && gs_clock_ns() < until;)
		usleep(200);
	went = done;
	gs_page_store(held->state, GS_K_DONE);
	pthread_join(thread, NULL);
	assert_int_equal(done, 1);
	finish_all();
	EVENTUALLY(all_prepared());
	return went;
}

static int waits(CUfunction f)
{
	return !goes_out(f, 50 * GS_NS_PER_MS);
}

static int goes(CUfunction f)
{
	return goes_out(f, 5 * GS_NS_PER_S); /* the machine may be busy */
}

/* It has to wait, and not again once it has been out. */
static void grows(void)
{
	assert_true(waits(NULL));
	assert_true(goes(NULL));
}

static void test_a_graph_whose_kernel_grows_waits(void **unused)
{
	(void)unused;
	grows();
	/* A driver before 12.0 has the first of the two calls alone. */
	shim_slot[SHIM_FN_cuGraphKernelNodeGetParams_v2] = (void *)(uintptr_t)no_params;
	one.node[0].local_bytes = LARGE;
	make(&one);
	one.node[0].local_bytes = SMALL;
	shim_slot[SHIM_FN_cuGraphKernelNodeGetParams_v2] = (void *)(uintptr_t)params_of;
	grows();
}

static void test_updated(void **unused)
{
	struct graph middle = { 1, { KERNEL(MIDDLE) } }, large = { 1, { KERNEL(LARGE) } };

	(void)unused;
	grows();
	assert_int_equal(cuGraphExecUpdate(exec, G(&middle), NULL, NULL), CUDA_SUCCESS);
	grows();
	assert_int_equal(cuGraphExecUpdate_v2(exec, G(&large), NULL), CUDA_SUCCESS);
	grows();
}

/* Nothing says how far the driver came. */
static void test_half_updated(void **unused)
{
	struct graph large = { 1, { KERNEL(LARGE) } };

	(void)unused;
	grows();
	update_rc = CUDA_ERROR_INVALID_VALUE;
	assert_int_equal(cuGraphExecUpdate_v2(exec, G(&large), NULL), CUDA_ERROR_INVALID_VALUE);
	assert_true(waits(NULL));
	assert_true(waits(FRAMED(LARGE)));
}

static void test_an_update_counts_the_nodes(void **unused)
{
	struct graph child = { 2, { KERNEL(0), KERNEL(0) } };
	struct graph g = { 2, { KERNEL(0), CHILD(&child) } };
	const struct shim_kernel *k;

	(void)unused;
	k = shim_graph_find(FAKE_GRAPH);
	assert_int_equal(k->nodes, 1);
	assert_int_equal(cuGraphExecUpdate_v2(exec, G(&g), NULL), CUDA_SUCCESS);
	assert_int_equal(k->nodes, 4);
}

/* What a graph copies counts with each launch, as it was last updated. */
static void test_copies_count(void **unused)
{
	const struct gs_copies_made *made = &page->copies.made[GS_COPY_TO_HOST];
	struct graph child = { 1, { { CU_GRAPH_NODE_TYPE_MEMCPY, 1000, NULL } } };
	struct graph g = { 2, { { CU_GRAPH_NODE_TYPE_MEMCPY, 64, NULL }, CHILD(&child) } };
	uint64_t copies = made->copies, bytes = made->bytes;

	(void)unused;
	cuGraphLaunch(exec, OTHER);
	assert_int_equal(made->copies, copies);
	make(&g);
	assert_int_equal(made->copies, copies);
	cuGraphLaunch(exec, OTHER);
	cuGraphLaunch(exec, OTHER);
	assert_int_equal(made->copies, copies + 4);
	assert_int_equal(made->bytes, bytes + 2128);
	assert_int_equal(cuGraphExecUpdate_v2(exec, G(&child), NULL), CUDA_SUCCESS);
	cuGraphLaunch(exec, OTHER);
	assert_int_equal(made->copies, copies + 5);
	assert_int_equal(made->bytes, bytes + 3128);
	finish_all();
}

static void test_kernel_node_set(void **unused)
{
	CUDA_KERNEL_NODE_PARAMS p = { .func = FRAMED(MIDDLE) };
	struct shim_node_params any = { .type = CU_GRAPH_NODE_TYPE_KERNEL,
					.is.kernel.func = FRAMED(LARGE + 0x10) };

	(void)unused;
	grows();
	assert_int_equal(cuGraphExecKernelNodeSetParams(exec, N(&one, 0), &p), CUDA_SUCCESS);
	grows();
	/* A library's kernel. */
	p = (CUDA_KERNEL_NODE_PARAMS) { .kern = (CUkernel)FRAMED(LARGE) };
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(exec, N(&one, 0), &p), CUDA_SUCCESS);
	grows();
	assert_int_equal(cuGraphExecNodeSetParams(exec, N(&one, 0), &any), CUDA_SUCCESS);
	grows();
}

static void test_child_graph_set(void **unused)
{
	struct graph child = { 2, { KERNEL(0), KERNEL(SMALL) } },
		     g = { 2, { KERNEL(0), CHILD(&child) } };
	struct graph middle = { 2, { KERNEL(MIDDLE), KERNEL(0) } },
		     large = { 2, { KERNEL(0), KERNEL(LARGE) } };
	struct shim_node_params any = { .type = CU_GRAPH_NODE_TYPE_GRAPH, .is.graph = G(&large) };
	CUDA_KERNEL_NODE_PARAMS p = { .func = FRAMED(0) };

	(void)unused;
	make(&g);
	grows();
	assert_int_equal(cuGraphExecChildGraphNodeSetParams(exec, N(&g, 1), G(&middle)),
			 CUDA_SUCCESS);
	grows();
	assert_int_equal(cuGraphExecNodeSetParams(exec, N(&g, 1), &any), CUDA_SUCCESS);
	/* By the node's own name in the graph of which all was made: nothing is left of it. */
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(exec, N(&child, 1), &p), CUDA_SUCCESS);
	assert_true(goes(NULL));
	assert_int_equal(cuGraphExecNodeSetParams(exec, N(&g, 1), &any), CUDA_SUCCESS);
	grows();
}

/* What the graph had and does not have any more, nobody has grown to. */
static void test_what_is_gone_has_not_grown(void **unused)
{
	struct graph large = { 2, { KERNEL(LARGE), KERNEL(SMALL) } },
		     again = { 2, { KERNEL(LARGE), KERNEL(SMALL) } };
	CUDA_KERNEL_NODE_PARAMS p = { .func = FRAMED(0) };

	(void)unused;
	make(&large);
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(exec, N(&large, 0), &p), CUDA_SUCCESS);
	grows();
	assert_true(waits(FRAMED(MIDDLE)));
	/* As that graph is, but its nodes are called by their names in the first one. */
	assert_int_equal(cuGraphExecUpdate_v2(exec, G(&again), NULL), CUDA_SUCCESS);
	assert_int_equal(cuGraphExecKernelNodeSetParams_v2(exec, N(&large, 0), &p), CUDA_SUCCESS);
	assert_true(waits(NULL));
	assert_true(waits(FRAMED(MIDDLE + 0x10)));
	/* Until all of it is known again. */
	assert_int_equal(cuGraphExecUpdate_v2(exec, G(&again), NULL), CUDA_SUCCESS);
	grows();
}

static void test_what_is_disabled_has_not_grown(void **unused)
{
	struct graph large = { 1, { KERNEL(LARGE) } };

	(void)unused;
	make(&large);
	assert_int_equal(cuGraphNodeSetEnabled(exec, N(&large, 0), 0), CUDA_SUCCESS);
	assert_true(waits(NULL));
	assert_true(waits(FRAMED(MIDDLE)));
	assert_int_equal(cuGraphNodeSetEnabled(exec, N(&large, 0), 1), CUDA_SUCCESS);
	assert_true(waits(NULL));
}

/* One without a kernel says nothing of the others. */
static void test_a_disabled_copy_is_nothing(void **unused)
{
	struct graph g = { 2, { KERNEL(LARGE), { CU_GRAPH_NODE_TYPE_MEMSET, 0, NULL } } };

	(void)unused;
	make(&g);
	assert_int_equal(cuGraphNodeSetEnabled(exec, N(&g, 1), 0), CUDA_SUCCESS);
	grows();
	assert_true(goes(FRAMED(MIDDLE)));
}

/* No call tells of a condition's body: it may be anything; what it is has been made once it went.
 */
static void test_what_is_not_known_waits(void **unused)
{
	struct graph g = { 2, { KERNEL(SMALL), { CU_GRAPH_NODE_TYPE_CONDITIONAL, 0, NULL } } };

	(void)unused;
	make(&g);
	grows();
	assert_true(waits(FRAMED(MIDDLE)));
}

/* Its handle is another one's now. */
static void test_a_graph_that_is_gone(void **unused)
{
	struct graph large = { 1, { KERNEL(LARGE) } };

	(void)unused;
	make(&large);
	assert_int_equal(cuGraphExecDestroy(exec), CUDA_SUCCESS);
	make(&one);
	grows();
	assert_true(waits(FRAMED(MIDDLE)));
}

/* What is none is the driver's to refuse, by the call that the program made. */
static void test_no_graph(void **unused)
{
	(void)unused;
	forget_calls();
	cuGraphLaunch(NULL, STREAM);
	expect_calls("launch-graph");
}

#define FRESH(f) cmocka_unit_test_setup(f, fresh)

int shim_graphs(void)
{
	const struct CMUnitTest tests[] = {
		FRESH(test_a_graph_whose_kernel_grows_waits),
		FRESH(test_updated),
		FRESH(test_half_updated),
		FRESH(test_an_update_counts_the_nodes),
		FRESH(test_copies_count),
		FRESH(test_kernel_node_set),
		FRESH(test_child_graph_set),
		FRESH(test_what_is_gone_has_not_grown),
		FRESH(test_what_is_disabled_has_not_grown),
		FRESH(test_a_disabled_copy_is_nothing),
		FRESH(test_what_is_not_known_waits),
		FRESH(test_a_graph_that_is_gone),
		FRESH(test_no_graph),
	};

	return cmocka_run_group_tests(tests, put_graphs, put_back);
}
