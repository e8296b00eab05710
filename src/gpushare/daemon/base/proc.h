/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes as /proc shows them: parent, start time, and whether they are alive or stopped. */
#ifndef GPUSHARE_DAEMON_PROC_H
#define GPUSHARE_DAEMON_PROC_H

#include <stdint.h>
#include <sys/types.h>

#define GS_PROC_DEPTH_MAX 1024 /* a longer chain of ancestors is an attack */

struct gs_proc {
	pid_t ppid;
	/* clock ticks since boot; distinguishes a process from a later one with the same number */
	uint64_t start;
};

/* Parses the text of /proc/<pid>/stat. Returns 0, or -1 if it is not valid. */
int gs_proc_parse(const char *text, struct gs_proc *proc);

/* Reads the process as it is now. Returns 0; -1 if there is no such process, or it is a zombie. */
int gs_proc_read(pid_t pid, struct gs_proc *proc);
/* The same with another folder in place of /proc, for tests. */
int gs_proc_read_at(const char *root, pid_t pid, struct gs_proc *proc);

/*
 * The same of the process that connected `sock`, a Unix socket, whose number SO_PEERCRED has as
 * `pid`. Returns -1 also if that process has ended. Linux before 6.5 cannot tell: there
 * another process that has got its number is read.
 */
int gs_proc_read_connected(int sock, pid_t pid, struct gs_proc *proc);

/* Returns 1 while the process with that number is the one that started then. */
int gs_proc_alive(pid_t pid, uint64_t start);

/* Sends the signal to the process that started then, and never to a later one with its number.
 * Returns 0; -1 with errno, ESRCH if that process has ended. Linux before 5.3 cannot (ENOSYS). */
int gs_proc_signal(pid_t pid, uint64_t start, int sig);

/*
 * Returns 1 if the process is stopped: it got SIGSTOP, or its control group is frozen (`scontrol
 * suspend` does one of them). `root` is where the control groups are mounted, normally
 * GS_CGROUP_ROOT.
 */
#define GS_CGROUP_ROOT "/sys/fs/cgroup"
int gs_proc_stopped(pid_t pid, const char *root);
/* Returns 1 if it got SIGSTOP, SIGTSTP or their like, whether its control group is frozen or not.
 */
int gs_proc_stopped_by_signal(pid_t pid);

#endif
