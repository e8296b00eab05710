/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * srt: shortest remaining time (FRS, section IV-B). As sjf, but a task's priority is the time that
 * it still needs, and it is compared anew when a task arrives. The remaining time of a waiting task
 * does not change, so its place in the queue is fixed.
 *
 * A task that is still there when nothing is left of its told length was told wrongly. From then on
 * it counts as needing as much as it has run beyond that length. So a client that claims to be
 * short comes first only until it has shown that it is not.
 *
 * It has the best mean slowdown of all policies. It is bad for long tasks under load, and it needs
 * to know lengths.
 */
#include "gpushare/sched/policy.h"

static void place(const struct gs_view *view, const struct gs_task *task, struct gs_entry *entry)
{
	uint64_t left = gs_task_left(view, task), ran = gs_task_ran(view, task);

	if (left == 0 && ran > task->alone_ns)
		left = ran - task->alone_ns;
	entry->key.rank = (double)left;
}

const struct gs_policy gs_policy_srt = {
	.name = "srt",
	.place = place,
	.preempts = 1,
};
