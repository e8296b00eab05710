/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a task has run, and how long it will: what policies may ask; see policy.h. */
#include "common/clock.h"
#include "gpushare/sched/core.h"

#include <math.h>

/*
 * Lengths come from clients' pages and may be anything; a year is longer than
 * any kernel, and sums and products of years fit.
 */
#define LENGTH_MAX_NS (UINT64_C(365) * 86400 * GS_NS_PER_S)

static uint64_t length(double ns)
{
	return ns < (double)LENGTH_MAX_NS ? (uint64_t)ns : LENGTH_MAX_NS;
}

uint64_t gs_core_length(uint64_t ns)
{
	return ns < LENGTH_MAX_NS ? ns : LENGTH_MAX_NS;
}

uint64_t gs_core_left(uint64_t nt, uint64_t done, uint64_t alone_ns)
{
	if (done >= nt)
		return 0;
	return done ? length((double)alone_ns * ((double)(nt - done) / (double)nt)) : alone_ns;
}

uint64_t gs_task_floor(const struct gs_view *view, const struct gs_policy *policy)
{
	uint64_t floor = view->options->handover_ns * view->options->quantum_handovers;

	return policy->weighs ? floor / 2 : floor;
}

uint64_t gs_task_ran(const struct gs_view *view, const struct gs_task *task)
{
	return task->ran_ns + (task == view->holder ? view->now - task->since_ns : 0);
}

uint64_t gs_task_alone(const struct gs_view *view, const struct gs_task *task)
{
	uint64_t ran = gs_task_ran(view, task), alone = task->alone_ns;

	if (!alone && task->done && task->left_ran_ns)
		alone = length((double)task->left_ran_ns * ((double)task->nt / (double)task->done));
	else if (!alone)
		alone = gs_core_length(ran) * 2;
	if (!task->alone_ns && alone < view->options->min_quantum_ns)
		alone = view->options->min_quantum_ns;
	return alone > ran ? alone : ran;
}

uint64_t gs_task_left(const struct gs_view *view, const struct gs_task *task)
{
	uint64_t since_told = gs_task_ran(view, task) - task->left_ran_ns;
	uint64_t left = task->alone_ns ?
				task->left_ns :
				gs_core_left(task->nt, task->done, gs_task_alone(view, task));

	return left > since_told ? left - since_told : 0;
}

void gs_place_slowdown(const struct gs_view *view, const struct gs_task *task,
		       struct gs_entry *entry)
{
	double per_ns = task->shares / (double)gs_task_alone(view, task);

	entry->a = ((double)gs_task_left(view, task) - (double)task->arrival_ns) * per_ns;
	entry->b = per_ns;
}

static double slowdown(const struct gs_view *view, const struct gs_entry *entry)
{
	return gs_entry_slowdown(entry, view->now);
}

static double speed(const struct gs_view *view, const struct gs_entry *entry)
{
	return -gs_entry_slowdown(entry, view->now);
}

static double shortness(const struct gs_view *view, const struct gs_entry *entry)
{
	(void)view;
	return -(entry->task->shares / entry->b);
}

static const struct gs_order most_slowed = { .value = slowdown };
static const struct gs_order least_slowed = { .value = speed, .by_place = 1 };
static const struct gs_order shortest = { .value = shortness };

uint64_t gs_most_slowed(const struct gs_view *view, uint64_t holder_waits_ns)
{
	struct gs_entry holder = { 0 };

	if (view->holder)
		gs_place_slowdown(view, view->holder, &holder);
	return gs_first_or_holder(view, &most_slowed,
				  gs_entry_slowdown(&holder, view->now + holder_waits_ns))
		->id;
}

const struct gs_entry *gs_least_slowed(const struct gs_view *view)
{
	return gs_first(view, &least_slowed);
}

double gs_shortest_alone(const struct gs_view *view)
{
	const struct gs_entry *e = gs_first(view, &shortest);

	return e ? e->task->shares / e->b : INFINITY;
}
