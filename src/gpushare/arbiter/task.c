/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client's busy period as a task of the scheduler; see task.h. */
#include "gpushare/arbiter/task.h"

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/arbiter/account.h"
#include "gpushare/arbiter/burst.h"
#include "gpushare/arbiter/client.h"
#include "gpushare/arbiter/own_priority.h"
#include "gpushare/arbiter/polling.h"
#include "gpushare/arbiter/usage.h"

/* Where the node has no memory for a task, the arbiter tries again, and logs it, this often. */
#define ARRIVE_AGAIN_NS (250 * GS_NS_PER_MS)

/* The mean length of a client's tasks is of about so many; a longer task counts as one of MOST_NS,
 * so that a client that had the GPU to itself is not taken for long for one with long tasks. */
#define MEAN_OF 8
#define MOST_NS (1 * GS_NS_PER_S)

/* The GPU writes N_t only when a kernel leaves. Between two such reports the scheduler counts the
 * time itself, so it is told of changes only. */
static void task_progress(struct gs_gpu_client *t, const struct gs_poll *polled, uint64_t now)
{
	if (polled->nt == t->told.nt && polled->done == t->told.done &&
	    polled->alone_ns == t->told.alone_ns)
		return;
	t->told.nt = polled->nt;
	t->told.done = polled->done;
	t->told.alone_ns = polled->alone_ns;
	gs_sched_progress(t->gpu->sched, t->p.id, polled->nt ? polled->nt : 1, polled->done,
			  polled->alone_ns, now);
}

static void task_arrive(struct gs_gpu_client *t, const struct gs_poll *polled, uint64_t now)
{
	struct gs_task_params params = {
		.nt = polled->nt ? polled->nt : 1,
		.alone_ns = polled->alone_ns,
		.priority = t->told.priority,
		.shares = t->p.shares ? t->p.shares : 1,
		.class = t->p.class,
		.due_ns = gs_burst_due(t, now),
	};
	struct gs_error err;

	if (gs_sched_arrive(t->gpu->sched, t->p.id, &params, now, &err) < 0) {
		gs_log(GS_LOG_ERROR, "gpu %u: %s: not scheduled yet: %s", t->gpu->index, t->p.name,
		       err.text);
		t->gpu->loop.again_ns = now + ARRIVE_AGAIN_NS;
		t->dirty = 1;
		return;
	}
	t->task = 1;
	if (!t->pauses.task_since_ns)
		t->pauses.task_since_ns = now;
	t->told.nt = t->told.done = t->told.alone_ns = 0;
	if (!gs_gpu_is_holder(t) && !t->slice.wait_since)
		t->slice.wait_since = now;
	task_progress(t, polled, now);
}

/* Not of a task that only changes its class or its place and goes on. */
static void note_length(struct gs_gpu_client *t, uint64_t now)
{
	uint64_t is = now - t->pauses.task_since_ns, *mean = &t->pauses.task_mean_ns;

	if (t->found.live && !t->stopped)
		return;
	t->pauses.task_since_ns = 0;
	is = is < MOST_NS ? is : MOST_NS;
	*mean = *mean ? *mean - *mean / MEAN_OF + is / MEAN_OF : is;
}

uint64_t gs_gpu_task_length(const struct gs_gpu_client *t, uint64_t now)
{
	uint64_t is = t->task ? now - t->pauses.task_since_ns : 0;

	return is > t->pauses.task_mean_ns ? is : t->pauses.task_mean_ns;
}

void gs_gpu_task_leave(struct gs_gpu_client *t, uint64_t now)
{
	if (!t->task)
		return;
	note_length(t, now);
	gs_sched_leave(t->gpu->sched, t->p.id, now, NULL);
	gs_watch_period_end(&t->watch);
	if (!t->account.busy || t->stopped)
		gs_gpu_client_wait_over(t, now);
	t->task = 0;
}

void gs_gpu_task_prioritise(struct gs_gpu_client *t, uint64_t now)
{
	int32_t priority = gs_own_priority(t);

	if (t->told.priority == priority)
		return;
	gs_usage_regroup(t, now);
	t->told.priority = priority;
	if (!t->gpu->o.sched.by_priority) {
		gs_sched_set_priority(t->gpu->sched, t->p.id, priority, now);
		return;
	}
	/* The priority decides its class here: the next poll makes it a task of that class. */
	gs_gpu_task_leave(t, now);
	t->dirty = 1;
}

/* While equals take turns at launching (MPS), may the client's launches go without slots, so that
 * no poll finds them? */
static int may_go_untracked(const struct gs_gpu_client *t)
{
	return t->gpu->apart && gs_page_load(t->p.page->contended) == GS_CONTENDED_QUEUE;
}

/* Has the client been idle for longer than its grace? */
static int has_paused(const struct gs_gpu_client *t, uint64_t now)
{
	return now - t->slice.idle_since >= gs_polling_grace(t) && !gs_usage_has_tail(t, now) &&
	       !(may_go_untracked(t) && gs_usage_is_busy(t, now));
}

/* The scheduler takes this client for one that waits, and does not care what it does beside the
 * holder. */
static void beside_polled(struct gs_gpu_client *t, const struct gs_poll *polled, uint64_t now)
{
	if (t->stopped)
		return;
	if (polled->ready)
		gs_gpu_client_go(t);
	if (t->found.live) {
		t->slice.idle_since = 0;
		if (!t->task)
			task_arrive(t, polled, now);
		return;
	}
	if (!t->slice.idle_since)
		t->slice.idle_since = now;
	if (has_paused(t, now))
		gs_gpu_task_leave(t, now);
}

static void holder_polled(struct gs_gpu_client *t, const struct gs_poll *polled, uint64_t now)
{
	struct gs_gpu *gpu = t->gpu;

	if (t->stopped)
		return;
	if (polled->ready)
		gs_gpu_client_go(t);
	if (t->found.live) {
		t->slice.idle_since = 0;
		if (!t->task) {
			task_arrive(t, polled, now);
			if (t->task)
				gs_sched_started(gpu->sched, t->p.id, now);
		}
		return;
	}
	if (t->task) {
		if (!t->slice.idle_since)
			t->slice.idle_since = now;
		if (gs_polling_contended(gpu) ? has_paused(t, now) :
						!(may_go_untracked(t) && gs_usage_is_busy(t, now)))
			gs_gpu_task_leave(t, now);
	}
}

void gs_gpu_poll(struct gs_gpu_client *t, uint64_t now)
{
	struct gs_gpu *gpu = t->gpu;
	struct gs_poll polled;

	t->dirty = 0;
	gs_watch_poll(&t->watch, t->p.page, now, &polled);
	if (polled.bad) {
		gpu->loop.news |= !t->bad.is;
		t->bad.is = polled.bad;
		t->bad.state = polled.bad_state;
		return;
	}
	t->account.worked_ns += polled.worked_ns;
	gs_gpu_client_account(t, &polled, gs_gpu_is_holder(t), now);
	gs_usage_seen(t, polled.launches, now);
	gs_gpu_task_prioritise(t, now);
	if (t->task)
		task_progress(t, &polled, now);
	if (gpu->leaving == t)
		return; /* its state is judged when it has left */
	if (gpu->holder == t) {
		holder_polled(t, &polled, now);
	} else if (gs_gpu_client_has_slice(t)) {
		beside_polled(t, &polled, now);
	} else if (t->found.queued && !t->task && !t->stopped) {
		task_arrive(t, &polled, now);
	} else if ((!t->found.queued || t->stopped) && t->task) {
		gs_gpu_task_leave(t, now);
	}
}

void gs_gpu_task_check_idle(struct gs_gpu *gpu, uint64_t now)
{
	struct gs_gpu_client *t = gpu->holder;

	if (t && t->task && gs_polling_contended(gpu) &&
	    (t->stopped || (t->slice.idle_since && has_paused(t, now))))
		gs_gpu_task_leave(t, now);
}
