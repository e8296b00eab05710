/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dprr: dynamic-priority round robin (seed 000, section 7).  Two queues, one
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

/* The dynamic priority now. */
static double priority_of(const struct gs_view *view, const struct gs_task *task)
{
	uint64_t since = task->since_ns > view->state[1] ? task->since_ns : view->state[1];
	double rise = 0;

	if (task != view->holder)
		rise = (double)(view->now - since) / (double)view->options->dprr_tick_ns;
	return task->priority + (rise < RISE_MAX ? rise : RISE_MAX);
}

/* The best of the active queue; NULL: it is empty. */
static const struct gs_task *best_active(const struct gs_view *view)
{
	const struct gs_task *best = NULL;
	double highest = 0;

	if (view->holder && view->holder->word[0] <= view->state[0]) {
		best = view->holder;
		highest = priority_of(view, best);
	}
	for (size_t i = 0; i < view->count; i++) {
		const struct gs_task *t = view->ready[i].task;
		double p;

		if (t->word[0] > view->state[0])
			continue;
		p = priority_of(view, t);
		if (!best || p > highest || (p >= highest && t->seq < best->seq)) {
			best = t;
			highest = p;
		}
	}
	return best;
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
};
