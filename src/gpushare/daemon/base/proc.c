/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes as /proc shows them; see proc.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD /* glibc 2.39 and older have no name for it */
#define SO_PEERPIDFD 77
#endif

int gs_proc_parse(const char *text, struct gs_proc *proc)
{
	/* The second field is the program's name in brackets. The name may contain brackets and
	 * blanks, so the last bracket counts. */
	const char *rest = strrchr(text, ')');
	int ppid, threads;
	uint64_t start;
	char state;

	if (!rest)
		return -1;
	/* 3 state, 4 ppid, ..., 20 num_threads, ..., 22 starttime (proc(5)). */
	if (sscanf(rest + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d"
		   " %*d %*d %d %*d %" SCNu64,
		   &state, &ppid, &threads, &start) != 4)
		return -1;
	/* That is its first thread's state. The process lives as long as one of its threads. */
	if ((state == 'Z' && threads <= 1) || state == 'X')
		return -1;
	proc->ppid = ppid;
	proc->start = start;
	return 0;
}

int gs_proc_read_at(const char *root, pid_t pid, struct gs_proc *proc)
{
	char path[256], text[1024];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%d/stat", root, (int)pid);
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

int gs_proc_read(pid_t pid, struct gs_proc *proc)
{
	return gs_proc_read_at("/proc", pid, proc);
}

int gs_proc_read_connected(int sock, pid_t pid, struct gs_proc *proc)
{
	struct pollfd connected = { .fd = -1, .events = POLLIN };
	socklen_t size = sizeof(connected.fd);
	int rc;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &connected.fd, &size) < 0)
		return errno == ENOPROTOOPT ? gs_proc_read(pid, proc) : -1;
	/* If it is still alive after its start time was read, the number was its own then. */
	rc = gs_proc_read(pid, proc);
	if (poll(&connected, 1, 0) != 0)
		rc = -1;
	close(connected.fd);
	return rc;
}

/* Finds the line of a small file that begins with `begin`, and copies what follows to `rest`. */
static int find_line(const char *path, const char *begin, char *rest, size_t size)
{
	size_t length = strlen(begin);
	char line[512];
	int found = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f))
		if (strncmp(line, begin, length) == 0) {
			snprintf(rest, size, "%.*s", (int)strcspn(line + length, "\n"),
				 line + length);
			found = 1;
		}
	fclose(f);
	return found;
}

/* "4:freezer:/slurm/job_5" is a line of cgroup version 1, "0::/system.slice/..." the line of
 * version 2. */
static int frozen(pid_t pid, const char *root)
{
	char path[1024], line[512], rest[512], is[16];
	int ret = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	f = fopen(path, "re");
	while (f && !ret && fgets(line, sizeof(line), f)) {
		char *v1 = strstr(line, ":freezer:");

		line[strcspn(line, "\n")] = '\0';
		if (v1) {
			snprintf(path, sizeof(path), "%s/freezer%s/freezer.state", root, v1 + 9);
			ret = find_line(path, "FROZEN", rest, sizeof(rest));
		} else if (strncmp(line, "0::", 3) == 0) {
			snprintf(path, sizeof(path), "%s%s/cgroup.events", root, line + 3);
			ret = find_line(path, "frozen ", is, sizeof(is)) && is[0] == '1';
		}
	}
	if (f)
		fclose(f);
	return ret;
}

/* The letter of its state (proc(5)); 0: there is no such process. */
static char state_of(pid_t pid)
{
	char path[32], state[32];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return find_line(path, "State:\t", state, sizeof(state)) ? state[0] : 0;
}

int gs_proc_stopped_by_signal(pid_t pid)
{
	return state_of(pid) == 'T';
}

int gs_proc_stopped(pid_t pid, const char *root)
{
	char state = state_of(pid);

	return state == 'T' || state == 't' || (state && state != 'R' && frozen(pid, root));
}

int gs_proc_alive(pid_t pid, uint64_t start)
{
	struct gs_proc now;

	return gs_proc_read(pid, &now) == 0 && now.start == start;
}

int gs_proc_signal(pid_t pid, uint64_t start, int sig)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), rc = -1, saved = ESRCH;

	if (fd < 0)
		return -1;
	/* The descriptor stays with one process: if that is the right one now, it is so when the
	 * signal is sent. */
	if (gs_proc_alive(pid, start)) {
		rc = (int)syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
		saved = errno;
	}
	close(fd);
	errno = saved;
	return rc;
}
