/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connects the daemon's modules; see wiring.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/wiring.h"

#include "gpushare/daemon/requests/admin.h"
#include "gpushare/daemon/steps/saved_usage.h"
#include "gpushare/daemon/session/clients.h"
#include "gpushare/daemon/history/history.h"
#include "gpushare/daemon/checkpoint/noticed.h"
#include "gpushare/daemon/checkpoint/suspend.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/memory/memory_check.h"
#include "gpushare/daemon/slurm/overdue.h"
#include "gpushare/daemon/report/gather.h"
#include "gpushare/daemon/report/job_sums.h"
#include "gpushare/daemon/requests/query.h"
#include "gpushare/daemon/requests/step_figures.h"
#include "gpushare/daemon/history/record.h"
#include "gpushare/daemon/requests/register.h"
#include "gpushare/daemon/requests/where.h"
#include "gpushare/daemon/slurm/slurm_report.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/steps/outlived.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/steps/steps.h"
#include "gpushare/daemon/checkpoint/checkpoint.h"
#include "gpushare/daemon/session/priority_request.h"

/* The handler for each type of message; every other type closes the connection. */
static gs_handler *const handlers[GS_MSG_COUNT] = {
	[GS_MSG_HELLO] = gs_on_hello,
	[GS_MSG_ALLOC] = gs_on_alloc,
	[GS_MSG_FREE] = gs_on_free,
	[GS_MSG_KERNEL] = gs_on_kernel,
	[GS_MSG_TIME] = gs_on_time,
	[GS_MSG_UNTRACKED] = gs_on_untracked,
	[GS_MSG_VARIANT] = gs_on_variant,
	[GS_MSG_PRIORITY_REQUEST] = gs_on_priority_request,
	[GS_MSG_DOORBELL] = gs_on_doorbell,
	[GS_MSG_REGISTER] = gs_on_register,
	[GS_MSG_UNREGISTER] = gs_on_unregister,
	[GS_MSG_LOCAL] = gs_on_local,
	[GS_MSG_PERIODIC] = gs_on_periodic,
	[GS_MSG_QUERY] = gs_on_query,
	[GS_MSG_HISTORY] = gs_on_history,
	[GS_MSG_POLICY] = gs_on_policy,
	[GS_MSG_PRIORITY] = gs_on_priority,
	[GS_MSG_SUSPEND] = gs_on_suspend,
	[GS_MSG_CLASS_POLICY] = gs_on_class_policy,
	[GS_MSG_WHERE] = gs_on_where,
	[GS_MSG_FIGURES] = gs_on_figures,
};

static const struct gs_memory_relief relief = { gs_checkpoint_step, gs_checkpoint_why };
static void told_suspended(struct gs_daemon *d, uint32_t ticket, int is)
{
	gs_noticed_answer(d, ticket,
			  is < 0 ? GS_IS_UNKNOWN :
			  is     ? GS_IS_SUSPENDED :
				   GS_IS_NOT_SUSPENDED);
}

static uint32_t inquire_suspended(struct gs_daemon *d, uint32_t job_id)
{
	return d->slurm ? gs_slurm_report_inquire(d->slurm, job_id) : 0;
}

static const struct gs_slurm_listeners slurm = { gs_register_reported, gs_overdue_not_killed,
						 told_suspended };

void gs_wire(void)
{
	gs_connections_serve(handlers);
	/* These listeners come first: they use the client's step, which the next ones take away. */
	gs_connections_on_gone(gs_checkpoint_connection_gone);
	gs_connections_on_gone(gs_returning_gone);
	gs_connections_on_gone(gs_client_gone);
	gs_connections_on_gone(gs_memory_check_conn_gone);
	gs_connections_on_gone(gs_suspend_connection_gone);
	gs_connections_on_gone(gs_query_conn_gone);
	gs_connections_on_gone(gs_register_conn_gone);

	gs_steps_on_over(gs_record_step);
	gs_steps_on_over(gs_gather_ended);
	gs_allocs_on_over(gs_checkpoint_alloc_gone);
	gs_allocs_on_over(gs_returning_alloc_gone);

	/* The steps come first: the others' lines belong to a step that must exist already. */
	gs_state_register(&gs_steps_part);
	gs_state_register(&gs_saved_usage_part);
	gs_state_register(&gs_job_sums_part);
	gs_state_register(&gs_checkpoint_part);
	gs_state_register(&gs_suspend_part);
	gs_state_register(&gs_noticed_part);
	gs_state_register(&gs_outlived_part);
	gs_state_register(&gs_returning_part);

	gs_memory_set_relief(&relief);
	gs_checkpoint_on_lost(gs_overdue_lost);
	gs_noticed_set_inquire(inquire_suspended);
	gs_slurm_report_listen(&slurm);
	gs_history_listen(gs_query_answered);
}
