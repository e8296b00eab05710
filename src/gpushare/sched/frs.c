/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * frs: the fair and responsive scheduler (FRS, section IV-E), with extensions. frsp is the paper's
 * version, without what follows equation 2 below. The task that is slowed down most goes next.
 *
 * The instantaneous slowdown of a task t after its arrival is
 *	IS = (t + left) / alone				(equation 1)
 * with alone = NT x tpt (gs_place_slowdown()). It is weighted by shares: the policy equalises IS x
 * shares, so twice the shares means half the slowdown. With equal shares it is the paper's.
 *
 * Equation 2: the chosen task runs until the least slowed down task has reached its slowdown, and
 * at least for the minimum quantum.
 *
 * A new task has the least slowdown of all, 1, so it does not preempt. But it becomes the task of
 * equation 2, and the slowdown of a short task rises fast: the running quantum ends when it will
 * have reached the holder's, at the earliest after a minimum quantum. Without this a short kernel
 * could wait for seconds behind a holder that has much to make up for, contrary to the paper's
 * "when a priority kernel arrives the running kernel is preempted" (section IV).
 *
 * A quantum is at most what the chosen task says that it still needs, plus a shortest quantum. If
 * the task is not done then, its length was wrong and is considered again. So a client that claims
 * to be short cannot keep the GPU by the slowdown that follows from that. The extra quantum is
 * needed since a length is an estimate, and the time run includes the rest of a hand-over:
 * otherwise a task that is nearly done would lose the GPU and wait with the least slowdown of all.
 *
 * A hand-over costs every waiting task time, and an evicted task is back after a shortest quantum
 * of another task and two hand-overs at the earliest. So the holder keeps the GPU if it would be
 * slowed down most after such a wait. Without this, equation 2, which ends the quantum when two
 * tasks are equal, makes long tasks change places every minimum quantum, which helps neither. If
 * hand-overs cost nothing this is the paper's rule.
 *
 * If all tasks are long, a longer quantum changes slowdowns only little. So a quantum is at least
 * an eighth of the shortest length among them, if that is at most 100 hand-overs. Two kernels of
 * 165 ms that changed places every 3 ms took 1.066 times the sum of their lengths (H200).
 *
 * Good for mixed lengths: short kernels are served soon, and long ones still progress. Bad if alone
 * times are far off.
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

/* The least time that the holder would wait after an eviction, if hand-overs cost time. */
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
