/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a task has run, and how long it will: what policies may ask; see policy.h. */
#include "gpushare/sched/core.h"

uint64_t gs_core_left(uint64_t nt, uint64_t done, uint64_t alone_ns)
{
	if (done >= nt)
		return 0;
	return done ? (uint64_t)((double)alone_ns * ((double)(nt - done) / (double)nt))
		    : alone_ns;
}

uint64_t gs_task_ran(const struct gs_view *view, const struct gs_task *task)
{
	return task->ran_ns + (task == view->holder ? view->now - task->since_ns : 0);
}

uint64_t gs_task_alone(const struct gs_view *view, const struct gs_task *task)
{
	uint64_t ran;

	if (task->alone_ns)
		return task->alone_ns;
	ran = gs_task_ran(view, task);
	if (task->done && task->left_ran_ns)
		ran = (uint64_t)((double)task->left_ran_ns *
				 ((double)task->nt / (double)task->done));
	else
		ran = ran > GS_NO_LIMIT / 2 ? ran : 2 * ran;
	return ran > view->options->min_quantum_ns ? ran : view->options->min_quantum_ns;
}

uint64_t gs_task_left(const struct gs_view *view, const struct gs_task *task)
{
	uint64_t since_told = gs_task_ran(view, task) - task->left_ran_ns;
	uint64_t left = task->alone_ns ? task->left_ns
		: gs_core_left(task->nt, task->done, gs_task_alone(view, task));

	return left > since_told ? left - since_told : 0;
}
