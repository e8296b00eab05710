/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream capture ("Creating a Graph Using Stream Capture", CUDA C++
 * Programming Guide): what goes into a capturing stream becomes a node; other
 * streams join through events recorded in it, and leave when they are joined back.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "device/emu/capture.h"

/* All of these under the context's mutex. */

void emu_capture_leave(struct CUstream_st *s)
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
			emu_capture_leave(s);
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
