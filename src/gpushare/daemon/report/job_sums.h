/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each Slurm job's ended steps had together, for the comment on the job, by which sites may
 * bill. The list of finished steps would not do: it has the last thousand only, and a job may have
 * more.
 *
 * The 4,096 jobs of which a step ended last are known; a job that still has a step here is not
 * forgotten for others. The sums of jobs that have a step are in the state file, so that a restart
 * does not begin them anew.
 */
#ifndef GPUSHARE_DAEMON_JOB_SUMS_H
#define GPUSHARE_DAEMON_JOB_SUMS_H

#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/report/report.h"

/* A step has ended: adds its figures to those of its job. */
void gs_job_sums_note(const struct gs_daemon *d, const struct gs_report_row *ended);

/* Adds the row's figures to the sum: times, preemptions and copies are summed, memory and shares
 * are the largest, the GPU is the row's. All other figures stay as they are. */
void gs_job_sums_add(struct gs_report_row *sum, const struct gs_report_row *row);

/* What the job's ended steps had, as gs_job_sums_add() sums it; NULL: none has ended here. Valid
 * until the next step ends. */
const struct gs_report_row *gs_job_sums_find(uint32_t job_id);

/* Forgets all. */
void gs_job_sums_fini(void);

/* A line "job ..." behind the first registered step of each job. */
extern const struct gs_state_part gs_job_sums_part;

#endif
