/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adding and removing clients, and what reports ask for; see gpu.h. */
#define _GNU_SOURCE
#include "gpushare/arbiter/gpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/arbiter/account.h"
#include "gpushare/arbiter/burst.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/copies.h"
#include "gpushare/arbiter/corun.h"
#include "gpushare/arbiter/group.h"
#include "gpushare/arbiter/handover.h"
#include "gpushare/arbiter/launch_barrier.h"
#include "gpushare/arbiter/task.h"
#include "gpushare/corun/balance.h"

/* So many lines about a client that is stopped, or goes on. */
#define STOPS_SAID 20
#define RUNS_WITHIN_NS (GS_NS_PER_S / 4) /* gs_gpu_client_doing() */

static void join_trace(struct gs_gpu_client *t)
{
	struct gs_trace_lane lane = {
		.id = t->p.id, .gpu = t->gpu->index, .job_id = t->p.job_id, .step_id = t->p.step_id
	};

	snprintf(lane.name, sizeof(lane.name), "%s%s%s", t->p.name, t->p.program ? " " : "",
		 t->p.program ? t->p.program : "");
	t->traced = gs_trace_join(t->gpu->trace, &lane);
}

struct gs_gpu_client *gs_gpu_add(struct gs_gpu *gpu, const struct gs_gpu_client_params *params,
				 int adopted, uint64_t now)
{
	struct gs_gpu_client *t = calloc(1, sizeof(*t)), *other;

	if (!t || gs_gpu_group_reserve(gpu) < 0) {
		free(t);
		return NULL;
	}
	t->p = *params;
	t->told.priority = params->priority;
	t->gpu = gpu;
	t->account.charged_ns = t->account.untracked_ns = t->watch.polled_ns = now;
	atomic_store(&params->page->attended, gpu->loop.attended);
	t->requested = atomic_load(&params->page->requested);
	t->watch.tpt_ps = params->kernels->tpt_ps;
	t->watch.kernels = GS_STEP_USAGE_KERNELS_MAX;
	t->watch.leave_most_ns = gpu->o.leave_most_ns;
	join_trace(t);
	gs_launch_barrier_reset(t);
	gs_gpu_corun_reset(t, now);
	LIST_INSERT_HEAD(&gpu->clients, t, link);
	LIST_FOREACH (other, &gpu->clients, link)
		gs_page_store(other->p.page->only,
			      /*
			       * Tell them at once: then less is queued in front of the new client.
			       */
			      0);
	if (!adopted)
		return t;
	t->dirty = 1;
	gs_watch_adopt(&t->watch, params->page);
	t->watch.polled_ns = now;
	t->watch.last_number = params->counted.launches;
	memcpy(t->account.copied, params->counted.copied, sizeof(t->account.copied));
	gs_copies_join(t);
	if (!gpu->holder) {
		gs_handover_give(gpu, t, now);
	} else {
		uint64_t leave_ns = 0;
		unsigned evicted;

		gs_gpu_client_grant(t, 0);
		gs_gpu_client_sweep(t, now, &evicted, &leave_ns);
		gs_page_doorbell(params->page);
	}
	return t;
}

struct gs_counted gs_gpu_remove(struct gs_gpu *gpu, struct gs_gpu_client *t, uint64_t now)
{
	struct gs_poll polled;
	struct gs_counted counted;

	gs_watch_last_poll(&t->watch, t->p.page, now, &polled);
	if (!polled.bad)
		gs_gpu_client_account(t, &polled, gs_gpu_is_holder(t), now);
	gs_burst_settle(t, 1, now);
	gs_copies_leave(t);
	gs_launch_barrier_reset(t);
	gs_gpu_corun_reset(t, now);
	gs_gpu_client_copied(t);
	gs_gpu_task_leave(t, now);
	gs_gpu_client_wait_over(t, now);
	gs_gpu_client_grant(t, 0);
	if (t->phase != GS_WAITING)
		gs_gpu_client_slice_over(t, now);
	if (gpu->owed.client == t)
		gpu->owed.client = NULL;
	if (gpu->holder == t)
		gpu->holder = NULL;
	if (gpu->leaving == t) {
		gpu->leaving = NULL;
		gpu->start.since = now;
		/* the death of a client says nothing about the cost of hand-overs */
		gpu->start.beside = 1;
	}
	if (gpu->pin.client == t)
		gs_gpu_unpin(gpu);
	if (gpu->forced == t)
		gpu->forced = NULL;
	gs_trace_leave(gpu->trace, t->traced);
	LIST_REMOVE(t, link);
	gs_gpu_group_leave(t);
	gs_gpu_group_unreserve(gpu);
	counted = gs_gpu_client_counted(t);
	free(t);
	return counted;
}

void gs_gpu_poll_every(struct gs_gpu *gpu, uint64_t ns)
{
	gpu->loop.poll_ns = ns;
}

void gs_gpu_doorbell(struct gs_gpu_client *t)
{
	t->dirty = 1;
}

int gs_gpu_has_news(struct gs_gpu *gpu)
{
	int is = gpu->loop.news;

	gpu->loop.news = 0;
	return is;
}

size_t gs_gpu_lessons(struct gs_gpu *gpu, struct gs_lesson lesson[GS_GPU_LESSONS])
{
	size_t n = 0;

	for (size_t i = 0; i < GS_GPU_LESSONS; i++)
		if (gpu->loop.lesson[i].entry.key)
			lesson[n++] = gpu->loop.lesson[i];
	memset(gpu->loop.lesson, 0, sizeof(gpu->loop.lesson));
	return n;
}

int gs_gpu_client_bad(const struct gs_gpu_client *t, uint32_t *state)
{
	*state = t->bad.state;
	return t->bad.is != 0;
}

int gs_gpu_client_overdue(struct gs_gpu_client *t)
{
	int is = t->late.untold;

	t->late.untold = 0;
	return is;
}

uint32_t gs_gpu_client_kernel_on_gpu(const struct gs_gpu_client *t)
{
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++)
		if (t->found.out[i / 64] >> i % 64 & 1 && gs_page_load(t->p.page->slot[i].started))
			return t->watch.seen[i].kernel;
	return UINT32_MAX;
}

struct gs_counted gs_gpu_client_counted(const struct gs_gpu_client *t)
{
	struct gs_counted is = { .launches = t->watch.last_number + t->account.told_launches };

	memcpy(is.copied, t->account.copied, sizeof(is.copied));
	return is;
}

int gs_gpu_client_on_gpu(const struct gs_gpu_client *t)
{
	return t->found.on_gpu != 0;
}

enum gs_doing gs_gpu_client_doing(const struct gs_gpu_client *t, uint64_t now)
{
	uint64_t busy_ns = t->holder_state.busy_ns;

	if (t->stopped)
		return GS_DOING_STOPPED;
	/* Its time counts as waiting, too (account.c). */
	if (t->phase == GS_WAITING && (t->task || t->account.busy))
		return t->found.on_gpu ? GS_DOING_WAITS_BESIDE : GS_DOING_WAITS;
	if (t->task || t->found.on_gpu || t->account.busy ||
	    (busy_ns && now - busy_ns < RUNS_WITHIN_NS))
		return GS_DOING_RUNS;
	return GS_DOING_IDLES;
}

/* A user may stop programs and let them go on without end, and the log is not the user's. */
static void say_stopped(struct gs_gpu_client *t)
{
	if (t->told.stops >= STOPS_SAID)
		return;
	t->told.stops++;
	gs_log(GS_LOG_INFO, "gpu %u: %s: %s%s", t->gpu->index, t->p.name,
	       t->stopped ? "stopped; other clients do not wait for it" : "goes on",
	       t->told.stops == STOPS_SAID ? "; this is said no more" : "");
}

int gs_gpu_client_stopped(struct gs_gpu_client *t, int stopped, uint64_t now)
{
	if (t->stopped == (stopped != 0))
		return 0;
	gs_gpu_client_charge(t, gs_gpu_is_holder(t), now);
	t->stopped = stopped != 0;
	t->dirty = 1;
	say_stopped(t);
	return 1;
}

int gs_gpu_client_matters(const struct gs_gpu_client *t)
{
	const struct gs_gpu *gpu = t->gpu;
	int alone = LIST_NEXT(LIST_FIRST(&gpu->clients), link) == NULL;

	return t->stopped || (!alone && (t->task || gs_gpu_is_holder(t)));
}

void gs_gpu_client_priority(struct gs_gpu_client *t, int32_t priority, int32_t most, uint64_t now)
{
	t->p.priority = priority;
	t->p.priority_most = most;
	gs_gpu_task_prioritise(t, now);
	t->dirty = 1; /* the client may also have entered or left a critical region */
}

void gs_gpu_client_class(struct gs_gpu_client *t, uint32_t class)
{
	if (t->p.class != class)
		gs_gpu_group_leave(t); /* its equals change */
	t->p.class = class;
}

int gs_gpu_trace(const struct gs_gpu *gpu, uint64_t now, struct gs_trace_image *image)
{
	const struct gs_gpu_client *t;
	int rc = gs_trace_image(gpu->trace, image);

	/* What is under way is drawn as ending now. */
	LIST_FOREACH (t, &gpu->clients, link)
		if (rc == 0 && t->slice.wait_since)
			rc = gs_trace_image_add(image, t->traced, GS_TRACE_WAIT,
						t->slice.wait_since, now);
	LIST_FOREACH (t, &gpu->clients, link)
		if (rc == 0 && t->phase != GS_WAITING)
			rc = gs_trace_image_add(image, t->traced, GS_TRACE_SLICE, t->slice.since,
						now);
	t = gpu->leaving;
	if (rc == 0 && t && gpu->leave.evicting)
		rc = gs_trace_image_add(image, t->traced, GS_TRACE_EVICT, gpu->leave.since, now);
	return rc;
}

void gs_gpu_settle(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t;

	LIST_FOREACH (t, &gpu->clients, link) {
		gs_gpu_client_copied(t);
		if (t->account.busy)
			gs_gpu_client_charge(t, gs_gpu_is_holder(t), now);
		gs_burst_settle(t, 0, now);
	}
}

/* The GPU's own policy is the one of tasks without a class, as in device.c. */
static void policies_status(const struct gs_gpu *gpu, struct gs_gpu_status *status)
{
	struct gs_sched_class_status is;

	for (size_t i = 0; i < gs_sched_class_count(gpu->sched); i++) {
		gs_sched_class_status(gpu->sched, i, &is);
		if (*gpu->settings.class_name[i])
			status->class[status->nclasses++] =
				(struct gs_gpu_class) { gpu->settings.class_name[i], is };
		else if (!is.own)
			status->broke = is.broke;
	}
	status->policy = gs_sched_policy(gpu->sched);
	status->by_priority = gpu->o.sched.by_priority;
}

void gs_gpu_status(struct gs_gpu *gpu, struct gs_gpu_status *status)
{
	const struct gs_gpu_client *t;

	memset(status, 0, sizeof(*status));
	policies_status(gpu, status);
	t = gpu->holder ? gpu->holder : gpu->leaving;
	status->holder = t ? t->p.id : 0;
	status->draining = gpu->leaving != NULL;
	status->faults = gs_sched_faults(gpu->sched);
	status->evictions = gpu->figures.evictions;
	status->overdue = gpu->figures.overdue;
	gs_step_usage_quantiles(&gpu->figures.latency);
	status->evict_p50_us = gpu->figures.latency.p50_us;
	status->evict_p99_us = gpu->figures.latency.p99_us;
	status->handover_ns = gpu->o.sched.handover_ns;
	status->corun = gpu->corun.n;
	status->corun_progress = status->corun_fairness = (double)NAN;
	if (gpu->corun.phase == GS_CORUN_KEPT && gpu->corun.has_sum) {
		status->corun_progress = gpu->corun.sum;
		status->corun_fairness = gs_balance_fairness(gpu->corun.is, gpu->corun.n);
	}
	LIST_FOREACH (t, &gpu->clients, link) {
		status->clients++;
		status->waiting += t->task && !gs_gpu_is_holder(t);
	}
}
