/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frsp: FRS as the paper prints it (section IV-E), to measure frs against, which
 * goes beyond it (frs.c).  Whoever is slowed down most goes next, for as long
 * as equation 2 says.  Nothing else: an arrival leaves the quantum under way as
 * it is, a quantum ends with nobody's own length, and what a hand-over costs
 * is not weighed.
 *
 * Slowdowns are weighted by shares, see gs_place_slowdown(); equal shares change
 * nothing.  The paper gives no rule for a quantum that equation 2 makes shorter
 * than the minimum (1 ms, section VI): it is raised to that.
 *
 * state[0] is the turn whose quantum has been given out.
 *
 * Good: the paper's own numbers.  Bad: a short kernel waits behind whatever
 * quantum is under way, of seconds where lengths are; two even ones change places every minimum quantum;
 * a client that claims to be short keeps the GPU until the starvation bound.
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

	/* Asked again as somebody arrives: no sooner than was said. */
	if (view->state[0] == task->turn)
		return GS_NO_LIMIT;
	view->state[0] = task->turn;
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
