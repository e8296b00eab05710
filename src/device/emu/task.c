/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a stream does: its tasks and events, and how one is executed; see emu.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

#include "device/emu/checkpoint_wait.h"
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

void emu_stream_release(struct CUstream_st *s)
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
	for (uint32_t i = 0; i < t->after.ndep; i++)
		emu_stream_release(t->after.dep[i].stream);
	emu_event_release(t->event);
	pthread_mutex_unlock(&ctx->mutex);
	if (t->grid)
		free(t->grid->param);
	free(t->grid);
	free(t->after.dep);
	free(t->buffer);
	free(t);
}

/* Nobody is told when a value in memory changes: kernels, copies and the host write it. */
static pthread_mutex_t value_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t value_cond; /* of the monotonic clock */
static pthread_once_t value_once = PTHREAD_ONCE_INIT;
static uint64_t value_changes;

static void make_value_cond(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&value_cond, &attr);
	pthread_condattr_destroy(&attr);
}

static void lock_values(void)
{
	pthread_once(&value_once, make_value_cond);
	pthread_mutex_lock(&value_mutex);
}

/* Waiters for values look again. */
static void memory_changed(void)
{
	lock_values();
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

/* Between two looks at a value, ns.  That of device memory mostly comes with memory_changed();
 * the host's (t->e) without. */
#define PAUSE_LEAST_NS 20000
#define PAUSE_MOST_NS 1000000
#define PAUSE_MOST_HOST_NS 160000

static void wait_value(struct CUctx_st *ctx, const struct emu_task *t)
{
	long pause = PAUSE_LEAST_NS, most = t->e ? PAUSE_MOST_HOST_NS : PAUSE_MOST_NS;

	lock_values();
	while (!value_there(t) && !atomic_load(&ctx->error)) {
		uint64_t seen = value_changes;
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += pause;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&value_cond, &value_mutex, &until);
		pause = seen != value_changes ? PAUSE_LEAST_NS : pause < most ? pause * 2 : most;
	}
	pthread_mutex_unlock(&value_mutex);
}

/* Does the task, the first of its stream, wait for something of the host's or of another stream?
 * Context mutex held. */
static int waits(const struct emu_task *t)
{
	for (uint32_t i = 0; i < t->after.ndep; i++)
		if (t->after.dep[i].stream->completed < t->after.dep[i].seq)
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
	for (uint32_t i = 0; i < t->after.ndep; i++)
		while (t->after.dep[i].stream->completed < t->after.dep[i].seq)
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
		memory_changed();
		break;
	case EMU_T_WAIT_VALUE:
		wait_value(ctx, t);
		break;
	case EMU_T_FN:
		rc = t->fn(ctx, t);
		memory_changed();
		break;
	default:
		break;
	}
	if (rc != CUDA_SUCCESS) {
		CUresult none = CUDA_SUCCESS;

		atomic_compare_exchange_strong(&ctx->error, &none, rc);
		memory_changed();
	}
}
