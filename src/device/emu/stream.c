/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams: queues, each with a thread that executes them in order.  A stream
 * that waits blocks itself, and what is behind it in its channel (channel.h).
 *
 * The legacy default stream ("Default stream", CUDA C++ Programming Guide): its
 * work waits for all earlier work of the context's blocking streams, and
 * their work waits for all earlier work of it; both become dependencies on
 * sequence numbers when the task is enqueued.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/emu/checkpoint.h"
#include "device/emu/emu.h"

#define TASK_CYCLES \
	1000 /* of the deterministic clock, for what a task takes beside its instructions */

uint64_t emu_now_ns(void)
{
	const _Atomic uint64_t *cycles = emu_engine_cycles(emu.engine);
	struct timespec ts;

	if (cycles)
		return (uint64_t)((double)atomic_load(cycles) * 1e6 / emu.config->clock_khz);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct emu_task *emu_task_new(enum emu_task_kind kind)
{
	struct emu_task *t = calloc(1, sizeof(*t));

	if (t)
		t->kind = kind;
	return t;
}

struct CUevent_st *emu_event_create(struct CUctx_st *ctx, unsigned int flags)
{
	struct CUevent_st *ev = emu_handle_take(EMU_H_EVENT, sizeof(*ev), 0);

	if (!ev)
		return NULL;
	ev->ctx = ctx;
	ev->flags = flags;
	ev->refs = 1;
	pthread_mutex_lock(&ctx->mutex);
	ev->next = ctx->events;
	ctx->events = ev;
	pthread_mutex_unlock(&ctx->mutex);
	ev->magic = EMU_MAGIC_EVENT;
	return ev;
}

void emu_event_release(struct CUevent_st *ev)
{
	if (!ev || --ev->refs)
		return;
	for (struct CUevent_st **p = &ev->ctx->events; *p; p = &(*p)->next) {
		if (*p == ev) {
			*p = ev->next;
			break;
		}
	}
	free(ev->capture_deps.v);
	emu_handle_put(EMU_H_EVENT, ev);
}

/* Context mutex held. */
static void stream_release(struct CUstream_st *s)
{
	if (--s->refs)
		return;
	for (struct CUstream_st **p = &s->ctx->streams; *p; p = &(*p)->next) {
		if (*p == s) {
			*p = s->next;
			break;
		}
	}
	pthread_cond_broadcast(&s->ctx->changed);
	emu_handle_put(EMU_H_STREAM, s);
}

void emu_task_free(struct CUctx_st *ctx, struct emu_task *t)
{
	pthread_mutex_lock(&ctx->mutex);
	for (uint32_t i = 0; i < t->ndep; i++)
		stream_release(t->dep[i].stream);
	emu_event_release(t->event);
	pthread_mutex_unlock(&ctx->mutex);
	if (t->grid)
		free(t->grid->param);
	free(t->grid);
	free(t->dep);
	free(t->buffer);
	free(t);
}

/* Nobody is told when a value in memory changes: kernels, copies and the host write it. */
static pthread_mutex_t value_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t value_cond = PTHREAD_COND_INITIALIZER;
static uint64_t value_changes;

void emu_memory_changed(void)
{
	pthread_mutex_lock(&value_mutex);
	value_changes++;
	pthread_cond_broadcast(&value_cond);
	pthread_mutex_unlock(&value_mutex);
}

/* CUDA driver API, CUstreamWaitValue_flags. */
static int value_there(const struct emu_task *t)
{
	uint64_t v;

	if (t->d == 8) {
		v = __atomic_load_n((uint64_t *)(uintptr_t)t->a, __ATOMIC_SEQ_CST);
		switch (t->c & 3) {
		case CU_STREAM_WAIT_VALUE_GEQ:
			return (int64_t)(v - t->b) >= 0;
		case CU_STREAM_WAIT_VALUE_EQ:
			return v == t->b;
		case CU_STREAM_WAIT_VALUE_AND:
			return (v & t->b) != 0;
		default:
			return ~(v | t->b) != 0;
		}
	}
	v = __atomic_load_n((uint32_t *)(uintptr_t)t->a, __ATOMIC_SEQ_CST);
	switch (t->c & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return (int32_t)((uint32_t)v - (uint32_t)t->b) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return (uint32_t)v == (uint32_t)t->b;
	case CU_STREAM_WAIT_VALUE_AND:
		return ((uint32_t)v & (uint32_t)t->b) != 0;
	default:
		return (uint32_t) ~(v | t->b) != 0;
	}
}

/* Between two looks at a value, ns.  That of device memory mostly comes with emu_memory_changed();
 * the host's (t->e) without. */
#define PAUSE_LEAST_NS 20000
#define PAUSE_MOST_NS 1000000
#define PAUSE_MOST_HOST_NS 160000

static void wait_value(struct CUctx_st *ctx, const struct emu_task *t)
{
	long pause = PAUSE_LEAST_NS, most = t->e ? PAUSE_MOST_HOST_NS : PAUSE_MOST_NS;

	pthread_mutex_lock(&value_mutex);
	while (!value_there(t) && !atomic_load(&ctx->error)) {
		uint64_t seen = value_changes;
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += pause;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_clockwait(&value_cond, &value_mutex, CLOCK_MONOTONIC, &until);
		pause = seen != value_changes ? PAUSE_LEAST_NS : pause < most ? pause * 2 : most;
	}
	pthread_mutex_unlock(&value_mutex);
}

/* Does the task, the first of its stream, wait for something of the host's or of another stream?
 * Context mutex held. */
static int waits(const struct emu_task *t)
{
	for (uint32_t i = 0; i < t->ndep; i++)
		if (t->dep[i].stream->completed < t->dep[i].seq)
			return 1;
	return (t->kind == EMU_T_WAIT_EVENT && t->event->done < t->a) ||
	       (t->kind == EMU_T_WAIT_VALUE && !value_there(t));
}

/*
 * The deterministic device: tasks of a context begin in the order in which the
 * program enqueued them, except behind those that wait, and so do not overlap.
 * Context mutex held.
 */
static int in_order(const struct CUstream_st *s, const struct emu_task *t)
{
	for (struct CUstream_st *o = s->ctx->streams; o; o = o->next) {
		const struct emu_task *x = o->running ? o->running : o->head;

		if (o != s && x && x->ticket < t->ticket && !waits(x) &&
		    !emu_channel_behind(s->ctx, x))
			return 0;
	}
	return 1;
}

void emu_task_execute(struct CUstream_st *s, struct emu_task *t)
{
	struct CUctx_st *ctx = s->ctx;
	CUresult rc = CUDA_SUCCESS;

	pthread_mutex_lock(&ctx->mutex);
	emu_channel_wait_until(ctx, t);
	for (uint32_t i = 0; i < t->ndep; i++)
		while (t->dep[i].stream->completed < t->dep[i].seq)
			pthread_cond_wait(&ctx->changed, &ctx->mutex);
	if (t->kind == EMU_T_WAIT_EVENT)
		while (t->event->done < t->a && !atomic_load(&ctx->error))
			pthread_cond_wait(&ctx->changed, &ctx->mutex);
	if (emu.config->deterministic && !t->front) {
		while (!in_order(s, t) && !atomic_load(&ctx->error))
			pthread_cond_wait(&ctx->changed, &ctx->mutex);
		emu_engine_pass(emu.engine, TASK_CYCLES);
	}
	if (t->kind == EMU_T_RECORD) {
		t->event->done = t->a;
		t->event->when_ns = emu_now_ns();
	}
	emu_channel_begin(ctx, t);
	pthread_mutex_unlock(&ctx->mutex);
	emu_checkpoint_present();
	if (atomic_load(&ctx->error) && !t->always)
		return;
	switch (t->kind) {
	case EMU_T_KERNEL:
		emu_engine_run(emu.engine, t->grid, s->priority);
		rc = emu_fault_result(t->grid);
		emu_memory_changed();
		break;
	case EMU_T_WAIT_VALUE:
		wait_value(ctx, t);
		break;
	case EMU_T_FN:
		rc = t->fn(ctx, t);
		emu_memory_changed();
		break;
	default:
		break;
	}
	if (rc != CUDA_SUCCESS) {
		CUresult none = CUDA_SUCCESS;

		atomic_compare_exchange_strong(&ctx->error, &none, rc);
		emu_memory_changed();
	}
}

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
	stream_release(s);
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
	stream_release(s);
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
	t->dep = calloc(n, sizeof(*t->dep));
	if (!t->dep)
		return -1;
	for (struct CUstream_st *o = ctx->streams; o; o = o->next) {
		if (o == s || !blocking(o) || o->completed >= o->enqueued ||
		    (s != ctx->legacy && o != ctx->legacy))
			continue;
		o->refs++;
		t->dep[t->ndep].stream = o;
		t->dep[t->ndep++].seq = o->enqueued;
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
	stream_release(s);
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
		stream_release(dep[i].stream);
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
