/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfs: completely fair (FRS, section IV-D).  Time is cut into epochs; in
 * each, every task that was there at its beginning gets an equal quantum:
 * the epoch's length divided by their number.  Within an epoch the longest
 * wait goes first; all waits grow alike, so their order is fixed.
 *
 * word[0] of a task is the epoch in which it may run next; state[0] is the
 * running epoch and state[1] its quantum.  The epoch ends when nobody is left
 * who may run in it; an arrival joins the next one.
 *
 * With more than sixteen tasks the epoch grows with them, as that of the
 * scheduler of the same name in Linux does beyond its least granularity: parts of a
 * few microseconds would be nothing but decisions.
 *
 * With cfs_longest_wait, of the simulator alone, nobody has a turn in each epoch: when a quantum is
 * over the longest wait goes next, for the epoch divided by the tasks that are there then
 * (state[0]: the turn that state[1] is for).  That evens out the waits, not the time run, and is
 * nearer to the paper's numbers; doc/policies.md, "Results".
 *
 * Good for equal shares of time; bad for short tasks, which get no more than long ones.
 */
#include "gpushare/sched/policy.h"

#define PARTS_MOST 16

static void arrive(struct gs_view *view, struct gs_task *task)
{
	task->word[0] = view->state[0] + 1;
}

static void expire(struct gs_view *view, struct gs_task *task)
{
	task->word[0] = view->state[0] + 1;
}

static void place(const struct gs_view *view, const struct gs_task *task, struct gs_entry *entry)
{
	double waiting = (double)task->waited_ns;

	/*
	 * When the task began to wait. The holder does not wait, so it counts as joining the queue
	 * now.
	 */
	waiting -= (double)(task == view->holder ? view->now : task->since_ns);
	entry->key.round = view->options->cfs_longest_wait ? 0 : task->word[0];
	entry->key.rank = -waiting;
}

static uint64_t quantum(struct gs_view *view, const struct gs_task *task)
{
	int by_slice = view->options->cfs_longest_wait;

	/*
	 * The quantum is computed once for each epoch or time slice. When an arrival has the core
	 * ask again, it stays the same.
	 */
	if (by_slice ? task->slice != view->state[0] : task->word[0] > view->state[0]) {
		view->state[0] = by_slice ? task->slice : task->word[0];
		view->state[1] = view->options->cfs_epoch_ns /
				 (view->count + 1 < PARTS_MOST ? view->count + 1 : PARTS_MOST);
	}
	return view->state[1];
}

const struct gs_policy gs_policy_cfs = {
	.name = "cfs",
	.arrive = arrive,
	.expire = expire,
	.place = place,
	.quantum = quantum,
	.lets_finish = 1,
};
