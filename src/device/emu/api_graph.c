/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The API of graphs: building, instantiating, updating and launching them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/graph.h"

CUresult emu_graph_check(const struct CUgraph_st *g)
{
	EMU_TRY(emu_enter_plain());
	return g && g->magic == EMU_MAGIC_GRAPH ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult emu_node_check(const struct CUgraphNode_st *n)
{
	EMU_TRY(emu_enter_plain());
	return n && n->magic == EMU_MAGIC_NODE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_exec(const struct CUgraphExec_st *e)
{
	EMU_TRY(emu_enter_plain());
	return e && e->magic == EMU_MAGIC_EXEC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A graph's kernels went with their context: it may only be destroyed. */
static CUresult check_alive(const struct CUctx_st *ctx, uint64_t id)
{
	return ctx->magic == EMU_MAGIC_CTX && ctx->id == id ? CUDA_SUCCESS :
							      CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult CUDAAPI cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = emu_graph_new(ctx);
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph)
{
	EMU_TRY(emu_graph_check(graph));
	emu_graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphClone(CUgraph *clone, CUgraph graph)
{
	EMU_TRY(emu_graph_check(graph));
	EMU_TRY(check_alive(graph->ctx, graph->ctx_id));
	if (!clone)
		return CUDA_ERROR_INVALID_VALUE;
	*clone = emu_graph_clone(graph);
	return *clone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult check_place(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n)
{
	EMU_TRY(emu_graph_check(graph));
	if (!node || (n && !deps))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (emu_node_check(deps[i]) != CUDA_SUCCESS || deps[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
		    CUgraphNodeType type, struct emu_task *task)
{
	*node = emu_graph_add(graph, type, task, deps, n);
	if (*node)
		return CUDA_SUCCESS;
	if (task)
		emu_task_free(graph->ctx, task);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult kernel_task(struct CUctx_st *ctx, const CUDA_KERNEL_NODE_PARAMS *p,
			    struct emu_task **t)
{
	CUlaunchConfig c = { 0 };

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	c.gridDimX = p->gridDimX;
	c.gridDimY = p->gridDimY;
	c.gridDimZ = p->gridDimZ;
	c.blockDimX = p->blockDimX;
	c.blockDimY = p->blockDimY;
	c.blockDimZ = p->blockDimZ;
	c.sharedMemBytes = p->sharedMemBytes;
	return emu_launch_task(ctx, &c, p->func ? p->func : (CUfunction)p->kern, p->kernelParams,
			       p->extra, 0, t);
}

static CUresult copy_task(const CUDA_MEMCPY3D *p, struct emu_task **t)
{
	int pageable;

	if (!p || !p->WidthInBytes || !p->Height || !p->Depth)
		return CUDA_ERROR_INVALID_VALUE;
	return emu_box_task(p, t, &pageable);
}

static CUresult set_task(const CUDA_MEMSET_NODE_PARAMS *p, struct emu_task **t)
{
	return p && p->width && p->height ? emu_set_task(p, t) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
					 size_t n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct emu_task *t;

	EMU_TRY(check_place(node, graph, deps, n));
	EMU_TRY(kernel_task(graph->ctx, p, &t));
	return add(node, graph, deps, n, CU_GRAPH_NODE_TYPE_KERNEL, t);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				      size_t n, const CUDA_MEMCPY3D *p, CUcontext ctx)
{
	struct emu_task *t;

	(void)ctx;
	EMU_TRY(check_place(node, graph, deps, n));
	EMU_TRY(copy_task(p, &t));
	return add(node, graph, deps, n, CU_GRAPH_NODE_TYPE_MEMCPY, t);
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				      size_t n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	struct emu_task *t;

	(void)ctx;
	EMU_TRY(check_place(node, graph, deps, n));
	EMU_TRY(set_task(p, &t));
	return add(node, graph, deps, n, CU_GRAPH_NODE_TYPE_MEMSET, t);
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				    size_t n, const CUDA_HOST_NODE_PARAMS *p)
{
	struct emu_task *t;

	EMU_TRY(check_place(node, graph, deps, n));
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(emu_host_task(p->fn, p->userData, &t));
	return add(node, graph, deps, n, CU_GRAPH_NODE_TYPE_HOST, t);
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				     size_t n)
{
	EMU_TRY(check_place(node, graph, deps, n));
	return add(node, graph, deps, n, CU_GRAPH_NODE_TYPE_EMPTY, NULL);
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
					  size_t n, CUgraph child)
{
	struct CUgraph_st *copy;

	EMU_TRY(check_place(node, graph, deps, n));
	EMU_TRY(emu_graph_check(child));
	if (child == graph)
		return CUDA_ERROR_INVALID_VALUE;
	copy = emu_graph_clone(child);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	EMU_TRY(add(node, graph, deps, n, CU_GRAPH_NODE_TYPE_GRAPH, NULL));
	(*node)->child = copy;
	return CUDA_SUCCESS;
}

static CUresult add_event(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t n,
			  CUevent event, enum emu_task_kind kind, CUgraphNodeType type)
{
	struct emu_task *t;

	EMU_TRY(check_place(node, graph, deps, n));
	if (!emu_handle_is(event, EMU_MAGIC_EVENT, "an event"))
		return CUDA_ERROR_INVALID_HANDLE;
	t = emu_task_new(kind);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&graph->ctx->mutex);
	event->refs++;
	pthread_mutex_unlock(&graph->ctx->mutex);
	t->event = event;
	t->always = kind == EMU_T_RECORD;
	return add(node, graph, deps, n, type, t);
}

CUresult CUDAAPI cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
					   const CUgraphNode *deps, size_t n, CUevent event)
{
	return add_event(node, graph, deps, n, event, EMU_T_RECORD,
			 CU_GRAPH_NODE_TYPE_EVENT_RECORD);
}

CUresult CUDAAPI cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
					 size_t n, CUevent event)
{
	return add_event(node, graph, deps, n, event, EMU_T_WAIT_EVENT,
			 CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}

CUresult CUDAAPI cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
	const struct emu_grid *g;

	EMU_TRY(emu_node_check(node));
	if (!p || node->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	g = node->task->grid;
	if (!node->params)
		node->params = calloc(g->program->params.n + 1, sizeof(*node->params));
	if (!node->params)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < g->program->params.n; i++)
		node->params[i] = g->param + g->program->params.param[i].offset;
	memset(p, 0, sizeof(*p));
	p->func = (CUfunction)(uintptr_t)node->task->a;
	p->gridDimX = g->nctaid[0];
	p->gridDimY = g->nctaid[1];
	p->gridDimZ = g->nctaid[2];
	p->blockDimX = g->ntid[0];
	p->blockDimY = g->ntid[1];
	p->blockDimZ = g->ntid[2];
	p->sharedMemBytes = g->dynamic_shared;
	p->kernelParams = node->params;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct emu_task *t;

	EMU_TRY(emu_node_check(node));
	if (node->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(kernel_task(node->graph->ctx, p, &t));
	emu_task_free(node->graph->ctx, node->task);
	node->task = t;
	free(node->params);
	node->params = NULL;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
					     unsigned long long flags)
{
	(void)flags; /* flags for memory nodes and uploads, which do not exist here */
	EMU_TRY(emu_graph_check(graph));
	EMU_TRY(check_alive(graph->ctx, graph->ctx_id));
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	*exec = emu_exec_new(graph);
	return *exec ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
					      CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUresult rc;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	rc = cuGraphInstantiateWithFlags(exec, graph, p->flags);
	p->hErrNode_out = NULL;
	p->result_out =
		rc == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
	return rc;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec)
{
	EMU_TRY(check_exec(exec));
	emu_exec_release(exec);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_steps *steps;
	struct emu_task *t;
	CUresult rc;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(check_exec(exec));
	EMU_TRY(check_alive(exec->ctx, exec->ctx_id));
	steps = exec->now;
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (emu_capturing(s))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = emu_exec_run;
	t->always = 1; /* so that it gives back what it holds; after an error it runs nothing */
	t->a = (uintptr_t)exec;
	t->b = (uintptr_t)s;
	t->c = (uintptr_t)steps;
	t->in.branches = exec->branches;
	atomic_fetch_add(&steps->refs, 1);
	atomic_fetch_add(&exec->refs, 1);
	rc = emu_stream_enqueue(s, t, NULL);
	if (rc != CUDA_SUCCESS) {
		emu_steps_release(steps);
		emu_exec_release(exec);
	}
	return rc;
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	(void)stream;
	return check_exec(exec);
}

/* Launches that have begun keep the steps that they were given. */
static CUresult replace(CUgraphExec exec, CUgraphNode node, struct emu_task *t)
{
	struct emu_steps *steps = emu_steps_copy(exec->now);

	for (size_t i = 0; steps && i < steps->n; i++) {
		if (steps->step[i].node != node)
			continue;
		emu_task_free(exec->ctx, steps->step[i].task);
		steps->step[i].task = t;
		emu_steps_release(exec->now);
		exec->now = steps;
		return CUDA_SUCCESS;
	}
	emu_task_free(exec->ctx, t);
	emu_steps_release(steps);
	return steps ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						   const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct emu_task *t;

	EMU_TRY(check_exec(exec));
	EMU_TRY(kernel_task(exec->ctx, p, &t));
	return replace(exec, node, t);
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const CUDA_MEMCPY3D *p, CUcontext ctx)
{
	struct emu_task *t;

	(void)ctx;
	EMU_TRY(check_exec(exec));
	EMU_TRY(copy_task(p, &t));
	return replace(exec, node, t);
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	struct emu_task *t;

	(void)ctx;
	EMU_TRY(check_exec(exec));
	EMU_TRY(set_task(p, &t));
	return replace(exec, node, t);
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
					      const CUDA_HOST_NODE_PARAMS *p)
{
	struct emu_task *t;

	EMU_TRY(check_exec(exec));
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(emu_host_task(p->fn, p->userData, &t));
	return replace(exec, node, t);
}

/* The same nodes in the same order, with what they do now. */
CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
				      CUgraphExecUpdateResultInfo *info)
{
	struct CUgraphExec_st *fresh;
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

	EMU_TRY(check_exec(exec));
	EMU_TRY(check_alive(exec->ctx, exec->ctx_id));
	EMU_TRY(emu_graph_check(graph));
	EMU_TRY(check_alive(graph->ctx, graph->ctx_id));
	fresh = emu_exec_new(graph);
	if (!fresh)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (fresh->now->n != exec->now->n)
		result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < fresh->now->n && !result; i++) {
		const struct emu_task *a = fresh->now->step[i].task, *b = exec->now->step[i].task;

		if (a->kind != b->kind || a->node != b->node)
			result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	}
	if (!result) {
		struct emu_steps *old = exec->now;

		/* the nodes' names stay those of the graph that was instantiated */
		for (size_t i = 0; i < old->n; i++)
			fresh->now->step[i].node = old->step[i].node;
		exec->now = fresh->now;
		fresh->now = old;
	}
	emu_exec_release(fresh);
	if (info) {
		memset(info, 0, sizeof(*info));
		info->result = result;
	}
	return result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
}
