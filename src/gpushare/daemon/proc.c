/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Process ancestry from /proc; see proc.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 1024 /* a longer chain of ancestors is somebody playing */

int gs_proc_parse(const char *text, struct gs_proc *proc)
{
	/* The second field is the program's name in brackets; it may hold
	 * brackets and blanks of its own, so the last one counts. */
	const char *rest = strrchr(text, ')');
	uint64_t start;
	char state;
	int ppid;

	if (!rest)
		return -1;
	/* 3 state, 4 ppid, ..., 22 starttime (proc(5)). */
	if (sscanf(rest + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
		   " %*d %*d %*d %*d %" SCNu64, &state, &ppid, &start) != 3)
		return -1;
	if (state == 'Z' || state == 'X')
		return -1;
	proc->ppid = ppid;
	proc->start = start;
	return 0;
}

int gs_proc_read(pid_t pid, struct gs_proc *proc)
{
	char path[32], text[1024];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	return gs_proc_parse(text, proc);
}

int gs_proc_alive(pid_t pid, uint64_t start)
{
	struct gs_proc now;

	return gs_proc_read(pid, &now) == 0 && now.start == start;
}

int gs_proc_descends(pid_t pid, pid_t ancestor, uint64_t start)
{
	struct gs_proc proc;
	uint64_t youngest = UINT64_MAX;

	for (int depth = 0; depth < DEPTH_MAX && pid > 0; depth++) {
		if (gs_proc_read(pid, &proc) < 0 || proc.start > youngest)
			return 0;
		if (pid == ancestor)
			return proc.start == start;
		youngest = proc.start;
		pid = proc.ppid;
	}
	return 0;
}
