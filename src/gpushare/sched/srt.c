/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * srt: shortest remaining time (FRS, section IV-B).  As sjf, but the
 * priority is what a task still needs; it is looked at again when something
 * arrives.  A waiting task's remaining time does not change, so its place in
 * the queue is fixed.
 *
 * Nothing left of what was told, and still there: the length was wrong, and
 * what it has run beyond it stands for what it needs.  So a client that
 * claims to be short is first only until it has shown that it is not.
 *
 * The best mean slowdown of all; bad for long tasks under load, and it needs
 * to know lengths.
 */
#include "gpushare/sched/policy.h"

static void place(const struct gs_view *view, const struct gs_task *task,
		  struct gs_entry *entry)
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
