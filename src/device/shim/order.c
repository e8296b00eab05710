/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches in passage, in the order in which they came; see order.h. */
#define _GNU_SOURCE
#include "device/shim/order.h"

#include <pthread.h>

#include "device/shim/wraps.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct shim_passage *first, **end = &first; /* under lock */
static unsigned int waiting;                       /* under lock */

/*
 * Mostly one launch is in passage, alone: then it is here and not in the list,
 * and comes and goes with one compare-and-swap each, without the lock.  NULL: nobody
 * is in passage.  `listed`: whoever is, is in the list.
 *
 * From NULL to a passage and back only that passage's thread moves it, and
 * anything else only who has the lock: to `listed`, when it puts itself and the
 * one that it found here, which came before, into the list; back to NULL when the list
 * is empty.  So whoever finds NULL has nobody in front of it, and whoever
 * finds itself replaced is in the list, or will be once it gets the lock.  A passage
 * that was found here stays valid: its thread cannot leave without the lock.
 */
static struct shim_passage listed;
static _Atomic(struct shim_passage *) sole;

/*
 * Has a kernel been held in a legacy default stream yet?  Only such a one must
 * know whether other launches' streams synchronise with it, which is a
 * question to the driver for each of them.
 */
static _Atomic int default_holds;

int shim_stream_is_legacy(CUstream stream)
{
	unsigned int flags = 0;

	if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return 1;
	return REAL(cuStreamGetFlags)(stream, &flags) != CUDA_SUCCESS ||
	       !(flags & CU_STREAM_NON_BLOCKING);
}

static int is_default(CUstream stream)
{
	return stream == NULL || stream == CU_STREAM_LEGACY;
}

/* Do the two streams order their work? */
static int ordered(const struct shim_passage *a, const struct shim_passage *b)
{
	if (a->ctx != b->ctx)
		return 0;
	/* The per-thread default streams of two threads are two streams. */
	if (a->stream == b->stream)
		return a->stream != CU_STREAM_PER_THREAD;
	return (a->lane == SHIM_LANE_DEFAULT && b->lane != SHIM_LANE_OWN) ||
	       (b->lane == SHIM_LANE_DEFAULT && a->lane != SHIM_LANE_OWN);
}

/*
 * Two that hold nothing must not meet either while a third holds a blocking stream: what
 * is enqueued in the default stream is behind that hold, and what is enqueued in
 * another blocking stream afterwards is behind it, too, though its mark "started" was not.
 */
static int in_the_way(const struct shim_passage *p)
{
	for (const struct shim_passage *at = first; at != p; at = at->next)
		if (ordered(at, p) && (at->holds || p->holds || shim_hold_is_legacy()))
			return 1;
	return 0;
}

static void append(struct shim_passage *p)
{
	p->next = NULL;
	*end = p;
	end = &p->next;
}

/* Behind everybody who is in passage. */
static __attribute__((noinline)) void enter_list(struct shim_passage *p)
{
	struct shim_passage *before;

	pthread_mutex_lock(&lock);
	before = atomic_exchange(&sole, &listed);
	if (before && before != &listed)
		append(before);
	append(p);
	while (in_the_way(p)) {
		waiting++;
		pthread_cond_wait(&left, &lock);
		waiting--;
	}
	pthread_mutex_unlock(&lock);
}

static __attribute__((noinline)) void leave_list(struct shim_passage *p)
{
	struct shim_passage **at = &first;

	pthread_mutex_lock(&lock);
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (end == &p->next)
		end = at;
	if (!first)
		atomic_store(&sole, NULL);
	if (waiting)
		pthread_cond_broadcast(&left);
	pthread_mutex_unlock(&lock);
}

void shim_order_enter(struct shim_passage *p, const struct shim_context *ctx, CUstream stream,
		      int holds, int legacy)
{
	struct shim_passage *nobody = NULL;

	p->ctx = ctx;
	p->stream = stream;
	p->holds = holds;
	if (holds && is_default(stream))
		default_holds = 1;
	/* Until then, unknown is taken for blocking: at worst one launch waits once for a stream that it need not. */
	if (!holds && !is_default(stream))
		legacy = !default_holds || shim_stream_is_legacy(stream);
	p->lane = is_default(stream) ? SHIM_LANE_DEFAULT : legacy ? SHIM_LANE_BLOCKING : SHIM_LANE_OWN;
	if (!atomic_compare_exchange_strong(&sole, &nobody, p))
		enter_list(p);
}

void shim_order_leave(struct shim_passage *p)
{
	struct shim_passage *self = p;

	if (!atomic_compare_exchange_strong(&sole, &self, NULL))
		leave_list(p);
}

void shim_order_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&left, NULL);
	first = NULL;
	end = &first;
	waiting = 0;
	atomic_store(&sole, NULL);
}
