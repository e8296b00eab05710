/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step of a GPU's arbiter (gpu.h):
 *
 *	poll    the pages that may have changed (watch.c), and tell the scheduler
 *	decide  who gets the time slice; one client at a time may be LEAVING
 *	act     give the time slice, or take it: write grant = 0, then change every
 *	        RUNNING slot that can leave to TOEVICT and every TORUN slot to READY,
 *	        and ring the doorbell (handover.c)
 */
#include "common/log.h"
#include "gpushare/arbiter/burst.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/contention.h"
#include "gpushare/arbiter/copies.h"
#include "gpushare/arbiter/force.h"
#include "gpushare/arbiter/gpu.h"
#include "gpushare/arbiter/group.h"
#include "gpushare/arbiter/handover.h"
#include "gpushare/arbiter/holders.h"
#include "gpushare/arbiter/launch_barrier.h"
#include "gpushare/arbiter/pin.h"
#include "gpushare/arbiter/polling.h"
#include "gpushare/arbiter/task.h"

/* A step mostly takes two decisions, RUN and then KEEP; each may be repeated once if a holder turns
 * out to be idle. */
#define DECISIONS_PER_STEP 4
/* With a 32nd the learned cost went up and down by a fifth within some ten hand-overs, as seen on
 * the emulated device, and with it the shortest quantum. */
#define HANDOVER_STEP 128
/* The learned cost stays within this factor of the configured one, which may be another GPU's. */
#define HANDOVER_RANGE 16

/*
 * The client that the scheduler has chosen, or instead of it an equal that the policy has starved.
 */
static struct gs_gpu_client *next_of(struct gs_gpu *gpu, uint64_t id, uint64_t now)
{
	struct gs_gpu_client *t = gs_gpu_find(gpu, id), *owed = gpu->owed.client;

	gpu->owed.client = NULL;
	if (!t || !owed || !owed->task || gs_gpu_client_compare(owed, t) != 0)
		return t;
	gs_holders_repay(gpu, owed, now);
	return owed;
}

/* Takes one decision and carries it out. Returns 1 if another may follow at once. */
static int decide(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_decision d;
	struct gs_gpu_client *t;

	if (!gpu->owed.client && !gpu->leaving &&
	    (gpu->owed.client = gs_holders_starved(gpu)) != NULL) {
		gpu->owed.repaid = NULL;
		gs_sched_evict(gpu->sched);
	}
	gs_sched_decide(gpu->sched, now, &d);
	gpu->deadline = d.deadline_ns;
	switch (d.action) {
	case GS_ACT_IDLE:
		gpu->deadline = UINT64_MAX;
		return 0;
	case GS_ACT_KEEP:
		return 0;
	case GS_ACT_EVICT:
		return gpu->holder && !gpu->leaving &&
		       (gs_holders_step_aside(gpu, now) || gs_handover_take(gpu, 1, now));
	case GS_ACT_RUN:
		break;
	}
	t = next_of(gpu, d.task, now);
	if (!t || t == gpu->leaving || (gpu->holder && gpu->leaving))
		return 0;
	if (gs_holders_is_beside(t)) {
		gs_holders_swap(gpu, t, now);
		return 1;
	}
	if (gpu->holder && gpu->holder != t && !gs_handover_take(gpu, 0, now))
		return 0;
	gs_handover_give(gpu, t, now);
	if (gs_polling_contended(gpu) && (gpu->o.sched.handover_ns || gpu->leaving)) {
		gs_gpu_client_enter(t, GS_STARTING);
		return 0;
	}
	gs_sched_started(gpu->sched, t->p.id, now);
	return 1; /* its quantum has begun, and the next decision says when it ends */
}

/*
 * Learns what a hand-over costs. A kernel that was on the GPU well before the expected time lowers
 * the expectation, one that was not there in time raises it. The measured times themselves are not
 * used: the arbiter polls when it expects something, so they would follow the expectation. Each
 * hand-over changes it little, since a client may be slow for its own reasons, or claim to be.
 */
static void learn_handover(struct gs_gpu *gpu, int begun, uint64_t ns)
{
	uint64_t first = gpu->settings.handover_ns, *is = &gpu->o.sched.handover_ns;
	uint64_t step = *is / HANDOVER_STEP + 1;

	if (!gpu->o.learn_handover || !first || (begun && ns > *is / 8 * 7))
		return;
	*is = begun ? *is - step : *is + step;
	if (*is < first / HANDOVER_RANGE)
		*is = first / HANDOVER_RANGE;
	if (*is > first * HANDOVER_RANGE)
		*is = first * HANDOVER_RANGE;
	gs_sched_set_handover(gpu->sched, *is);
}

/*
 * A hand-over belongs to nobody's quantum. The holder's quantum begins when no other client is on
 * the GPU and one of its own kernels is, or after the time that a hand-over should take. Returns 1
 * if no client is STARTING any more.
 */
static int starting_over(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t = gpu->holder;

	if (!gs_gpu_is_starting(gpu))
		return 1;
	if (t->task && (gpu->leaving ||
			(!t->found.on_gpu && now - gpu->start.since < gpu->o.sched.handover_ns)))
		return 0;
	gs_gpu_client_enter(t, GS_RUNNING);
	/*
	 * Kernels that were there before the other client had left tell nothing about hand-overs.
	 */
	if (t->task && !gpu->start.beside)
		learn_handover(gpu, t->found.on_gpu != 0, now - gpu->start.since);
	if (t->task)
		gs_sched_started(gpu->sched, t->p.id, now);
	return 1;
}

/* ---- the time slice -------------------------------------------------------- */

/* Polls a client's page if the client made a request, has the time slice, or has kernels that may
 * end. */
static void poll_all(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;

	/* The holder comes first: it must be a task before others are compared with it. */
	if (gpu->holder)
		gs_gpu_poll(gpu->holder, now);
	LIST_FOREACH (t, &gpu->clients, link)
		if (t != gpu->holder && t != gpu->leaving &&
		    (t->dirty || t->found.on_gpu || t->found.off_gpu || gs_gpu_client_has_slice(t)))
			gs_gpu_poll(t, now);
	/* Whether an idle holder keeps the time slice depends on who waits. */
	gs_gpu_task_check_idle(gpu, now);
}

static void say_faults(struct gs_gpu *gpu)
{
	for (size_t i = 0; i < gs_sched_class_count(gpu->sched); i++) {
		struct gs_sched_class_status is;
		const char *name = gpu->settings.class_name[i];

		gs_sched_class_status(gpu->sched, i, &is);
		if (is.faults == gpu->figures.faults_said[i])
			continue;
		gs_log(GS_LOG_ERROR, "gpu %u%s%s: policy %s broke its contract; %s decides now",
		       gpu->index, *name ? ": class " : "", name,
		       is.broke ? is.broke : gpu->settings.policy, is.policy);
		gpu->figures.faults_said[i] = is.faults;
		gs_gpu_group_leave_all(gpu); /* who equals whom may be another matter now */
	}
}

static uint64_t next_slice(const struct gs_gpu *gpu, uint64_t now)
{
	uint64_t next = gs_holders_next(gpu, now), again = gpu->loop.again_ns, end;

	if (again && again < next)
		next = again;

	/* While several clients launch beside each other, the end of a kernel matters only to a
	 * client that waits for all of them. */
	if (gs_holders_share(gpu))
		end = gs_polling_waiting(gpu, now);
	else
		end = gs_polling_next(gpu, now);
	if (end < next)
		next = end;
	end = gs_burst_next(gpu, now);
	return end < next ? end : next;
}

/* Kernels: until when nothing is to be done. */
static uint64_t step(struct gs_gpu *gpu, uint64_t now)
{
	if (now >= gpu->loop.again_ns)
		gpu->loop.again_ns = 0;
	poll_all(gpu, now);
	if (gpu->o.clock) /* polling may have taken as long as an eviction does */
		now = gpu->o.clock();
	if (gpu->leaving && !gs_handover_drain(gpu, now) && !gpu->holder &&
	    !gs_handover_overlap(gpu, now))
		return gs_polling_next(gpu, now);
	gs_force_step(gpu, now);
	if (gpu->pin.client)
		gs_pin_step(gpu, now);
	for (int i = 0; starting_over(gpu, now) && !gpu->pin.client && i < DECISIONS_PER_STEP;
	     i++) {
		struct gs_gpu_client *t;

		/* A client that has just left may want the GPU again. */
		LIST_FOREACH (t, &gpu->clients, link)
			if (t->dirty)
				gs_gpu_poll(t, now);
		if (!decide(gpu, now))
			break;
	}
	gs_holders_step(gpu, now);
	say_faults(gpu);
	gs_contention_tell(gpu, now);
	return next_slice(gpu, now);
}

uint64_t gs_gpu_step(struct gs_gpu *gpu, uint64_t now)
{
	uint64_t next = step(gpu, now), copies = gs_copies_step(gpu, now);
	uint64_t barrier = gs_launch_barrier_step(gpu, now);

	if (copies < next)
		next = copies;
	return barrier < next ? barrier : next;
}
