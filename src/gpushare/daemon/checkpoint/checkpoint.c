/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides whose memory is taken back, and when it returns; see checkpoint.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/checkpoint/idle.h"
#include "gpushare/daemon/checkpoint/noticed.h"
#include "gpushare/daemon/checkpoint/room.h"
#include "gpushare/daemon/checkpoint/suspend.h"
#include "gpushare/daemon/gpu/figures.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/checkpoint/checkpoint_core.h"
#include "gpushare/memory/victims.h"

#define MIB(bytes) ((bytes) >> 20)
/* After a failure the same allocation is left alone for so many times as long as the attempt took,
 * and for RETRY_NS at least: while it is to leave, its program has the GPU to itself. */
#define RETRY_NS (30 * GS_NS_PER_S)
#define RETRY_TIMES 4
/* How often to see whether a program of an earlier daemon has come back. */
#define COME_BACK_POLL_NS GS_NS_PER_S

void gs_checkpoint_destroy(struct gs_checkpoint *t)
{
	if (!t)
		return;
	gs_noticed_end(t->d);
	gs_checkpointer_abandon(t->checkpointer);
	gs_event_free(t->timer);
	free(t);
}

/* The highest priority of its steps. */
static int32_t priority_of(const struct gs_daemon *d, const struct gs_alloc *a)
{
	const struct gs_step *s;
	int32_t priority = INT32_MIN;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc == a && s->priority > priority)
			priority = s->priority;
	return priority;
}

/* Those that are idle are below everybody; idle: they alone. */
static size_t candidates(struct gs_daemon *d, const struct gs_device *dev, uint64_t now, int idle,
			 struct gs_victim *c, uint64_t *retry_ns)
{
	const struct gs_step *s;
	size_t n = 0;

	TAILQ_FOREACH (s, &d->steps, link) {
		const struct gs_alloc *a = s->alloc;
		uint64_t keep_until_ns;
		int is_idle;

		if (a->device != dev || !a->admitted || a->away || !gs_away_is_first(d, s))
			continue;
		is_idle = gs_idle_is(d, a, now);
		if (!is_idle && (idle || !d->config->memory_preempt))
			continue;
		keep_until_ns = gs_returning_of(a) ? now + COME_BACK_POLL_NS : a->keep_until_ns;
		if (keep_until_ns > now) {
			if (keep_until_ns < *retry_ns)
				*retry_ns = keep_until_ns;
			continue;
		}
		c[n++] = (struct gs_victim) {
			.id = a->id,
			.priority = is_idle ? INT32_MIN : priority_of(d, a),
			.bytes = a->bytes,
			.host = gs_memory_used(d, a),
		};
	}
	return n;
}

static void say(struct gs_daemon *d, struct gs_alloc *first, const char *why)
{
	char name[32];

	if (strcmp(first->not_taken, why) == 0)
		return;
	snprintf(first->not_taken, sizeof(first->not_taken), "%s", why);
	gs_log(GS_LOG_INFO, "%s: no memory is taken back for it: %s",
	       gs_checkpoint_name(d, first, name, sizeof(name)), why);
}

static void refused(struct gs_checkpoint *t, struct gs_alloc *a, const char *why)
{
	struct gs_alloc *first = gs_memory_first(t->d, a->device);
	char name[32], text[sizeof(first->not_taken)];
	uint64_t now = gs_clock_ns(), pause = RETRY_TIMES * (now - t->since_ns);

	a->keep_until_ns = now + (pause > RETRY_NS ? pause : RETRY_NS);
	gs_suspend_failed(t->d, a, why);
	snprintf(text, sizeof(text), "%s keeps it: %s",
		 gs_checkpoint_name(t->d, a, name, sizeof(name)), why);
	if (first)
		say(t->d, first, text);
	else
		gs_log(GS_LOG_INFO, "%s", text);
}

static gs_checkpoint_lost_listener *end_job;

void gs_checkpoint_on_lost(gs_checkpoint_lost_listener *listener)
{
	end_job = listener;
}

static void lost(struct gs_checkpoint *t, struct gs_alloc *a, struct gs_away_process *p,
		 const char *why)
{
	char name[32], text[160];

	snprintf(text, sizeof(text), "its memory does not come back to gpu %u from the host: %.80s",
		 a->device->index, why);
	gs_log(GS_LOG_ERROR, "%s: pid %d is lost: %s",
	       gs_checkpoint_name(t->d, a, name, sizeof(name)), (int)p->pid, text);
	a->away->lost = 1;
	if (!end_job || !end_job(t->d, a, text))
		kill(p->pid, SIGKILL);
}

struct gs_checkpoint *gs_checkpoint_create(struct gs_daemon *d)
{
	struct gs_checkpoint *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->d = d;
	t->refused = refused;
	t->lost = lost;
	gs_checkpointer_warn(d->config);
	t->timer = gs_event_new(d->base, -1, 0, gs_checkpoint_timer, t);
	if (!t->timer) {
		free(t);
		return NULL;
	}
	return t;
}

/* Chooses whose memory to take, of the idle ones alone if these are enough. Returns how many were
 * chosen, or -1 with the reason. */
static int choose(struct gs_daemon *d, const struct gs_alloc *first, uint64_t now,
		  struct gs_victim *c, uint64_t *kept, struct gs_error *err)
{
	uint64_t there = gs_memory_available(first->device), used = gs_checkpoint_on_host(d);
	uint64_t limit = d->config->memory_preempt_host, host = limit > used ? limit - used : 0;
	int n = -1;

	for (int idle = 1; idle >= 0 && n < 0; idle--)
		n = gs_victims_choose(c, candidates(d, first->device, now, idle, c, kept),
				      priority_of(d, first), first->bytes - there, host, err);
	if (n < 0 && !d->config->memory_preempt)
		gs_fail(err, "too little of it is held by steps that are idle (IdleReclaim)");
	return n;
}

/* `first` waits and does not fit: returns 1 if memory is being taken for it. */
static int take_for(struct gs_checkpoint *t, struct gs_alloc *first, uint64_t now,
		    uint64_t *retry_ns)
{
	struct gs_victim c[GS_STEPS_MAX];
	struct gs_daemon *d = t->d;
	uint64_t kept = UINT64_MAX;
	struct gs_error err;
	struct gs_step *s;
	char name[32], whose[32];
	int chosen;

	if (first->bytes <= gs_memory_available(first->device))
		return 0; /* it will be admitted in a moment */
	if (now < gs_returning_until_ns()) {
		if (gs_returning_until_ns() < *retry_ns)
			*retry_ns = gs_returning_until_ns();
		return 0;
	}
	if (d->config->idle_reclaim_ns)
		gs_devices_sync(d, 0); /* find out what each step does */
	chosen = choose(d, first, now, c, &kept, &err);
	if (kept < *retry_ns)
		*retry_ns = kept;
	if (chosen < 0) {
		/* Keep the reason of a failure: it says more than that there is no other
		 * allocation. */
		if (kept == UINT64_MAX || !*first->not_taken)
			say(d, first, err.text);
		return 0;
	}
	/* Check this before waiting for its kernels. */
	if (gs_checkpointer_check(d->config, &err) < 0) {
		say(d, first, err.text);
		if (now + RETRY_NS < *retry_ns)
			*retry_ns = now + RETRY_NS;
		return 0;
	}
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc->device == first->device && s->alloc->id == c[0].id)
			break;
	gs_log(GS_LOG_INFO,
	       "%s: its memory is taken back for %s: %" PRIu64 " MiB, %" PRIu64 " in use%s",
	       gs_checkpoint_name(d, s->alloc, whose, sizeof(whose)),
	       gs_checkpoint_name(d, first, name, sizeof(name)), MIB(s->alloc->bytes),
	       MIB(c[0].host), c[0].priority == INT32_MIN ? ": it is idle" : "");
	gs_checkpoint_leave(t, s->alloc, c[0].priority == INT32_MIN);
	return 1;
}

/* Makes the allocations that are on the host wait for memory again, like any other. */
static void queue_all(struct gs_daemon *d)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link) {
		struct gs_alloc *a = s->alloc;
		struct gs_error err;
		char name[32];
		int fits;

		if (!a->away || !a->away->released || a->away->queued || a->away->idle ||
		    gs_suspend_keeps(a))
			continue;
		/* The allocation for which it was taken may be gone, or may not have fitted after
		 * all. */
		fits = a->bytes <= gs_memory_available(a->device);
		if (gs_memory_arrive(a, priority_of(d, a), fits, &err) < 0)
			gs_log(GS_LOG_ERROR, "%s: does not get its memory back: %s",
			       gs_checkpoint_name(d, a, name, sizeof(name)), err.text);
		a->away->queued = 1;
		a->said = 0;
	}
}

/* Has one of its processes not returned when it was tried? */
static int has_failed(const struct gs_away *away)
{
	const struct gs_away_process *p;

	LIST_FOREACH (p, &away->processes, link)
		if (p->failed)
			return 1;
	return 0;
}

/* Is x to be tried before y? Those that have not failed go first, and among equals the one that was
 * due first: an attempt may take long, and in the steps' order the first steps would get each of
 * them. */
static int returns_before(const struct gs_away *x, const struct gs_away *y)
{
	int failed = has_failed(x);

	return failed != has_failed(y) ? !failed : x->again_ns < y->again_ns;
}

/*
 * The next allocation that should return: it has its reservation again, or never gave it up. One
 * with a process that does not return (it is stopped, for example) must not keep the others from
 * returning.
 */
static struct gs_alloc *next_return(struct gs_daemon *d, uint64_t now, uint64_t *retry_ns)
{
	struct gs_alloc *next = NULL;
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link) {
		struct gs_alloc *a = s->alloc;
		struct gs_away *away = a->away;

		/* Once the lost process is gone the job's other processes continue. */
		if (!away || (away->lost && !LIST_EMPTY(&away->processes)) ||
		    !(a->admitted || !away->released))
			continue;
		if (next && !returns_before(away, next->away))
			continue;
		if (away->again_ns <= now && !gs_away_is_being_moved(d, away, now) &&
		    gs_room_for(d, a, now))
			next = a;
		else if (away->again_ns < *retry_ns)
			*retry_ns = away->again_ns;
	}
	return next;
}

static int takes_memory(const struct gs_config *c)
{
	return c->memory_preempt || c->idle_reclaim_ns;
}

uint64_t gs_checkpoint_step(struct gs_daemon *d, uint64_t now)
{
	struct gs_checkpoint *t = d->checkpoint;
	uint64_t retry_ns = UINT64_MAX;
	struct gs_alloc *a;

	if (!t || t->phase != GS_TAKE_IDLE)
		return UINT64_MAX;
	retry_ns = gs_idle_poll(d, now);
	if (gs_suspend_step(t, now, &retry_ns))
		return t->phase == GS_TAKE_IDLE ? now : UINT64_MAX;
	gs_suspend_answer(d);
	for (size_t i = 0; i < d->ndevice && takes_memory(d->config); i++) {
		a = next_return(d, now, &retry_ns);
		/* Who is tried once more waits for those that memory is taken for. */
		a = a && !has_failed(a->away) ? NULL : gs_memory_first(d, &d->device[i]);
		if (a && take_for(t, a, now, &retry_ns))
			return t->phase == GS_TAKE_IDLE ? now : UINT64_MAX;
	}
	queue_all(d);
	a = next_return(d, now, &retry_ns);
	if (a)
		gs_checkpoint_return(t, a);
	return a && t->phase == GS_TAKE_IDLE ? now : retry_ns;
}

void gs_checkpoint_connection_gone(struct gs_connection *conn)
{
	struct gs_checkpoint *t = conn->d->checkpoint;
	struct gs_away *away = conn->step && conn->step->alloc ? conn->step->alloc->away : NULL;
	struct gs_away_process *p, *next;

	for (p = away ? LIST_FIRST(&away->processes) : NULL; p; p = next) {
		next = LIST_NEXT(p, link);
		if (p->conn != conn)
			continue;
		if (!t) { /* the daemon is ending, not the process: the state file must keep it */
			p->conn = NULL;
			continue;
		}
		if (t->process == p)
			t->process = NULL;
		gs_checkpoint_drop(p);
	}
}

void gs_checkpoint_alloc_gone(struct gs_daemon *d, struct gs_alloc *a)
{
	struct gs_checkpoint *t = d->checkpoint;
	struct gs_away_process *p;

	gs_noticed_forget(a);
	if (!a->away)
		return;
	while ((p = LIST_FIRST(&a->away->processes)))
		gs_checkpoint_drop(p);
	free(a->away);
	a->away = NULL;
	if (!t || t->alloc != a)
		return;
	t->alloc = NULL;
	t->process = NULL;
	if (!t->checkpointer) {
		evtimer_del(t->timer);
		t->phase = GS_TAKE_IDLE;
	}
}

/* Nothing has moved yet while the first process finishes its kernels, which may take
 * preempt_timeout of MemoryParameters. */
static const char *where(const struct gs_away *away)
{
	const struct gs_away_process *p;

	LIST_FOREACH (p, &away->processes, link)
		if (away->no_room)
			return "its memory is on the host: what it wants is not free on the GPU";
		else if (away->idle && away->released)
			return "its memory is on the host until it uses the GPU again";
		else if (p->parked ||
			 !p->conn) /* no connection: it was on the host before this daemon began */
			return "its memory is on the host";
	if (away->idle && away->released)
		return "its memory is on the host until it uses the GPU again";
	return away->released ? "its memory is on the host" :
				"its memory goes to the host when its kernels are over";
}

void gs_checkpoint_why(const struct gs_alloc *a, char *buf, size_t size)
{
	size_t at = strlen(buf);

	if (a->away)
		snprintf(buf + at, size - at, "%s%s", at ? ", " : "", where(a->away));
	else if (*a->not_taken)
		snprintf(buf + at, size - at, "%sno memory is taken back: %s", at ? ", " : "",
			 a->not_taken);
}
