/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frsp: FRS as the paper prints it (section IV-E). It is there to compare frs with, which goes
 * beyond the paper (frs.c). The task that is slowed down most goes next, for as long as equation 2
 * says. Nothing else counts: an arrival does not shorten the running quantum, the length of the
 * task does not end it, and the cost of a hand-over is not weighed.
 *
 * Slowdowns are weighted by shares, see gs_place_slowdown(); equal shares change nothing. The paper
 * has no rule for a quantum that equation 2 makes shorter than the minimum (1 ms, section VI): here
 * it is raised to the minimum.
 *
 * state[0] is the time slice whose quantum has been given out.
 *
 * Good: the paper's own numbers. Bad: a short kernel waits behind the running quantum, which takes
 * seconds where lengths do; two tasks with equal slowdowns change places every minimum quantum; a
 * client that claims to be short keeps the GPU until the starvation bound.
 */
#include "gpushare/sched/policy.h"

static uint64_t pick(struct gs_view *view)
{
	return gs_most_slowed(view, 0);
}

static uint64_t quantum(struct gs_view *view, const struct gs_task *task)
{
	uint64_t shortest = view->options->min_quantum_ns;
	const struct gs_entry *least;
	struct gs_entry mine = { 0 };
	double ns;

	/* The core asks again when a task arrives. The quantum that was given stays. */
	if (view->state[0] == task->slice)
		return GS_NO_LIMIT;
	view->state[0] = task->slice;
	least = gs_least_slowed(view);
	if (!least)
		return shortest;
	gs_place_slowdown(view, task, &mine);
	ns = (gs_entry_slowdown(&mine, view->now) - gs_entry_slowdown(least, view->now)) / least->b;
	if (!(ns > (double)shortest))
		return shortest;
	return ns < 1e18 ? (uint64_t)ns : GS_NO_LIMIT;
}

const struct gs_policy gs_policy_frsp = {
	.name = "frsp",
	.place = gs_place_slowdown,
	.pick = pick,
	.quantum = quantum,
};
