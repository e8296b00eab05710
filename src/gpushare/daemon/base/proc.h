/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes as /proc shows them: parent, start, whether they live or are stopped. */
#ifndef GPUSHARE_DAEMON_PROC_H
#define GPUSHARE_DAEMON_PROC_H

#include <stdint.h>
#include <sys/types.h>

#define GS_PROC_DEPTH_MAX 1024 /* a longer chain of ancestors is somebody playing */

struct gs_proc {
	pid_t ppid;
	uint64_t start; /* clock ticks since boot: tells a process from a later one of the same
			   number */
};

/* Take apart the text of /proc/<pid>/stat.  0, or -1 if it is none. */
int gs_proc_parse(const char *text, struct gs_proc *proc);

/* The process as it is now; -1 if there is none such, or it is a zombie's shell. */
int gs_proc_read(pid_t pid, struct gs_proc *proc);
/* The same with another folder in the place of /proc, for tests. */
int gs_proc_read_at(const char *root, pid_t pid, struct gs_proc *proc);

/* 1 while the process of that number is the one that started then. */
int gs_proc_alive(pid_t pid, uint64_t start);

/*
 * 1 if the process does not run and will not by itself: it got SIGSTOP, or its
 * control group is frozen (`scontrol suspend` does the one or the other).
 * `root` is where the control groups are mounted, normally GS_CGROUP_ROOT.
 */
#define GS_CGROUP_ROOT "/sys/fs/cgroup"
int gs_proc_stopped(pid_t pid, const char *root);

#endif
