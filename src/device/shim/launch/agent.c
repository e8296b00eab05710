/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent thread; see agent.h.  It sleeps on the page's doorbell. */
#define _GNU_SOURCE
#include "device/shim/launch/agent.h"

#include <pthread.h>
#include <time.h>

#include "common/clock.h"
#include "common/slice.h"
#include "common/thread.h"
#include "device/shim/base/counted.h"
#include "device/shim/context/copy_barrier.h"
#include "device/shim/context/launch_barrier.h"
#include "device/shim/kernel/kernels.h"
#include "device/shim/launch/evict.h"
#include "device/shim/launch/force.h"
#include "device/shim/launch/grant.h"
#include "device/shim/launch/facts.h"
#include "device/shim/launch/request.h"
#include "device/shim/launch/untracked.h"

/* How long after a launch without a slot the daemon may not know of it, at first and at most; and
 * how long the agent tries to report the rest at exit. */
#define TELL_FIRST_NS (50 * GS_NS_PER_MS)
#define TELL_NS (1 * GS_NS_PER_S)
#define TELL_LAST_NS (200 * GS_NS_PER_MS)
#define RECONNECT_NS (250 * GS_NS_PER_MS)
#define RECONNECT_MAX_NS (10 * GS_NS_PER_S)
#define RECONNECT_TIMEOUT_MS 1000

struct agent {
	struct shim_session *session;
	struct shim_evictor evictor;
	uint32_t heard;   /* value of the doorbell at the last check */
	uint64_t tell_ns; /* when launches are reported to the daemon next */
	/*
	 * interval of those reports; it doubles, and is short at first since a program may end soon
	 */
	uint64_t tell_step_ns;
	int tell_anyway;            /* report all, since the daemon is a new one */
	uint64_t reconnect_ns;      /* when to try to reconnect next */
	uint64_t reconnect_step_ns; /* doubles while a daemon refuses this process */
};

static pthread_t thread;

/* Takes the time slice as the daemon would; nobody else writes that word while no daemon is there.
 * Kernels on the GPU finish, and the next launch finds that the time slice is over. */
static void return_grant(struct shim_session *s)
{
	atomic_store(&s->page->grant, 0);
	gs_page_doorbell(s->page);
}

static void keep_connection(struct agent *a)
{
	struct shim_session *s = a->session;
	uint64_t now = gs_clock_ns();
	struct gs_error err;

	if (s->connected && !gs_client_alive(s->client)) {
		s->connected = 0;
		shim_log("the connection to gpushared has ended");
		/* no daemon is left to release a pre-enqueued launch */
		gs_page_store(s->page->preenqueue, 0);
		shim_copy_barrier_leave_open(s);
		shim_launch_barrier_leave_open(s);
		a->reconnect_step_ns = RECONNECT_NS;
		a->reconnect_ns = now + RECONNECT_NS;
		if (s->absent != GS_ABSENT_RUN)
			return_grant(s);
	}
	if (s->connected || s->sent_away || s->alone)
		return;
	if (s->absent == GS_ABSENT_RUN && !gs_page_load(s->page->grant)) {
		gs_page_store(s->page->grant, 1);
		gs_page_doorbell(s->page);
	}
	if (now < a->reconnect_ns)
		return;
	if (shim_session_connect(s, RECONNECT_TIMEOUT_MS, &err) < 0) {
		a->reconnect_ns = now + a->reconnect_step_ns;
		if (!s->refused) /* do not notify the user of a quick restart */
			shim_session_say_absent(s);
		/* While its memory is on the host it is told to wait. Once that is back gpushared
		 * must know of it soon. */
		if (s->refused == GS_CLIENT_WAITS)
			a->reconnect_step_ns = RECONNECT_NS;
		else if (s->refused && a->reconnect_step_ns < RECONNECT_MAX_NS)
			a->reconnect_step_ns *= 2;
		return;
	}
	shim_kernels_announce(s);
	gs_client_doorbell(s->client);
	a->tell_anyway = 1;
	a->tell_ns = 0;
	shim_log("managed again");
}

static void tell_of_launches(struct agent *a)
{
	uint64_t now = gs_clock_ns();

	if (now < a->tell_ns)
		return;
	if (shim_untracked_tell(a->session, a->tell_anyway) == 0 &&
	    shim_facts_tell(a->session, a->tell_anyway) == 0)
		a->tell_anyway = 0;
	a->tell_ns = now + a->tell_step_ns;
	if (a->tell_step_ns < TELL_NS)
		a->tell_step_ns *= 2;
}

static void tell_of_the_last(struct shim_session *s)
{
	static const struct timespec nap = { 0, GS_NS_PER_MS };
	uint64_t until = gs_clock_ns() + TELL_LAST_NS;

	while ((shim_untracked_tell(s, 1) < 0 || shim_facts_tell(s, 0) < 0) && s->connected &&
	       gs_clock_ns() < until)
		nanosleep(&nap, NULL);
}

/* If the doorbell has rung while an evicted kernel waits, its time slice is near, and a wake-up
 * would take long: stays awake for a while. Returns 1 if the slots should be inspected again. */
static int stay_awake(struct agent *a, uint32_t doorbell)
{
	struct gs_page *page = a->session->page;
	uint64_t until = gs_clock_ns() + SHIM_GRANT_SPIN_NS;
	int rung = doorbell != a->heard;

	a->heard = doorbell;
	if (!rung || !a->evictor.waits || !a->session->connected)
		return 0;
	while (gs_clock_ns() < until) {
		if (gs_page_load(page->doorbell) != doorbell || gs_page_load(page->grant))
			return 1;
		__builtin_ia32_pause();
	}
	return 0;
}

static void *run(void *arg)
{
	struct agent a = { .session = arg,
			   .evictor = { .session = arg },
			   .reconnect_step_ns = RECONNECT_NS,
			   .tell_step_ns = TELL_FIRST_NS };
	struct shim_session *s = a.session;
	struct shim_force force = { 0 };

	/* the program's threads may be spinning on the processor where this one wakes */
	gs_slice_short();
	while (!s->stopping) {
		uint32_t doorbell = gs_page_load(s->page->doorbell);
		uint64_t nap = shim_evictor_inspect(&a.evictor);

		if (s->alone)
			shim_force_step(&force, s, gs_clock_ns(), &nap);
		nap = shim_copy_barrier_step(s, gs_clock_ns(), nap);
		shim_launch_reap(s);
		/* Launches read this cache line of the page, so it is written only if the value
		 * changes. */
		if (gs_page_load(s->page->heard) != doorbell)
			gs_page_store(s->page->heard, doorbell);
		keep_connection(&a);
		shim_counted_follow(s->page); /* the daemon's settings may have changed */
		shim_launch_find_again();
		tell_of_launches(&a);
		if (!stay_awake(&a, doorbell))
			gs_page_wait(s->page, doorbell, nap);
	}
	/*
	 * Measure also what has ended since the last inspection; the daemon polls a last time, too.
	 */
	shim_launch_reap(s);
	tell_of_the_last(s);
	return NULL;
}

int shim_agent_start(struct shim_session *s)
{
	/* The agent blocks all signals, so that the program's handlers never run on it. */
	if (gs_thread_start(&thread, 0, run, s) < 0)
		return -1;
	pthread_setname_np(thread, "gpushare");
	return 0;
}

void shim_agent_stop(struct shim_session *s)
{
	struct timespec until;

	if (atomic_exchange(&s->stopping, 1))
		return; /* another caller joins the thread */
	gs_page_doorbell(s->page);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_timedjoin_np(thread, NULL, &until);
}
