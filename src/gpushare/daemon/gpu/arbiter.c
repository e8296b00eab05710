/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread of one GPU; see arbiter.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/gpu/arbiter.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/daemon/gpu/doorbell.h"
#include "gpushare/daemon/gpu/prompt.h"

#define STACK_BYTES (512 * 1024)
/* The time between two polls: while the thread polls, and while it sleeps in between. */
#define POLL_NS (1 * GS_NS_PER_US)
#define POLL_ASLEEP_NS (100 * GS_NS_PER_US)
/* How often the thread decides whether to poll, and how often it reads the load to see whether that
 * would take a job's processor. */
#define REVIEW_NS (1 * GS_NS_PER_MS)
#define LOAD_NS GS_NS_PER_S
/* With fewer processors on the node a polling one would be missed. */
#define PROCESSORS_LEAST 8
/*
 * A client that makes requests without end, or wakes the arbiter without making any, wakes it up to
 * REQUESTS_MOST times in a row, and then once per REQUEST_NS. So it can take only a few percent of
 * a processor; no program launches so often that this delays it.
 */
#define REQUESTS_MOST 100
#define REQUEST_NS (200 * GS_NS_PER_US)

struct call {
	void (*fn)(struct gs_gpu *gpu, void *arg);
	void *arg;
	uint64_t began_ns, took_ns; /* the thread's time on a processor */
	sem_t done;
};

struct gs_arbiter {
	struct gs_gpu *gpu;
	struct gs_arbiter_options o;
	pthread_t thread;
	int runs; /* there is a thread; used by the event loop only */
	_Atomic int over, mode, polls;
	_Atomic(struct call *) call;
	_Atomic uint32_t word; /* changed to wake the thread */
	/* Used by the thread only: */
	uint64_t reviewed_ns; /* when the load was last read */
	int may_poll;
	/* the point in time up to which requests have used up their allowance */
	uint64_t requests_ns;
};

int gs_arbiter_may_poll(enum gs_arbiter_mode mode, const struct gs_arbiter_place *p)
{
	if (mode != GS_ARBITER_AUTO)
		return mode == GS_ARBITER_POLL;
	if (p->emulated || p->processors < PROCESSORS_LEAST)
		return 0;
	return p->cpu >= 0 || p->load <= p->processors - 1.0;
}

/* ---- the thread ------------------------------------------------------- */

static int may_poll(const struct gs_arbiter *a, double load)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct gs_arbiter_place place = {
		.emulated = a->o.emulated,
		.cpu = a->o.cpu,
		.processors = processors > 0 ? (unsigned)processors : 1,
		.load = load,
	};

	return gs_arbiter_may_poll((enum gs_arbiter_mode)atomic_load(&a->mode), &place);
}

static void review(struct gs_arbiter *a, uint64_t now)
{
	double load = 0;

	if (a->reviewed_ns && now - a->reviewed_ns < LOAD_NS)
		return;
	a->reviewed_ns = now;
	if (getloadavg(&load, 1) == 1)
		load -= atomic_load(&a->polls) ? 1 : 0;
	a->may_poll = may_poll(a, load);
}

/* Decides whether to poll or to sleep. The pages say which, since clients need not wake a thread
 * that polls. */
static void decide_to_poll(struct gs_arbiter *a, uint64_t now)
{
	int polls;

	review(a, now);
	polls = a->may_poll && gs_gpu_wants_polling(a->gpu, now);
	if (polls == atomic_load(&a->polls))
		return;
	atomic_store(&a->polls, polls);
	gs_gpu_poll_every(a->gpu, polls ? POLL_NS : POLL_ASLEEP_NS);
	gs_gpu_attend(a->gpu, polls ? GS_ATTENDED_AWAKE : GS_ATTENDED);
}

static void tell_news(struct gs_arbiter *a)
{
	static const uint64_t one = 1;

	/* If the eventfd is full the loop has been notified already. */
	if (gs_gpu_has_news(a->gpu) && write(a->o.news_fd, &one, sizeof(one)) < 0 &&
	    errno != EAGAIN)
		gs_log(GS_LOG_ERROR, "gpu %u: cannot notify the event loop: %s", a->o.index,
		       strerror(errno));
}

/* Runs the loop's call, if there is one, and returns it. The loop waits until end_call(). */
static struct call *serve_call(struct gs_arbiter *a)
{
	struct call *call = atomic_load(&a->call);

	if (!call)
		return NULL;
	call->began_ns = gs_thread_clock_ns();
	call->fn(a->gpu, call->arg);
	return call;
}

/*
 * The step that a call makes necessary counts as the call's own time. It takes the longer the more
 * clients there are, and without it a user with many of them could have steps done without end.
 */
static void end_call(struct gs_arbiter *a, struct call *call)
{
	if (!call)
		return;
	call->took_ns = gs_thread_clock_ns() - call->began_ns;
	atomic_store(&a->call, NULL);
	sem_post(&call->done); /* the call is gone from here on */
}

/* Have there been so many requests that the next one must wait? woken: by a client. */
static int is_overrun(struct gs_arbiter *a, int woken, uint64_t now)
{
	if (a->requests_ns < now)
		a->requests_ns = now;
	if (woken)
		a->requests_ns += REQUEST_NS;
	return a->requests_ns > now + REQUESTS_MOST * REQUEST_NS;
}

/* Sleeps. word: the value of a->word before the state was last checked. */
static void sleep_until(struct gs_arbiter *a, uint32_t word, int overrun, uint64_t next)
{
	struct gs_doorbell doorbell[GS_DOORBELLS_MAX];
	size_t n = 1;

	doorbell[0] = (struct gs_doorbell) { &a->word, word };
	if (overrun)
		next = gs_clock_ns() + REQUEST_NS;
	else
		n += gs_gpu_doorbells(a->gpu, doorbell + 1, GS_DOORBELLS_MAX - 1);
	gs_doorbells_wait(doorbell, n, next);
}

static void *arbitrate(void *arg)
{
	struct gs_arbiter *a = arg;
	int polls = may_poll(a, 0);
	uint64_t next = 0;

	gs_be_prompt(a->o.real_time && !polls);
	/* At real-time priority a polling thread would let no other run on its processor. */
	if (a->o.real_time && polls)
		gs_be_nice();
	gs_gpu_poll_every(a->gpu, POLL_ASLEEP_NS);
	gs_gpu_attend(a->gpu, GS_ATTENDED);
	while (!atomic_load(&a->over)) {
		uint32_t word = atomic_load(&a->word);
		struct call *called = serve_call(a);
		int heard = gs_gpu_hear(a->gpu), overrun;
		uint64_t now = gs_clock_ns();

		overrun = !atomic_load(&a->polls) &&
			  is_overrun(a, heard || (!called && now < next), now);
		if (called || heard || now >= next) {
			next = gs_gpu_step(a->gpu, now);
			tell_news(a);
			decide_to_poll(a, now);
			if (atomic_load(&a->polls) && next > now + REVIEW_NS)
				next = now + REVIEW_NS;
		}
		end_call(a, called);
		if (atomic_load(&a->polls))
			__builtin_ia32_pause();
		else
			sleep_until(a, word, overrun, next);
	}
	return NULL;
}

/* ---- the loop's side -------------------------------------------------- */

struct gs_arbiter *gs_arbiter_create(struct gs_gpu *gpu, const struct gs_arbiter_options *options)
{
	struct gs_arbiter *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->gpu = gpu;
	a->o = *options;
	atomic_store(&a->mode, (int)options->mode);
	return a;
}

static void bind(struct gs_arbiter *a)
{
	cpu_set_t set;
	int rc;

	if (a->o.cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(a->o.cpu, &set);
	rc = pthread_setaffinity_np(a->thread, sizeof(set), &set);
	if (rc == 0)
		gs_log(GS_LOG_INFO, "gpu %u: its arbiter runs on processor %d", a->o.index,
		       a->o.cpu);
	else
		gs_log(GS_LOG_ERROR,
		       "gpu %u: ArbiterCpu: processor %d: %s; its arbiter runs anywhere",
		       a->o.index, a->o.cpu, strerror(rc));
}

int gs_arbiter_start(struct gs_arbiter *a, struct gs_error *err)
{
	atomic_store(&a->over, 0);
	if (gs_thread_start(&a->thread, STACK_BYTES, arbitrate, a) < 0)
		return gs_fail_errno(err, "gpu %u: cannot start its arbiter thread", a->o.index);
	a->runs = 1;
	bind(a);
	return 0;
}

static void wake(struct gs_arbiter *a)
{
	atomic_fetch_add(&a->word, 1);
	gs_doorbell_wake(&a->word);
}

void gs_arbiter_stop(struct gs_arbiter *a)
{
	if (!a->runs)
		return;
	atomic_store(&a->over, 1);
	wake(a);
	pthread_join(a->thread, NULL);
	a->runs = 0;
}

void gs_arbiter_destroy(struct gs_arbiter *a)
{
	if (!a)
		return;
	gs_arbiter_stop(a);
	gs_gpu_destroy(a->gpu);
	free(a);
}

void gs_arbiter_set_mode(struct gs_arbiter *a, enum gs_arbiter_mode mode)
{
	atomic_store(&a->mode, (int)mode);
}

void gs_arbiter_call(struct gs_arbiter *a, void (*fn)(struct gs_gpu *gpu, void *arg), void *arg)
{
	struct call call = { .fn = fn, .arg = arg };

	if (!a->runs) {
		fn(a->gpu, arg);
		return;
	}
	sem_init(&call.done, 0, 0);
	atomic_store(&a->call, &call);
	wake(a);
	while (sem_wait(&call.done) < 0)
		;
	sem_destroy(&call.done);
	gs_user_waited(call.took_ns);
}

void gs_arbiter_status(const struct gs_arbiter *a, struct gs_arbiter_status *status)
{
	struct timespec ts = { 0, 0 };
	clockid_t clock;

	status->polls = atomic_load(&a->polls);
	if (a->runs && pthread_getcpuclockid(a->thread, &clock) == 0)
		clock_gettime(clock, &ts);
	status->cpu_ns = (uint64_t)ts.tv_sec * GS_NS_PER_S + (uint64_t)ts.tv_nsec;
}
