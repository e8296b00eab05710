/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Beginning and ending captures, and asking for them; capture.c has what they do meanwhile. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "device/emu/capture.h"

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
			emu_capture_leave(o);
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
