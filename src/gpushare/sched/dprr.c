/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dprr: dynamic-priority round robin (EffiSha, section 7).  Two queues, one
 * of them active.  A task's dynamic priority is its own plus one per
 * millisecond that it has waited in the active queue, at most twenty more; the
 * highest runs, for a slice of (p + 1)/2 ms.  After its slice it goes to the
 * inactive queue with its own priority; when the active one is empty the two
 * change places.
 *
 * Where the paper leaves it open: p of the slice is the task's own priority,
 * as in the Linux scheduler that the paper follows; priorities below zero
 * count as zero there; the rise is continuous, not in steps.
 *
 * The paper's millisecond is an option, the tick, for tasks of another scale.
 *
 * word[0] of a task is the generation of the queue that it is in; state[0] is
 * the active generation and state[1] the time when it became active.
 *
 * Good for priorities without starvation; bad for short low-priority tasks.
 */
#include <math.h>

#include "gpushare/sched/policy.h"

#define RISE_MAX 20.0

static void arrive(struct gs_view *view, struct gs_task *task)
{
	task->word[0] = view->state[0];
}

static void expire(struct gs_view *view, struct gs_task *task)
{
	task->word[0] = view->state[0] + 1;
}

/* Since when it rises. */
static uint64_t rises_since(const struct gs_view *view, const struct gs_task *task)
{
	return task->since_ns > view->state[1] ? task->since_ns : view->state[1];
}

static double rise_of(const struct gs_view *view, const struct gs_task *task)
{
	double rise = 0;

	if (task != view->holder)
		rise = (double)(view->now - rises_since(view, task)) /
		       (double)view->options->dprr_tick_ns;
	return rise < RISE_MAX ? rise : RISE_MAX;
}

static int is_active(const struct gs_view *view, const struct gs_task *task)
{
	return task->word[0] <= view->state[0];
}

/* The dynamic priority now; none in the inactive queue. */
static double priority_of(const struct gs_view *view, const struct gs_task *task)
{
	return is_active(view, task) ? task->priority + rise_of(view, task) : -INFINITY;
}

static double value(const struct gs_view *view, const struct gs_entry *entry)
{
	return priority_of(view, entry->task);
}

static const struct gs_order order = { .value = value };

/* The best of the active queue; NULL: it is empty. */
static const struct gs_task *best_active(const struct gs_view *view)
{
	const struct gs_task *holder = view->holder;
	const struct gs_task *best =
		gs_first_or_holder(view, &order, holder ? priority_of(view, holder) : 0);

	return best && is_active(view, best) ? best : NULL;
}

static uint64_t pick(struct gs_view *view)
{
	const struct gs_task *best = best_active(view);

	if (!best) {
		view->state[0]++;
		view->state[1] = view->now;
		best = best_active(view);
	}
	return best->id;
}

static uint64_t quantum(struct gs_view *view, const struct gs_task *task)
{
	return ((uint64_t)(task->priority > 0 ? task->priority : 0) + 1) *
	       view->options->dprr_tick_ns / 2;
}

const struct gs_policy gs_policy_dprr = {
	.name = "dprr",
	.arrive = arrive,
	.expire = expire,
	.pick = pick,
	.quantum = quantum,
	.lets_finish = 1,
	.by_priority = 1,
};
