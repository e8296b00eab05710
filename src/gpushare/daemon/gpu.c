/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages in, decisions out; see gpu.h.
 *
 *	look    at the pages that may have changed (watch.c), tell the scheduler
 *	decide  once, unless the GPU is being drained
 *	act     give the turn, or take it: turn = 0, then every RUNNING stub
 *	        that can leave -> TOEVICT, TORUN -> READY, and ring
 *
 * Taking the turn is Dekker's handshake: the client writes RUNNING and then
 * reads `turn`, the daemon writes `turn` and then reads the stubs, both
 * sequentially consistent.  Whoever launched past the check is therefore seen,
 * at the latest, by the sweep that every look at a draining client repeats.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/tenant.h"

/* How often pages are read; a bell or a message is seen at once. */
#define POLL_DRAINING_NS (50 * GS_NS_PER_US)
#define POLL_CONTENDED_NS (500 * GS_NS_PER_US)
#define POLL_ALONE_NS (20 * GS_NS_PER_MS)
/* An eviction that takes longer than this is a long kernel: poll it slowly. */
#define DRAIN_FAST_NS (20 * GS_NS_PER_MS)
/* RUN, then KEEP; one more of each when a holder turns out to be idle. */
#define DECISIONS_PER_TURN 4

struct gs_gpu {
	uint32_t index;
	struct gs_gpu_options o;
	char policy[32];
	struct gs_sched *sched;
	LIST_HEAD(, gs_tenant) tenants;
	struct gs_tenant *holder;
	uint64_t deadline;     /* of the last decision */
	/* While the holder is being drained: */
	int draining;
	int evicting;          /* kernels were told to leave, not an idle turn taken */
	int rung;              /* the client has been told that its turn is over */
	int stopping;          /* the scheduler asked for it and waits for _stopped */
	uint32_t bell;         /* the client must have heard this one */
	uint64_t drain_since;
	uint64_t evictions, overdue;
};

/* ---- tasks ----------------------------------------------------------- */

/*
 * N_t is written when a kernel leaves the GPU; between two such reports the
 * scheduler counts the time itself, so it hears of changes only.
 */
static void task_progress(struct gs_tenant *t, const struct gs_look *look, uint64_t now)
{
	if (look->nt == t->told_nt && look->done == t->told_done &&
	    look->alone_ns == t->told_alone_ns)
		return;
	t->told_nt = look->nt;
	t->told_done = look->done;
	t->told_alone_ns = look->alone_ns;
	gs_sched_progress(t->gpu->sched, t->p.id, look->nt ? look->nt : 1, look->done,
			  look->alone_ns, now);
}

static void task_arrive(struct gs_tenant *t, const struct gs_look *look, uint64_t now)
{
	struct gs_task_params params = {
		.nt = look->nt ? look->nt : 1,
		.alone_ns = look->alone_ns,
		.priority = t->p.priority,
		.shares = t->p.shares ? t->p.shares : 1,
	};
	struct gs_error err;

	if (gs_sched_arrive(t->gpu->sched, t->p.id, &params, now, &err) < 0) {
		gs_log(GS_LOG_ERROR, "gpu %u: %s: not scheduled: %s", t->gpu->index,
		       t->p.name, err.text);
		return;
	}
	t->task = 1;
	t->told_nt = t->told_done = t->told_alone_ns = 0;
	task_progress(t, look, now);
}

static void task_leave(struct gs_tenant *t, uint64_t now)
{
	if (!t->task)
		return;
	gs_sched_leave(t->gpu->sched, t->p.id, now, NULL);
	gs_watch_period_end(&t->watch);
	t->task = 0;
}

/* Somebody besides the holder wants the GPU. */
static int contended(const struct gs_gpu *gpu)
{
	size_t others = gs_sched_count(gpu->sched);

	return others > (gpu->holder && gpu->holder->task ? 1u : 0u);
}

static void holder_looked(struct gs_tenant *t, const struct gs_look *look, uint64_t now)
{
	struct gs_gpu *gpu = t->gpu;

	if (look->ready && gs_tenant_schedule(t))
		gs_page_ring(t->p.page);
	if (t->live) {
		t->idle_since = 0;
		if (!t->task) {
			task_arrive(t, look, now);
			if (t->task)
				gs_sched_started(gpu->sched, t->p.id, now);
		}
	} else if (t->task) {
		if (!t->idle_since)
			t->idle_since = now;
		if (!contended(gpu) || now - t->idle_since >= gpu->o.idle_grace_ns)
			task_leave(t, now);
	}
}

static void look_at(struct gs_tenant *t, uint64_t now)
{
	struct gs_gpu *gpu = t->gpu;
	struct gs_look look;

	t->dirty = 0;
	gs_watch_look(&t->watch, t->p.page, now, &look);
	if (look.bad) {
		t->bad = look.bad;
		t->bad_kstate = look.bad_kstate;
		return;
	}
	gs_tenant_account(t, &look, gpu->holder == t, now);
	if (t->task)
		task_progress(t, &look, now);
	if (gpu->holder == t) {
		if (!gpu->draining)
			holder_looked(t, &look, now);
	} else if (t->ready && !t->task) {
		task_arrive(t, &look, now);
	} else if (!t->ready && t->task) {
		task_leave(t, now);
	}
}

/* ---- giving and taking the turn -------------------------------------- */

static void give(struct gs_gpu *gpu, struct gs_tenant *t, uint64_t now)
{
	gs_tenant_charge(t, 0, now);
	gpu->holder = t;
	t->idle_since = 0;
	gs_tenant_turn(t, 1);
	gs_tenant_schedule(t);
	/* In any case: kernels put off before they started need their limit back. */
	gs_page_ring(t->p.page);
}

/* Nothing of the client is on the GPU, and nothing can get there. */
static int drained(const struct gs_gpu *gpu, const struct gs_tenant *t)
{
	uint32_t heard = gs_page_load(t->p.page->heard);

	if (t->on_gpu)
		return 0;
	return !t->off_gpu || (int32_t)(heard - gpu->bell) >= 0;
}

static int overdue(struct gs_gpu *gpu, uint64_t now)
{
	if (now - gpu->drain_since < gpu->o.evict_deadline_ns)
		return 0;
	gpu->overdue++;
	gs_log(GS_LOG_WARN, "gpu %u: %s: %u kernels have not left after %llu ms; "
	       "the next client runs beside them", gpu->index, gpu->holder->p.name,
	       gpu->holder->live - gpu->holder->ready,
	       (unsigned long long)((now - gpu->drain_since) / GS_NS_PER_MS));
	return 1;
}

/* The holder has left the GPU: account for it, tell the scheduler. */
static void drain_done(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_tenant *t = gpu->holder;

	gs_tenant_charge(t, 1, now);
	if (gpu->evicting) {
		gpu->evictions++;
		gs_tally_evicted(t->p.tally, now - gpu->drain_since);
	}
	gpu->draining = 0;
	gpu->holder = NULL;
	if (t->task && !t->ready)
		task_leave(t, now);
	else if (t->task && gpu->stopping)
		gs_sched_stopped(gpu->sched, t->p.id, now);
	t->dirty = 1; /* a stub that became READY meanwhile makes it a task */
}

/* One look at the holder on its way out; 1 once it is out. */
static int drain(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_tenant *t = gpu->holder;
	unsigned evicted = 0, changed = gs_tenant_sweep(t, &evicted);

	look_at(t, now);
	/* What has not started may still start until the client has heard. */
	if (changed || (t->off_gpu && !gpu->rung)) {
		gs_page_ring(t->p.page);
		gpu->bell = gs_page_load(t->p.page->bell);
		gpu->rung = 1;
	}
	gpu->evicting |= evicted != 0;
	if (t->bad || drained(gpu, t) || overdue(gpu, now)) {
		drain_done(gpu, now);
		return 1;
	}
	return 0;
}

/* Take the turn back; 1 if the holder is out already. */
static int take(struct gs_gpu *gpu, int stopping, uint64_t now)
{
	struct gs_tenant *t = gpu->holder;

	gs_tenant_turn(t, 0);
	gpu->draining = 1;
	gpu->evicting = gpu->rung = 0;
	gpu->stopping = stopping;
	gpu->drain_since = now;
	return drain(gpu, now);
}

static struct gs_tenant *find(struct gs_gpu *gpu, uint64_t id)
{
	struct gs_tenant *t;

	LIST_FOREACH(t, &gpu->tenants, link)
		if (t->p.id == id)
			return t;
	return NULL;
}

/* One decision carried out; 1 if another may follow at once. */
static int decide(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_decision d;
	struct gs_tenant *t;

	gs_sched_decide(gpu->sched, now, &d);
	gpu->deadline = d.deadline_ns;
	switch (d.action) {
	case GS_ACT_IDLE:
		gpu->deadline = UINT64_MAX;
		return 0;
	case GS_ACT_KEEP:
		return 0;
	case GS_ACT_EVICT:
		return gpu->holder && take(gpu, 1, now);
	case GS_ACT_RUN:
		break;
	}
	t = find(gpu, d.task);
	if (!t)
		return 0;
	if (gpu->holder && gpu->holder != t && !take(gpu, 0, now))
		return 0;
	give(gpu, t, now);
	gs_sched_started(gpu->sched, t->p.id, now);
	return 0;
}

/* ---- the contract ---------------------------------------------------- */

/* Pages are read when their client rang, holds the turn, or has kernels that may end. */
static void look_around(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_tenant *t;

	/* The holder first: it must be a task before anybody is compared with it. */
	if (gpu->holder && !gpu->draining)
		look_at(gpu->holder, now);
	LIST_FOREACH(t, &gpu->tenants, link)
		if (t != gpu->holder && (t->dirty || t->on_gpu || t->off_gpu))
			look_at(t, now);
	/* What the holder does with its idle turn depends on who waits. */
	t = gpu->holder;
	if (t && !gpu->draining && t->task && t->idle_since && contended(gpu) &&
	    now - t->idle_since >= gpu->o.idle_grace_ns)
		task_leave(t, now);
}

static uint64_t next_turn(const struct gs_gpu *gpu, uint64_t now)
{
	const struct gs_tenant *t;
	uint64_t next = gpu->deadline > now ? gpu->deadline : now + POLL_DRAINING_NS;
	uint64_t poll = gpu->holder ? POLL_ALONE_NS : UINT64_MAX;

	if (gpu->draining)
		return now + (now - gpu->drain_since < DRAIN_FAST_NS ? POLL_DRAINING_NS
								     : POLL_CONTENDED_NS);
	LIST_FOREACH(t, &gpu->tenants, link)
		if (t->on_gpu || t->off_gpu)
			poll = POLL_ALONE_NS;
	if (contended(gpu))
		poll = POLL_CONTENDED_NS;
	t = gpu->holder;
	if (poll != UINT64_MAX && now + poll < next)
		next = now + poll;
	if (t && t->task && t->idle_since && contended(gpu) &&
	    t->idle_since + gpu->o.idle_grace_ns < next)
		next = t->idle_since + gpu->o.idle_grace_ns;
	return next;
}

uint64_t gs_gpu_turn(struct gs_gpu *gpu, uint64_t now)
{
	look_around(gpu, now);
	if (gpu->draining && !drain(gpu, now))
		return next_turn(gpu, now);
	for (int i = 0; i < DECISIONS_PER_TURN; i++) {
		struct gs_tenant *t;

		/* Whoever was just drained may be runnable again. */
		LIST_FOREACH(t, &gpu->tenants, link)
			if (t->dirty)
				look_at(t, now);
		if (!decide(gpu, now))
			break;
	}
	return next_turn(gpu, now);
}

struct gs_tenant *gs_gpu_add(struct gs_gpu *gpu, const struct gs_tenant_params *params,
			     int adopted, uint64_t now)
{
	struct gs_tenant *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->p = *params;
	t->gpu = gpu;
	t->charged_ns = now;
	LIST_INSERT_HEAD(&gpu->tenants, t, link);
	if (!adopted)
		return t;
	t->dirty = 1;
	gs_watch_adopt(&t->watch, params->page);
	if (!gpu->holder) {
		give(gpu, t, now);
	} else {
		unsigned evicted;

		gs_tenant_turn(t, 0);
		gs_tenant_sweep(t, &evicted);
		gs_page_ring(params->page);
	}
	return t;
}

void gs_gpu_remove(struct gs_gpu *gpu, struct gs_tenant *t, uint64_t now)
{
	struct gs_look look;

	gs_watch_last_look(&t->watch, t->p.page, now, &look);
	if (!look.bad)
		gs_tenant_account(t, &look, gpu->holder == t, now);
	task_leave(t, now);
	gs_tenant_turn(t, 0);
	if (gpu->holder == t) {
		gpu->holder = NULL;
		gpu->draining = 0;
	}
	LIST_REMOVE(t, link);
	free(t);
}

void gs_gpu_bell(struct gs_tenant *t)
{
	t->dirty = 1;
}

int gs_tenant_bad(const struct gs_tenant *t, uint32_t *kstate)
{
	*kstate = t->bad_kstate;
	return t->bad != 0;
}

void gs_tenant_priority(struct gs_tenant *t, int32_t priority)
{
	t->p.priority = priority;
}

/* Copy the options; the policy's name belongs to the caller's configuration. */
static void keep_options(struct gs_gpu *gpu, const struct gs_gpu_options *options)
{
	gpu->o = *options;
	strncpy(gpu->policy, options->policy, sizeof(gpu->policy) - 1);
	gpu->o.policy = gpu->policy;
}

struct gs_gpu *gs_gpu_create(uint32_t index, const struct gs_gpu_options *options,
			     uint64_t now, struct gs_error *err)
{
	struct gs_gpu *gpu = calloc(1, sizeof(*gpu));

	if (!gpu) {
		gs_fail(err, "no memory");
		return NULL;
	}
	gpu->index = index;
	gpu->deadline = UINT64_MAX;
	LIST_INIT(&gpu->tenants);
	keep_options(gpu, options);
	gpu->sched = gs_sched_create(options->policy, &options->sched, now, err);
	if (!gpu->sched) {
		free(gpu);
		return NULL;
	}
	return gpu;
}

void gs_gpu_destroy(struct gs_gpu *gpu)
{
	if (!gpu)
		return;
	gs_sched_destroy(gpu->sched);
	free(gpu);
}

int gs_gpu_configure(struct gs_gpu *gpu, const struct gs_gpu_options *options, uint64_t now,
		     struct gs_error *err)
{
	struct gs_sched *fresh = gs_sched_create(options->policy, &options->sched, now, err);
	struct gs_tenant *t;

	if (!fresh)
		return -1;
	LIST_FOREACH(t, &gpu->tenants, link)
		task_leave(t, now);
	gs_sched_destroy(gpu->sched);
	gpu->sched = fresh;
	gpu->stopping = 0;
	gpu->deadline = UINT64_MAX;
	keep_options(gpu, options);
	LIST_FOREACH(t, &gpu->tenants, link)
		t->dirty = 1; /* the next look makes it a task again */
	return 0;
}

void gs_gpu_status(const struct gs_gpu *gpu, struct gs_gpu_status *status)
{
	const struct gs_tenant *t;

	memset(status, 0, sizeof(*status));
	status->policy = gs_sched_policy(gpu->sched);
	status->holder = gpu->holder ? gpu->holder->p.id : 0;
	status->draining = (uint32_t)gpu->draining;
	status->faults = gs_sched_faults(gpu->sched);
	status->evictions = gpu->evictions;
	status->overdue = gpu->overdue;
	LIST_FOREACH(t, &gpu->tenants, link) {
		status->tenants++;
		status->waiting += t->task && t != gpu->holder;
	}
}
