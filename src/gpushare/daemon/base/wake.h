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

#define GS_FROZEN_MAX 400 /* the name of a freezer's file; Slurm's have some 150 characters */

/* How a process was stopped. */
struct gs_how_stopped {
	int by_signal;
	/* the file below root by which its cgroup was frozen; "": it was not */
	char frozen[GS_FROZEN_MAX];
};

/* A process that is woken for some time. If it has ended, only its cgroup is frozen or thawed. */
struct gs_woken {
	pid_t pid;
	uint64_t start; /* start time of that process (proc.h) */
	struct gs_how_stopped how;
};

/* How is that process stopped? A cgroup above the job's does not count. root: where the control
 * groups are mounted, normally GS_CGROUP_ROOT (proc.h). */
void gs_wake_inspect(pid_t pid, uint32_t job_id, const char *root, struct gs_how_stopped *how);

/* The part of it that finds the file: text is that of /proc/<pid>/cgroup, which it changes. file
 * "": no cgroup from the process's own up to the job's was told to freeze. */
void gs_wake_find(char *text, uint32_t job_id, const char *root, char *file, size_t size);

/* Lets the process go on, with all others of its step if that was frozen. Returns 0, also if it was
 * not stopped; -1 with the reason: it cannot be woken, and is stopped as before. */
int gs_wake(const struct gs_woken *woken, const char *root, struct gs_error *err);

/* Stops it again, or lets it go on once more. A cgroup that is gone is no error. */
void gs_stop_again(const struct gs_woken *woken, const char *root);
void gs_wake_again(const struct gs_woken *woken, const char *root);

#endif
