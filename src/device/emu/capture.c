/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream capture ("Creating a Graph Using Stream Capture", CUDA C++
 * Programming Guide): what goes into a capturing stream becomes a node; other
 * streams join through events recorded in it, and leave when they are joined back.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "device/emu/graph.h"

struct emu_capture {
	struct CUgraph_st *graph;
	struct CUstream_st *origin;
	uint64_t id;
	int invalid;
	unsigned int refs; /* streams in it */
};

/* All of these under the context's mutex. */

static void leave(struct CUstream_st *s)
{
	s->capture->refs--;
	s->capture = NULL;
	emu_nodes_clear(&s->capture_deps);
}

static struct emu_capture *capture_of(struct CUctx_st *ctx, uint64_t id)
{
	for (struct CUstream_st *s = ctx->streams; s && id; s = s->next)
		if (s->capture && s->capture->id == id)
			return s->capture;
	return NULL;
}

static CUresult record(struct CUstream_st *s, struct CUevent_st *ev)
{
	if (emu_nodes_copy(&ev->capture_deps, &s->capture_deps))
		return CUDA_ERROR_OUT_OF_MEMORY;
	ev->capture_id = s->capture->id;
	return CUDA_SUCCESS;
}

/* The stream waits for an event of a capture: it joins, or it goes on behind more nodes. */
static CUresult join(struct CUstream_st *s, struct CUevent_st *ev)
{
	struct emu_capture *c = capture_of(s->ctx, ev->capture_id);

	if (s->capture && c != s->capture)
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	if (!s->capture) {
		s->capture = c;
		c->refs++;
	}
	for (size_t i = 0; i < ev->capture_deps.n; i++) {
		size_t k = 0;

		while (k < s->capture_deps.n && s->capture_deps.v[k] != ev->capture_deps.v[i])
			k++;
		if (k == s->capture_deps.n &&
		    emu_nodes_add(&s->capture_deps, ev->capture_deps.v[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

static CUresult append(struct CUstream_st *s, struct emu_task *t, struct CUgraphNode_st **node)
{
	if (s->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	*node = emu_graph_add(s->capture->graph,
			      t->kind == EMU_T_KERNEL ? CU_GRAPH_NODE_TYPE_KERNEL : t->node, t,
			      s->capture_deps.v, s->capture_deps.n);
	if (!*node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	s->capture_deps.n = 0;
	return emu_nodes_add(&s->capture_deps, *node) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

int emu_capture_take(struct CUstream_st *s, struct emu_task *t, CUresult *rc)
{
	struct CUctx_st *ctx = s->ctx;
	struct CUgraphNode_st *node = NULL;
	struct CUevent_st *ev = t->event;
	int taken = 1;

	pthread_mutex_lock(&ctx->mutex);
	if (t->kind == EMU_T_RECORD && !s->capture)
		ev->capture_id = 0;
	if (t->kind == EMU_T_RECORD && s->capture)
		*rc = record(s, ev);
	else if (t->kind == EMU_T_WAIT_EVENT && capture_of(ctx, ev->capture_id))
		*rc = join(s, ev);
	else if (t->kind == EMU_T_WAIT_EVENT && s->capture)
		*rc = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	else if (s->capture)
		*rc = append(s, t, &node);
	else
		taken = 0;
	if (taken && *rc != CUDA_SUCCESS && s->capture)
		s->capture->invalid = 1;
	pthread_mutex_unlock(&ctx->mutex);
	if (taken && !node) {
		t->event = NULL;
		emu_task_free(ctx, t);
	}
	return taken;
}

int emu_capturing(struct CUstream_st *s)
{
	int yes;

	pthread_mutex_lock(&s->ctx->mutex);
	yes = s->capture != NULL;
	pthread_mutex_unlock(&s->ctx->mutex);
	return yes;
}

void emu_captures_end(struct CUctx_st *ctx)
{
	struct emu_capture *c;

	do {
		c = NULL;
		pthread_mutex_lock(&ctx->mutex);
		for (struct CUstream_st *s = ctx->streams; s; s = s->next) {
			if (!s->capture || (c && s->capture != c))
				continue;
			c = s->capture;
			leave(s);
		}
		pthread_mutex_unlock(&ctx->mutex);
		if (c) {
			emu_graph_free(c->graph);
			free(c);
		}
	} while (c);
}

CUresult emu_capture_forbids(struct CUstream_st *s)
{
	CUresult rc = CUDA_SUCCESS;

	pthread_mutex_lock(&s->ctx->mutex);
	if (s->capture) {
		s->capture->invalid = 1;
		rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&s->ctx->mutex);
	return rc;
}

CUresult CUDAAPI cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	struct emu_capture *c;
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	CUresult rc = CUDA_SUCCESS;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (s == ctx->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	c = calloc(1, sizeof(*c));
	if (c)
		c->graph = emu_graph_new(ctx);
	if (!c || !c->graph) {
		free(c);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->origin = s;
	c->id = atomic_fetch_add(&emu.next_id, 1) + 1;
	c->refs = 1;
	pthread_mutex_lock(&ctx->mutex);
	if (s->capture)
		rc = CUDA_ERROR_ILLEGAL_STATE;
	else
		s->capture = c;
	pthread_mutex_unlock(&ctx->mutex);
	if (rc != CUDA_SUCCESS) {
		emu_graph_free(c->graph);
		free(c);
	}
	return rc;
}

/* Does a path lead from every node of the graph to one of the origin stream's last nodes? */
static int joined(const struct emu_capture *c)
{
	struct emu_node_list todo = { 0 };
	size_t seen = 0;

	for (size_t i = 0; i < c->graph->nodes.n; i++)
		c->graph->nodes.v[i]->visited = 0;
	if (emu_nodes_copy(&todo, &c->origin->capture_deps))
		return 0;
	while (todo.n) {
		struct CUgraphNode_st *n = todo.v[todo.n - 1];

		todo.n--;
		if (n->visited)
			continue;
		n->visited = 1;
		seen++;
		for (size_t i = 0; i < n->deps.n; i++)
			if (emu_nodes_add(&todo, n->deps.v[i]))
				break; /* without memory, as if it were not joined */
	}
	emu_nodes_clear(&todo);
	return seen == c->graph->nodes.n;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	struct emu_capture *c;
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	CUresult rc = CUDA_SUCCESS;
	int over;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = NULL;
	pthread_mutex_lock(&ctx->mutex);
	c = s->capture;
	over = c && c->origin == s;
	if (!c)
		rc = CUDA_ERROR_ILLEGAL_STATE;
	else if (c->origin != s)
		rc = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	else if (c->invalid)
		rc = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!joined(c))
		rc = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	for (struct CUstream_st *o = ctx->streams; over && o; o = o->next)
		if (o->capture == c)
			leave(o);
	pthread_mutex_unlock(&ctx->mutex);
	if (over) {
		if (rc == CUDA_SUCCESS)
			*graph = c->graph;
		else
			emu_graph_free(c->graph);
		free(c);
	}
	return rc;
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
					   cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
					   size_t *n)
{
	struct emu_capture *c;
	struct CUctx_st *ctx;
	struct CUstream_st *s;

	EMU_TRY(emu_enter_any(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&ctx->mutex);
	c = s->capture;
	*status = !c         ? CU_STREAM_CAPTURE_STATUS_NONE :
		  c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED :
			       CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (c && id)
		*id = c->id;
	if (c && graph)
		*graph = c->graph;
	if (c && deps)
		*deps = s->capture_deps.v;
	if (c && n)
		*n = s->capture_deps.n;
	pthread_mutex_unlock(&ctx->mutex);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status,
					   cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
					   const CUgraphEdgeData **edges, size_t *n)
{
	if (edges)
		*edges = NULL;
	return cuStreamGetCaptureInfo_v2(stream, status, id, graph, deps, n);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	return cuStreamGetCaptureInfo_v2(stream, status, NULL, NULL, NULL, NULL);
}

/*
 * The capture modes forbid calls that would be unsafe; on this device none of them is, so the modes
 * differ in name only.
 */
CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	static __thread CUstreamCaptureMode current;
	CUstreamCaptureMode old = current;

	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	current = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
