/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams: queues, each with a thread that executes them in order (task.c).  A
 * stream that waits blocks itself, and what is behind it in its channel (channel.h).
 *
 * The legacy default stream ("Default stream", CUDA C++ Programming Guide): its
 * work waits for all earlier work of the context's blocking streams, and
 * their work waits for all earlier work of it; both become dependencies on
 * sequence numbers when the task is enqueued.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

static void *stream_main(void *arg)
{
	struct CUstream_st *s = arg;
	struct CUctx_st *ctx = s->ctx;

	pthread_mutex_lock(&ctx->mutex);
	for (;;) {
		struct emu_task *t;

		while (!s->head && !s->closing)
			pthread_cond_wait(&s->work, &ctx->mutex);
		t = s->head;
		if (!t)
			break;
		s->head = t->next;
		if (!s->head)
			s->tail = &s->head;
		s->running = t;
		pthread_mutex_unlock(&ctx->mutex);
		emu_task_execute(s, t);
		pthread_mutex_lock(&ctx->mutex);
		s->running = NULL;
		s->completed = t->seq;
		emu_channel_leave(s, t);
		pthread_cond_broadcast(&ctx->changed);
		pthread_mutex_unlock(&ctx->mutex);
		emu_task_free(ctx, t);
		pthread_mutex_lock(&ctx->mutex);
	}
	emu_stream_release(s);
	pthread_mutex_unlock(&ctx->mutex);
	return NULL;
}

struct CUstream_st *emu_stream_create(struct CUctx_st *ctx, unsigned int flags, int priority)
{
	struct CUstream_st *s =
		emu_handle_take(EMU_H_STREAM, sizeof(*s), offsetof(struct CUstream_st, ctx));

	if (!s)
		return NULL;
	if (!s->kept) {
		pthread_cond_init(&s->work, NULL);
		s->kept = 1;
	}
	s->ctx = ctx;
	s->flags = flags;
	s->priority = priority;
	s->id = atomic_fetch_add(&emu.next_id, 1) + 1;
	s->tail = &s->head;
	s->refs = 1;
	pthread_mutex_lock(&ctx->mutex);
	s->next = ctx->streams;
	ctx->streams = s;
	pthread_mutex_unlock(&ctx->mutex);
	s->magic = EMU_MAGIC_STREAM;
	return s;
}

/* Context mutex held. */
static void close_stream(struct CUstream_st *s)
{
	s->closing = 1;
	s->magic = EMU_MAGIC_GONE;
	pthread_cond_signal(&s->work);
	emu_stream_release(s);
}

void emu_stream_close(struct CUstream_st *s)
{
	struct CUctx_st *ctx = s->ctx;

	pthread_mutex_lock(&ctx->mutex);
	close_stream(s);
	pthread_mutex_unlock(&ctx->mutex);
}

/* Give back what the program's graphs still hold of an event. */
void emu_streams_end(struct CUctx_st *ctx)
{
	struct CUstream_st *next;

	pthread_mutex_lock(&ctx->mutex);
	for (struct CUstream_st *s = ctx->streams; s; s = next) {
		next = s->next;
		if (s->magic == EMU_MAGIC_STREAM && s != ctx->legacy)
			close_stream(s);
	}
	while (ctx->streams->next)
		pthread_cond_wait(&ctx->changed, &ctx->mutex);
	close_stream(ctx->legacy); /* the last: it is the next context's */
	while (ctx->streams)
		pthread_cond_wait(&ctx->changed, &ctx->mutex);
	while (ctx->events) {
		struct CUevent_st *ev = ctx->events;

		ctx->events = ev->next;
		if (ev->magic == EMU_MAGIC_EVENT) {
			ev->magic = EMU_MAGIC_GONE;
			emu_event_release(ev);
		}
	}
	pthread_mutex_unlock(&ctx->mutex);
}

static __thread struct CUstream_st *thread_stream;
static __thread uint64_t thread_stream_ctx;

CUresult emu_stream_resolve(struct CUctx_st *ctx, CUstream handle, struct CUstream_st **stream)
{
	if (handle == NULL)
		handle = emu_per_thread_stream ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	if (handle == CU_STREAM_LEGACY) {
		*stream = ctx->legacy;
		return CUDA_SUCCESS;
	}
	if (handle == CU_STREAM_PER_THREAD) {
		if (!thread_stream || thread_stream_ctx != ctx->id) {
			thread_stream = emu_stream_create(ctx, CU_STREAM_DEFAULT, 0);
			thread_stream_ctx = ctx->id;
		}
		*stream = thread_stream;
		return thread_stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!emu_handle_is(handle, EMU_MAGIC_STREAM, "a stream"))
		return CUDA_ERROR_INVALID_HANDLE;
	*stream = handle;
	return CUDA_SUCCESS;
}

static int blocking(const struct CUstream_st *s)
{
	return !(s->flags & CU_STREAM_NON_BLOCKING);
}

/* Context mutex held. */
static int dependencies(struct CUstream_st *s, struct emu_task *t)
{
	struct CUctx_st *ctx = s->ctx;
	uint32_t n = 0;

	if (!blocking(s))
		return 0;
	for (struct CUstream_st *o = ctx->streams; o; o = o->next)
		n += o != s && blocking(o) && o->completed < o->enqueued &&
		     (s == ctx->legacy || o == ctx->legacy);
	if (!n)
		return 0;
	t->after.dep = calloc(n, sizeof(*t->after.dep));
	if (!t->after.dep)
		return -1;
	for (struct CUstream_st *o = ctx->streams; o; o = o->next) {
		if (o == s || !blocking(o) || o->completed >= o->enqueued ||
		    (s != ctx->legacy && o != ctx->legacy))
			continue;
		o->refs++;
		t->after.dep[t->after.ndep].stream = o;
		t->after.dep[t->after.ndep++].seq = o->enqueued;
	}
	return 0;
}

CUresult emu_stream_enqueue(struct CUstream_st *s, struct emu_task *t, uint64_t *seq)
{
	struct CUctx_st *ctx = s->ctx;
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	if (seq)
		*seq = 0;
	if (emu_capture_take(s, t, &rc))
		return rc;
	pthread_mutex_lock(&ctx->mutex);
	if (!s->started) {
		pthread_attr_t attr;
		pthread_t thread;

		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		if (pthread_create(&thread, &attr, stream_main, s) == 0) {
			s->started = 1;
			s->refs++;
		}
		pthread_attr_destroy(&attr);
	}
	if (s->started && !dependencies(s, t) && !emu_channel_enter(s, t)) {
		if (t->event)
			t->event->refs++;
		if (t->kind == EMU_T_RECORD)
			t->a = ++t->event->recorded;
		else if (t->kind == EMU_T_WAIT_EVENT)
			t->a = t->event->recorded;
		t->seq = ++s->enqueued;
		t->ticket = ++ctx->tickets;
		if (seq)
			*seq = t->seq;
		*s->tail = t;
		s->tail = &t->next;
		pthread_cond_signal(&s->work);
		rc = CUDA_SUCCESS;
	} else {
		t->event = NULL;
	}
	pthread_mutex_unlock(&ctx->mutex);
	if (rc != CUDA_SUCCESS)
		emu_task_free(ctx, t);
	return rc;
}

CUresult emu_stream_wait(struct CUstream_st *s, uint64_t seq)
{
	struct CUctx_st *ctx = s->ctx;

	pthread_mutex_lock(&ctx->mutex);
	s->refs++;
	while (s->completed < seq)
		pthread_cond_wait(&ctx->changed, &ctx->mutex);
	emu_stream_release(s);
	pthread_mutex_unlock(&ctx->mutex);
	return atomic_load(&ctx->error);
}

CUresult emu_stream_query(struct CUstream_st *s)
{
	int busy;

	pthread_mutex_lock(&s->ctx->mutex);
	busy = s->completed < s->enqueued;
	pthread_mutex_unlock(&s->ctx->mutex);
	if (atomic_load(&s->ctx->error))
		return atomic_load(&s->ctx->error);
	return busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

/* All work enqueued before the call. */
CUresult emu_ctx_wait(struct CUctx_st *ctx)
{
	struct emu_dep dep[256];
	uint32_t n = 0;

	pthread_mutex_lock(&ctx->mutex);
	for (struct CUstream_st *s = ctx->streams; s && n < 256; s = s->next) {
		if (s->completed >= s->enqueued)
			continue;
		s->refs++;
		dep[n].stream = s;
		dep[n++].seq = s->enqueued;
	}
	for (uint32_t i = 0; i < n; i++) {
		while (dep[i].stream->completed < dep[i].seq)
			pthread_cond_wait(&ctx->changed, &ctx->mutex);
		emu_stream_release(dep[i].stream);
	}
	pthread_mutex_unlock(&ctx->mutex);
	return atomic_load(&ctx->error);
}

int emu_ctx_busy(struct CUctx_st *ctx)
{
	int busy = 0;

	pthread_mutex_lock(&ctx->mutex);
	for (struct CUstream_st *s = ctx->streams; s; s = s->next)
		busy |= s->completed < s->enqueued;
	pthread_mutex_unlock(&ctx->mutex);
	return busy;
}
