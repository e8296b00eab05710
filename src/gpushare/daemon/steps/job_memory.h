/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory a job's steps may reserve together. Slurm counts shares only, and job_submit sees
 * what a job asks for, not what srun asks for within its allocation.
 */
#ifndef GPUSHARE_DAEMON_JOB_MEMORY_H
#define GPUSHARE_DAEMON_JOB_MEMORY_H

#include "gpushare/daemon/base/step.h"

/* May the step reserve so much, beside what its job's other steps have? 0; -1 with the reason. By
 * earlier runs (GS_MEMORY_AUTO) it gets what is left, instead. */
int gs_job_memory_check(const struct gs_daemon *d, const struct gs_device *device,
			const struct gs_step_info *info, uint64_t *bytes, struct gs_error *err);

#endif
