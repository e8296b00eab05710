/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rr: round robin (FRS, section IV-C). All quanta are equal, and tasks are served in order; a task
 * that has used its quantum goes to the end of the queue. Good if nothing is known of the tasks;
 * bad for their slowdown, which grows with the number of tasks, and it pays a hand-over per
 * quantum.
 */
#include "gpushare/sched/policy.h"

static void place(const struct gs_view *view, const struct gs_task *task, struct gs_entry *entry)
{
	(void)view;
	entry->key.rank = (double)task->slice;
}

static uint64_t quantum(struct gs_view *view, const struct gs_task *task)
{
	(void)task;
	return view->options->rr_quantum_ns;
}

const struct gs_policy gs_policy_rr = {
	.name = "rr",
	.place = place,
	.quantum = quantum,
	.lets_finish = 1,
};
