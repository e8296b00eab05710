/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forked helpers; see child.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/child.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

void gs_child_close(int first, int last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	for (int fd = first; fd <= last && fd < GS_DESCRIPTORS_MOST; fd++)
		close(fd);
}

/* In the child: closes all descriptors but the socket. */
static void only_socket(int sock)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd); /* the child reports errors in its answers */
	dup2(sock, 3);
	gs_child_close(4, INT_MAX);
}

void gs_child_default_signals(void)
{
	static const int defaults[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE };
	sigset_t none;

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		signal(defaults[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int gs_child_start(pid_t *pid, void (*body)(int sock, const char *arg), const char *arg, int dies)
{
	int ends[2];

	*pid = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	*pid = fork();
	if (*pid == 0) {
		if (dies)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		gs_child_default_signals();
		only_socket(ends[1]);
		body(3, arg);
		_exit(0);
	}
	close(ends[1]);
	if (*pid < 0) {
		*pid = 0;
		close(ends[0]);
		return -1;
	}
	return ends[0];
}

void gs_child_kill(pid_t pid)
{
	const struct timespec pause = { 0, 1000000 };

	kill(pid, SIGKILL);
	for (int i = 0; i < 100 && waitpid(pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
}
