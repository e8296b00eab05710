/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * piv: priority-based immediate eviction (EffiSha, section 7).  The highest
 * priority runs to completion; an arrival of a higher one evicts it at once.
 *
 * Good when priorities mean what they say; bad for low ones under load, which
 * only the core's starvation bound helps.
 */
#include "gpushare/sched/policy.h"

static void place(const struct gs_view *view, const struct gs_task *task, struct gs_entry *entry)
{
	(void)view;
	entry->key.rank = -(double)task->priority;
}

const struct gs_policy gs_policy_piv = {
	.name = "piv",
	.place = place,
	.preempts = 1,
	.by_priority = 1,
};
