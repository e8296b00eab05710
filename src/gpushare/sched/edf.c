/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * edf: earliest deadline first. The task that is due first runs to completion, and an arrival that
 * is due earlier evicts it at once. A task that has missed its deadline keeps it, so it goes before
 * all that are due later: what is late already is finished before anything new. Tasks without a
 * deadline come after all that have one, in order of arrival, as under fifo.
 *
 * On a GPU whose hand-over takes h, no deadline is missed by tasks that arrive once in T at most,
 * take C and are due D after their arrival, if the sum of (C + 2h) / min(T, D) is at most 1: a task
 * costs at most the hand-over to it and the one back to the task that it evicts. What an evicted
 * kernel takes to leave comes on top of that (testsuite/unit/test_sim_edf.c).
 *
 * Good where work is periodic and the GPU is not overloaded. Bad where it is: each late task makes
 * the next one late. Tasks without a deadline wait without end if those with one leave no time.
 */
#include "gpushare/sched/policy.h"

static void place(const struct gs_view *view, const struct gs_task *task, struct gs_entry *entry)
{
	(void)view;
	entry->key.round = task->due_ns;
}

const struct gs_policy gs_policy_edf = {
	.name = "edf",
	.place = place,
	.preempts = 1,
	.by_deadline = 1,
};
