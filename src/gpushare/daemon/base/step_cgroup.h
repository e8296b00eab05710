/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds which of a job's steps a process is in, from the text of /proc/<pid>/cgroup.
 *
 * Slurm gives each step a cgroup .../job_<number>/step_<name>, in each hierarchy that it uses in
 * version 1, or below slurmstepd's scope in version 2. A process stays in it whatever happens to
 * its parents. A user may own cgroups elsewhere and give them the same names. So a path counts only
 * below the job's cgroup in which the step's own slurmstepd is, since root put it there. Pure code
 * except for gs_step_cgroup_read().
 */
#ifndef GPUSHARE_DAEMON_STEP_CGROUP_H
#define GPUSHARE_DAEMON_STEP_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GS_STEP_CGROUP_TEXT_MAX 16384 /* how much of a process's text is read */

enum gs_in_cgroup {
	GS_IN_NO_STEP,   /* it is in no step of that job */
	GS_IN_THIS_STEP, /* the process is in the step's cgroup */
	GS_IN_OTHER_STEP /* it is in the cgroup of another step of the job */
};

/* Compares a process's lines with those of the process that registered the step. Both are whole
 * texts. *other (NULL is fine) is the other step's number in the case of GS_IN_OTHER_STEP. */
enum gs_in_cgroup gs_step_cgroup_find(const char *process, const char *registrant, uint32_t job_id,
				      uint32_t step_id, uint32_t *other);

/*
 * Reads the step's number from a path component such as "step_0", "step_batch" or "step_0+1" (a
 * part of a heterogeneous step), which ends with the text or at a slash. Returns 0; -1: it names no
 * step.
 */
int gs_step_cgroup_number(const char *component, uint32_t *step_id);

/* Reads <proc>/<pid>/cgroup; proc is normally "/proc". Returns 0; -1: the process is gone or its
 * kernel has no cgroups, and buf is "" then. */
int gs_step_cgroup_read(const char *proc, pid_t pid, char *buf, size_t size);

#endif
