/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lets a process go on that Slurm has stopped, and stops it again in the same way. Slurm has sent
 * it SIGSTOP, or has frozen the cgroup of its step, which holds all processes of the step.
 */
#ifndef GPUSHARE_DAEMON_WAKE_H
#define GPUSHARE_DAEMON_WAKE_H

#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

/* How a process was stopped. */
struct gs_how_stopped {
	int by_signal;
	char frozen[512]; /* the file below root by which its cgroup was frozen; "": it was not */
};

/*
 * Lets the process go on, with all others of its step if that was frozen, and writes how it was
 * stopped to *how. A cgroup above the job's is not touched. root: where the control groups are
 * mounted, normally GS_CGROUP_ROOT (proc.h). Returns 0, also if it was not stopped; -1 with the
 * reason: it cannot be woken, and is stopped as before.
 */
int gs_wake(pid_t pid, uint32_t job_id, const char *root, struct gs_how_stopped *how,
	    struct gs_error *err);

/* The part of it that finds the file: text is that of /proc/<pid>/cgroup, which it changes. file
 * "": no cgroup from the process's own up to the job's was told to freeze. */
void gs_wake_find(char *text, uint32_t job_id, const char *root, char *file, size_t size);

/* Stops it again, or lets it go on once more: `how` is of gs_wake(). pid 0: it has ended, and only
 * its cgroup is frozen or thawed. A cgroup that is gone is no error. */
void gs_stop_again(pid_t pid, const char *root, const struct gs_how_stopped *how);
void gs_wake_again(pid_t pid, const char *root, const struct gs_how_stopped *how);

#endif
