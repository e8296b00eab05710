/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See ended.h. */
#define _GNU_SOURCE
#define GS_IN_SLURMCTLD
#include "plugins/prep/ended.h"

#include "gpushare/proto/comment.h"
#include "plugins/gs_slurm_compat.h"
#include "src/slurmctld/state_save.h"
/* It moved with 23.02. */
#if __has_include("src/interfaces/accounting_storage.h")
#include "src/interfaces/accounting_storage.h"
#else
#include "src/common/slurm_accounting_storage.h"
#endif

/* slurmctld's own; slurmd loads this plugin too. */
extern void *acct_db_conn __attribute__((weak));
extern time_t last_job_update __attribute__((weak));
extern time_t last_node_update __attribute__((weak));

static void report(uint32_t job_id, const node_record_t *node, const char *text)
{
	char merged[2 * GS_COMMENT_MAX];
	job_record_t *job = find_job_record(job_id);

	/* One that runs again is told of by the daemon as usual. */
	if (!job || !IS_JOB_FINISHED(job))
		return;
	if ((job->total_nodes > 1 ?
		     gs_comment_merge_node(job->admin_comment, node->name, text, merged,
					   sizeof(merged)) :
		     gs_comment_merge(job->admin_comment, text, merged, sizeof(merged))) < 0)
		return;
	xfree(job->admin_comment);
	job->admin_comment = xstrdup(merged);
	last_job_update = time(NULL);
	schedule_job_save();
	/* The database was told of the job's end before. */
	jobacct_storage_g_job_complete(acct_db_conn, job);
}

void gs_ended_take(void)
{
	char text[GS_COMMENT_MAX];
	uint32_t job_id;

	for (int i = 0; i < node_record_count; i++) {
		node_record_t *node = node_record_table_ptr[i];

		while (node && node->extra &&
		       gs_comment_take_ended(node->extra, &job_id, text, sizeof(text))) {
			report(job_id, node, text);
			last_node_update = time(NULL);
		}
		if (node && node->extra && !*node->extra)
			xfree(node->extra);
	}
}
