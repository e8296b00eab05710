/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for more urgent clients in the stream; see launch_barrier.h. */
#define _GNU_SOURCE
#include "device/shim/context/launch_barrier.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "common/clock.h"
#include "common/thread.h"
#include "device/shim/context/channels.h"

/* Longer than the daemon closes it (arbiter/launch_barrier.h). */
#define CLOSED_MOST_NS (25 * GS_NS_PER_MS)
/* How often it is polled whether it has been closed for longer: while there may be waits in
 * streams, and when none has been enqueued of late. */
#define POLL_NS (5 * GS_NS_PER_MS)
#define POLL_IDLE_NS (20 * GS_NS_PER_MS)
/* A launch of unknown time counts as so long. */
#define UNKNOWN_NS (50 * GS_NS_PER_US)
/* until_ns is no later than this: the daemon takes only 1 ms for true, by its own clock. */
#define UNTIL_MOST_NS (900 * GS_NS_PER_US)
/* Streams of a thread whose latest wait is known. With more of them in turns each launch gets one.
 */
#define STREAMS 4

/* ---- opening it ------------------------------------------------------------------------------ */

/* Whether there is a thread that opens it. */
static _Atomic enum { WATCH_NOT, WATCH_STARTING, WATCH_ON, WATCH_FAILED } watching;

/* Looks after the barrier until the process ends: a wait may have been in a stream for long when
 * the GPU comes to it. It must not enter the driver, in which another thread may hold the lock
 * while it waits behind the barrier. */
static void *watch(void *arg)
{
	const struct shim_session *s = arg;
	struct gs_priorities *p = &s->page->priorities;
	uint64_t closed_ns = 0; /* found closed since then; 0: it was open */
	uint32_t closings = 0;  /* by then */

	for (;;) {
		struct timespec nap = { 0,
					gs_page_load(p->wait_every_us) ? POLL_NS : POLL_IDLE_NS };
		uint64_t now = gs_clock_ns();

		if (!shim_launch_barrier_is_closed(s->page)) {
			closed_ns = 0;
		} else if (!closed_ns || closings != gs_page_load(p->closings)) {
			closed_ns = now;
			closings = gs_page_load(p->closings);
		} else if (now - closed_ns > CLOSED_MOST_NS) {
			gs_page_store(p->launches_open, 1);
			closed_ns = 0;
		}
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	}
	return NULL;
}

/* Returns 0 if nobody would open the barrier. The thread is started by the first who asks. */
static int is_watched(struct shim_session *s)
{
	pthread_t thread;
	int was = WATCH_NOT;

	if (!atomic_compare_exchange_strong(&watching, &was, WATCH_STARTING))
		return was == WATCH_ON;
	if (gs_thread_start(&thread, 0, watch, s) < 0) {
		atomic_store(&watching, WATCH_FAILED);
		shim_log("no thread can be started that looks after the launch barrier; launches "
			 "do not wait for more urgent clients");
		return 0;
	}
	pthread_setname_np(thread, "gpushare-open");
	pthread_detach(thread);
	atomic_store(&watching, WATCH_ON);
	return 1;
}

void shim_launch_barrier_leave_open(struct shim_session *s)
{
	gs_page_store(s->page->priorities.wait_every_us, 0);
	gs_page_store(s->page->priorities.tell, GS_LAUNCH_TELL_NOT);
	gs_page_store(s->page->priorities.launches_open, 1);
}

void shim_launch_barrier_forked(void)
{
	atomic_store(&watching, WATCH_NOT);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* What this thread has launched in a stream since it enqueued a wait there: predicted time. Threads
 * that take turns in a stream each enqueue waits of their own. */
static __thread struct {
	struct since_wait {
		CUstream stream;
		uint64_t ns; /* 0: this entry is free */
	} of[STREAMS];
	unsigned next; /* the entry that the next stream gets */
} waits;

static int is_due(CUstream stream, uint64_t ns, uint64_t every_ns)
{
	struct since_wait *w = waits.of, *end = w + STREAMS;

	while (w < end && !(w->ns && w->stream == stream))
		w++;
	if (w < end && ns && w->ns + ns <= every_ns) {
		w->ns += ns;
		return 0;
	}
	if (w == end)
		w = &waits.of[waits.next++ % STREAMS];
	*w = (struct since_wait) { stream, ns ? ns : every_ns };
	return 1;
}

/* Once: it is so for all launches while others are more urgent. */
static void say(uint64_t every_ns)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		shim_log("others are more urgent: launches wait for them in their streams, once "
			 "for %llu us of kernels",
			 (unsigned long long)(every_ns / GS_NS_PER_US));
}

int shim_launch_barrier_wait(struct shim_session *s, const struct shim_context *c, CUstream stream,
			     uint64_t ns)
{
	uint64_t every_ns = gs_page_load(s->page->priorities.wait_every_us) * GS_NS_PER_US;
	size_t open = offsetof(struct gs_page, priorities.launches_open);

	/* With few connections a stream that waits would hold up all others. When the process ends,
	 * nobody may be left who opens the barrier. */
	if (!every_ns || s->stopping || !c->may_preenqueue || !shim_channels_busy() ||
	    !is_watched(s) || !is_due(stream, ns, every_ns))
		return 0;
	say(every_ns);
	return REAL(cuStreamWaitValue32_v2)(stream, c->page + open, 1, CU_STREAM_WAIT_VALUE_GEQ) ==
	       CUDA_SUCCESS;
}

/* ---- telling --------------------------------------------------------------------------------- */

static uint64_t later(uint64_t until, uint64_t now, uint64_t ns)
{
	until = (until > now ? until : now) + (ns ? ns : UNKNOWN_NS);
	return until - now < UNTIL_MOST_NS ? until : now + UNTIL_MOST_NS;
}

void shim_launch_barrier_tell(struct shim_session *s, uint64_t ns)
{
	struct gs_priorities *p = &s->page->priorities;
	uint32_t next = GS_LAUNCH_TELL_NEXT;
	uint64_t now, until;

	if (gs_page_load(p->tell) == GS_LAUNCH_TELL_NOT)
		return;
	now = gs_clock_ns();
	until = gs_page_load(p->until_ns);
	while (!atomic_compare_exchange_weak(&p->until_ns, &until, later(until, now, ns)))
		;
	if (atomic_load(&p->tell) == GS_LAUNCH_TELL_NEXT &&
	    atomic_compare_exchange_strong(&p->tell, &next, GS_LAUNCH_TELL_SEEN) &&
	    gs_page_load(s->page->attended))
		gs_page_request(s->page);
}
