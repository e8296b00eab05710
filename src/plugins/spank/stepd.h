/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plugin inside slurmstepd: one step, registered with gpushared as it
 * begins, taken back as it ends.  A step without shares gets the job's mounts only.
 */
#ifndef GPUSHARE_PLUGINS_SPANK_STEPD_H
#define GPUSHARE_PLUGINS_SPANK_STEPD_H

#include <slurm/spank.h>

#include "plugins/values.h"

/* The plugin's arguments are wrong: a step with shares will fail, for this reason. */
void gs_stepd_misconfigured(const struct gs_error *err);

/* As root, the environment of the step being known and no task started; puts the node's name into
 * args. */
void gs_stepd_begin(spank_t spank, struct gs_spank_args *args);

/* Once the step's standard error is open: say there what went wrong. */
void gs_stepd_tell(void);

/* In the child that becomes a task, as root: does not return if the task must not run. */
void gs_stepd_task(void);

/* In slurmd's epilog, as root: the job is over. */
void gs_stepd_job_over(spank_t spank, struct gs_spank_args *args);

/* In the child, as the user: it is back in its working directory; and where Slurm binds GPUs to
 * tasks (--gpu-bind) it has taken the step's shared GPU out of the environment. */
void gs_stepd_task_env(spank_t spank);

/* As root, a task has ended. */
void gs_stepd_task_exit(spank_t spank, const struct gs_spank_args *args);

/* As root, the step has ended, however far it came. */
void gs_stepd_end(const struct gs_spank_args *args);

/* After that, if slurmctld was away when a batch script ended: wait for it, and have the job's last
 * report written. */
void gs_stepd_report_late(const struct gs_spank_args *args);

/* After that: a step that could not run because slurmctld was away has its job requeued. */
void gs_stepd_requeue(void);

#endif
