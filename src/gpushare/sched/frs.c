/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frs: the fair and responsive scheduler (FRS, section IV-E), and beyond: who does
 * without what follows equation 2 below is frsp.  Whoever is slowed down most goes next.
 *
 * The instantaneous slowdown of a task t after its arrival is
 *	IS = (t + left) / alone				(equation 1)
 * with alone = NT x tpt (gs_place_slowdown()).
 * Shares weigh it: what is evened out is IS x shares, so twice the shares is
 * half the slowdown.  With equal shares it is the paper's.
 *
 * Equation 2: the chosen one runs until the least slowed down task has come
 * up to its slowdown, at least for the minimum quantum.
 *
 * An arrival has the least slowdown of all, 1, and so does not preempt; but it
 * becomes the task of equation 2, and a short one comes up fast: the running
 * quantum ends when it will have, at the earliest after a minimum quantum.
 * Without this a short kernel could wait for seconds behind a holder that has
 * much to make up for, against the paper's "when a priority kernel arrives the
 * running kernel is preempted" (section IV).
 *
 * A quantum is at most what the chosen one says it still needs and a shortest quantum
 * more: if it is not done then, its length was wrong and is looked at again.  So
 * a client that claims to be short cannot keep the GPU with the slowdown that
 * follows from it.  More, as a length is an estimate, and the time run includes
 * what is left of a hand-over: at the very end of what it says, one that is all but done
 * would lose the GPU and wait with the least slowdown of all.
 *
 * A hand-over costs everybody who waits, and whoever is evicted is back after a shortest
 * quantum of somebody else and two hand-overs at the earliest.  So the one
 * that has the GPU keeps it while it would be slowed down most after such a wait.
 * Without this, equation 2, which ends the quantum when two tasks are even, has long
 * tasks change places every minimum quantum, from which neither gains.  As
 * hand-overs go to zero this becomes the paper's.
 *
 * Where everybody is long, a longer quantum changes no slowdown by much: a
 * quantum is at least an eighth of the shortest length around, as long as that is at most 100
 * hand-overs.  Two kernels of 165 ms that changed places every 3 ms took 1.066 of the sum
 * (H200).
 *
 * Good for mixed lengths: short kernels are served soon, long ones still move.
 * Bad when alone times are far off.
 */
#include "gpushare/sched/policy.h"

#define UNNOTICED 8 /* part of the shortest length */
#define HANDOVERS_MOST 100

/* The shortest quantum that is worth a hand-over, with `task` among those that run or wait. */
static uint64_t worth(const struct gs_view *view, const struct gs_task *task)
{
	uint64_t floor = gs_task_floor(view, &gs_policy_frs);
	uint64_t most = view->options->handover_ns * HANDOVERS_MOST;
	uint64_t unnoticed = gs_task_alone(view, task) / UNNOTICED;
	double shortest;

	if (most <= floor || unnoticed <= floor)
		return floor;
	shortest = gs_shortest_alone(view) / UNNOTICED;
	if (shortest < (double)unnoticed)
		unnoticed = (uint64_t)shortest;
	if (unnoticed > most)
		unnoticed = most;
	return unnoticed > floor ? unnoticed : floor;
}

/* If hand-overs cost something: the least that the holder waits after an eviction. */
static uint64_t shortest_wait(const struct gs_view *view)
{
	return worth(view, view->holder) + 2 * view->options->handover_ns;
}

static uint64_t pick(struct gs_view *view)
{
	return gs_most_slowed(view, view->holder ? shortest_wait(view) : 0);
}

static uint64_t quantum(struct gs_view *view, const struct gs_task *task)
{
	uint64_t shortest = worth(view, task);
	const struct gs_entry *least = gs_least_slowed(view);
	struct gs_entry mine = { 0 };
	double most, ns;

	if (shortest < view->options->min_quantum_ns)
		shortest = view->options->min_quantum_ns;

	gs_place_slowdown(view, task, &mine);
	ns = least ? (gs_entry_slowdown(&mine, view->now) - gs_entry_slowdown(least, view->now)) /
			     least->b :
		     0;
	most = (double)(gs_task_left(view, task) + shortest);
	if (ns > most)
		ns = most;
	if (!(ns > (double)shortest))
		return shortest;
	return ns < 1e18 ? (uint64_t)ns : GS_NO_LIMIT;
}

const struct gs_policy gs_policy_frs = {
	.name = "frs",
	.place = gs_place_slowdown,
	.pick = pick,
	.quantum = quantum,
	.weighs = 1,
};
