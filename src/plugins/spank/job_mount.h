/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The job's mount namespace, in which the shim has the place of the driver's own file
 * (gpushare/mount/): for every step of every job on a node whose gpushared has written a plan,
 * with shares or without.
 */
#ifndef GPUSHARE_PLUGINS_SPANK_JOB_MOUNT_H
#define GPUSHARE_PLUGINS_SPANK_JOB_MOUNT_H

#include <slurm/spank.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

/* In slurmstepd: read the plan beside gpushared's socket.  1: there is one; 0: there is none, as on
 * nodes without gpushared; -1 with the reason: the step must not run. */
int gs_job_mount_begin(const char *socket, struct gs_error *err);

/* Is there a plan, and does the loader find the driver by itself, so that it needs no
 * LD_LIBRARY_PATH? */
int gs_job_mount_planned(void);
int gs_job_mount_suffices(void);

/*
 * In a task, as root: join the job's namespace; environment: the variables from gpushared, for
 * that user's processes that have lost them (mount/cover.h); NULL: the step has no shares.  0, or
 * -1 with the reason: the task must not run.
 */
int gs_job_mount_join(uint32_t job_id, uid_t uid, const char *environment, struct gs_error *err);

/* After that as the user, who may enter folders that root may not: back to the working directory.
 */
void gs_job_mount_return(void);

/* In slurmd's epilog: the job is over. */
void gs_job_mount_over(const char *socket, uint32_t job_id);

#endif
