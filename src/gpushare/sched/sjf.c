/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sjf: shortest job first (FRS, section IV-A).  The priority of a task
 * is its whole length, NT x tpt: the longer, the lower.  A shorter arrival
 * evicts the holder.
 *
 * Good for the mean turnaround; bad for long tasks under load, and a long
 * task that is nearly done still yields (srt does better).
 */
#include "gpushare/sched/policy.h"

static void place(const struct gs_view *view, const struct gs_task *task, struct gs_entry *entry)
{
	entry->key.rank = (double)gs_task_alone(view, task);
}

const struct gs_policy gs_policy_sjf = {
	.name = "sjf",
	.place = place,
	.preempts = 1,
};
