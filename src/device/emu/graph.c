/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphs: see graph.h. */
#define _GNU_SOURCE
#include "device/emu/graph.h"

#include <stdlib.h>
#include <string.h>

int emu_nodes_add(struct emu_node_list *list, struct CUgraphNode_st *node)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 4;
		struct CUgraphNode_st **v = realloc(list->v, cap * sizeof(*v));

		if (!v)
			return -1;
		list->v = v;
		list->cap = cap;
	}
	list->v[list->n++] = node;
	return 0;
}

void emu_nodes_clear(struct emu_node_list *list)
{
	free(list->v);
	list->v = NULL;
	list->n = list->cap = 0;
}

int emu_nodes_copy(struct emu_node_list *to, const struct emu_node_list *from)
{
	emu_nodes_clear(to);
	for (size_t i = 0; i < from->n; i++)
		if (emu_nodes_add(to, from->v[i]))
			return -1;
	return 0;
}

struct CUgraph_st *emu_graph_new(struct CUctx_st *ctx)
{
	struct CUgraph_st *g = calloc(1, sizeof(*g));

	if (g) {
		g->magic = EMU_MAGIC_GRAPH;
		g->ctx = ctx;
		g->ctx_id = ctx->id;
	}
	return g;
}

static void node_free(struct CUgraphNode_st *n)
{
	n->magic = 0;
	if (n->task)
		emu_task_free(n->graph->ctx, n->task);
	emu_graph_free(n->child);
	emu_nodes_clear(&n->deps);
	free(n->params);
	free(n);
}

void emu_graph_free(struct CUgraph_st *g)
{
	if (!g)
		return;
	g->magic = 0;
	for (size_t i = 0; i < g->nodes.n; i++)
		node_free(g->nodes.v[i]);
	emu_nodes_clear(&g->nodes);
	free(g);
}

struct CUgraphNode_st *emu_graph_add(struct CUgraph_st *g, CUgraphNodeType type,
				     struct emu_task *task, struct CUgraphNode_st *const *deps,
				     size_t n)
{
	struct CUgraphNode_st *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->magic = EMU_MAGIC_NODE;
	node->graph = g;
	node->type = type;
	for (size_t i = 0; i < n; i++)
		if (emu_nodes_add(&node->deps, deps[i]))
			goto fail;
	if (emu_nodes_add(&g->nodes, node))
		goto fail;
	node->task = task;
	return node;
fail:
	node_free(node);
	return NULL;
}

static struct emu_task *clone_task(const struct emu_task *t)
{
	struct emu_task *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = *t;
	c->next = NULL;
	c->after.dep = NULL;
	c->after.ndep = 0;
	c->buffer = NULL;
	c->grid = NULL;
	if (t->buffer) {
		c->buffer = malloc(t->buffer_bytes ? t->buffer_bytes : 1);
		if (!c->buffer)
			goto fail;
		memcpy(c->buffer, t->buffer, t->buffer_bytes);
	}
	if (t->grid) {
		size_t bytes = t->grid->program->params.bytes + 8;

		c->grid = malloc(sizeof(*c->grid));
		if (!c->grid)
			goto fail;
		memcpy(c->grid, t->grid, sizeof(*c->grid));
		c->grid->id = atomic_fetch_add(&emu.next_id, 1) + 1;
		c->grid->param = malloc(bytes);
		if (!c->grid->param)
			goto fail;
		memcpy(c->grid->param, t->grid->param, bytes);
	}
	if (c->event)
		c->event->refs++;
	return c;
fail:
	free(c->grid);
	free(c->buffer);
	free(c);
	return NULL;
}

static struct emu_task *clone_locked(struct CUctx_st *ctx, const struct emu_task *t)
{
	struct emu_task *c;

	pthread_mutex_lock(&ctx->mutex);
	c = clone_task(t);
	pthread_mutex_unlock(&ctx->mutex);
	return c;
}

struct CUgraph_st *emu_graph_clone(struct CUgraph_st *g)
{
	struct CUgraph_st *c = emu_graph_new(g->ctx);

	if (c)
		c->ctx_id = g->ctx_id;
	for (size_t i = 0; c && i < g->nodes.n; i++) {
		struct CUgraphNode_st *from = g->nodes.v[i], *to;
		struct emu_task *t = from->task ? clone_locked(g->ctx, from->task) : NULL;

		from->index = i;
		to = (from->task && !t) ? NULL : emu_graph_add(c, from->type, t, NULL, 0);
		if (to && from->child)
			to->child = emu_graph_clone(from->child);
		if (!to || (from->child && !to->child)) {
			if (!to && t)
				emu_task_free(g->ctx, t);
			emu_graph_free(c);
			return NULL;
		}
	}
	/* a node may depend on one that was added later */
	for (size_t i = 0; c && i < g->nodes.n; i++) {
		for (size_t k = 0; k < g->nodes.v[i]->deps.n; k++) {
			if (emu_nodes_add(&c->nodes.v[i]->deps,
					  c->nodes.v[g->nodes.v[i]->deps.v[k]->index])) {
				emu_graph_free(c);
				return NULL;
			}
		}
	}
	return c;
}

void emu_steps_release(struct emu_steps *steps)
{
	if (!steps || atomic_fetch_sub(&steps->refs, 1) != 1)
		return;
	for (size_t i = 0; i < steps->n; i++)
		emu_task_free(steps->ctx, steps->step[i].task);
	free(steps->step);
	free(steps);
}

static struct emu_steps *steps_new(struct CUctx_st *ctx)
{
	struct emu_steps *s = calloc(1, sizeof(*s));

	if (s) {
		s->ctx = ctx;
		atomic_store(&s->refs, 1);
	}
	return s;
}

static int add_step(struct emu_steps *s, const struct CUgraphNode_st *node,
		    const struct emu_task *task)
{
	struct emu_step *grown = realloc(s->step, (s->n + 1) * sizeof(*grown));

	if (!grown)
		return -1;
	s->step = grown;
	s->step[s->n].node = node;
	s->step[s->n].task = clone_locked(s->ctx, task);
	return s->step[s->n].task ? (s->n++, 0) : -1;
}

struct emu_steps *emu_steps_copy(const struct emu_steps *from)
{
	struct emu_steps *s = steps_new(from->ctx);

	for (size_t i = 0; s && i < from->n; i++) {
		if (add_step(s, from->step[i].node, from->step[i].task)) {
			emu_steps_release(s);
			return NULL;
		}
	}
	return s;
}

static int flatten(struct emu_steps *e, struct CUgraph_st *g);

/* Depth first, an explicit stack: chains are as long as the program makes them. */
static int visit(struct emu_steps *e, struct CUgraphNode_st *start)
{
	struct emu_node_list stack = { 0 };
	int rc = emu_nodes_add(&stack, start);

	while (!rc && stack.n) {
		struct CUgraphNode_st *n = stack.v[stack.n - 1];

		if (n->visited == 2) {
			stack.n--;
			continue;
		}
		if (n->visited == 1) { /* all before it are there, or it is before itself */
			n->level = 0;
			for (size_t i = 0; i < n->deps.n; i++) {
				if (n->deps.v[i]->visited != 2)
					rc = -1;
				else if (n->deps.v[i]->level >= n->level)
					n->level = n->deps.v[i]->level + 1;
			}
			n->visited = 2;
			stack.n--;
			if (!rc && n->child)
				rc = flatten(e, n->child);
			else if (!rc && n->task)
				rc = add_step(e, n, n->task);
			continue;
		}
		n->visited = 1;
		for (size_t i = n->deps.n; i-- > 0 && !rc;)
			if (n->deps.v[i]->visited == 0)
				rc = emu_nodes_add(&stack, n->deps.v[i]);
			else if (n->deps.v[i]->visited == 1)
				rc = -1;
	}
	emu_nodes_clear(&stack);
	return rc;
}

/*
 * How many of the graph's branches may run at once: the most tasks on one level, which is right if
 * all branches are equally long.
 */
static int count_branches(struct CUgraph_st *g)
{
	uint32_t *of = calloc(g->nodes.n + 1, sizeof(*of));

	if (!of)
		return -1;
	g->branches = 0;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct CUgraphNode_st *n = g->nodes.v[i];

		if (n->child)
			of[n->level] += n->child->branches;
		else if (n->task)
			of[n->level] += (uint32_t)emu_channel_for(n->task);
		if (of[n->level] > g->branches)
			g->branches = of[n->level];
	}
	free(of);
	return 0;
}

static int flatten(struct emu_steps *e, struct CUgraph_st *g)
{
	for (size_t i = 0; i < g->nodes.n; i++)
		g->nodes.v[i]->visited = 0;
	for (size_t i = 0; i < g->nodes.n; i++)
		if (visit(e, g->nodes.v[i]))
			return -1;
	return count_branches(g);
}

struct CUgraphExec_st *emu_exec_new(struct CUgraph_st *g)
{
	struct CUgraphExec_st *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->magic = EMU_MAGIC_EXEC;
	e->ctx = g->ctx;
	e->ctx_id = g->ctx_id;
	atomic_store(&e->refs, 1);
	pthread_mutex_init(&e->mutex, NULL);
	e->now = steps_new(g->ctx);
	if (!e->now || flatten(e->now, g)) {
		emu_exec_release(e);
		return NULL;
	}
	e->branches = g->branches;
	return e;
}

void emu_exec_release(struct CUgraphExec_st *e)
{
	if (atomic_fetch_sub(&e->refs, 1) != 1)
		return;
	emu_steps_release(e->now);
	pthread_mutex_destroy(&e->mutex);
	e->magic = 0;
	free(e);
}

/* An event's record and wait take their numbers when they are enqueued, which is now. */
static void number_event(struct CUctx_st *ctx, struct emu_task *t)
{
	pthread_mutex_lock(&ctx->mutex);
	if (t->kind == EMU_T_RECORD)
		t->a = ++t->event->recorded;
	else if (t->kind == EMU_T_WAIT_EVENT)
		t->a = t->event->recorded;
	pthread_mutex_unlock(&ctx->mutex);
}

CUresult emu_exec_run(struct CUctx_st *ctx, struct emu_task *task)
{
	struct CUgraphExec_st *e = (struct CUgraphExec_st *)(uintptr_t)task->a;
	struct CUstream_st *s = (struct CUstream_st *)(uintptr_t)task->b;
	struct emu_steps *steps = (struct emu_steps *)(uintptr_t)task->c;
	CUresult rc = CUDA_SUCCESS;

	pthread_mutex_lock(&e->mutex);
	for (size_t i = 0; i < steps->n && rc == CUDA_SUCCESS; i++) {
		struct emu_task *t = clone_locked(ctx, steps->step[i].task);

		if (!t) {
			rc = CUDA_ERROR_OUT_OF_MEMORY;
			break;
		}
		number_event(ctx, t);
		emu_task_execute(s, t);
		emu_task_free(ctx, t);
		rc = atomic_load(&ctx->error);
	}
	pthread_mutex_unlock(&e->mutex);
	emu_steps_release(steps);
	emu_exec_release(e);
	return rc;
}
