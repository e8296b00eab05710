/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who descends from whom, read from /proc: a process belongs to a job step
 * when the process that registered the step is among its ancestors.
 */
#ifndef GPUSHARE_DAEMON_PROC_H
#define GPUSHARE_DAEMON_PROC_H

#include <stdint.h>
#include <sys/types.h>

struct gs_proc {
	pid_t ppid;
	uint64_t start; /* clock ticks since boot: tells a process from a later one of the same
			   number */
};

/* Take apart the text of /proc/<pid>/stat.  0, or -1 if it is none. */
int gs_proc_parse(const char *text, struct gs_proc *proc);

/* The process as it is now; -1 if there is none such, or it is a zombie's shell. */
int gs_proc_read(pid_t pid, struct gs_proc *proc);

/* 1 while the process of that number is the one that started then. */
int gs_proc_alive(pid_t pid, uint64_t start);

/*
 * 1 if the process does not run and will not by itself: it got SIGSTOP, or its
 * control group is frozen (`scontrol suspend` does the one or the other).
 * `root` is where the control groups are mounted, normally GS_CGROUP_ROOT.
 */
#define GS_CGROUP_ROOT "/sys/fs/cgroup"
int gs_proc_stopped(pid_t pid, const char *root);

/*
 * 1 if pid is `ancestor` (which started at `start`) or descends from it.  No
 * ancestor may be younger than its child: a reused number breaks the chain.
 */
int gs_proc_descends(pid_t pid, pid_t ancestor, uint64_t start);

#endif
