/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running a program of the system's, with a limit; see findings.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/findings.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

#define PATIENCE_NS (10 * GS_NS_PER_S)
#define NOT_THERE 127

/*
 * The caller's PATH comes first: a Slurm that was built from source lies in a folder of its own,
 * perhaps beside one of the distribution's.  Administrators' programs lie in sbin.
 */
static void widen_path(void)
{
	static const char rest[] = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin";
	const char *own = getenv("PATH");
	char *both = NULL;

	if (own && *own && asprintf(&both, "%s:%s", own, rest) < 0)
		both = NULL;
	setenv("PATH", both ? both : rest, 1);
	free(both);
}

/* In the child. */
static void become(char *const *argv, int out)
{
	int null = open("/dev/null", O_RDONLY);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	widen_path();
	execvp(argv[0], argv);
	_exit(NOT_THERE);
}

/* Until it closes the pipe or time is up; 0 or -1. */
static int collect(int in, char *out, size_t size)
{
	uint64_t end = gs_clock_ns() + PATIENCE_NS;
	struct pollfd p = { .fd = in, .events = POLLIN };
	size_t had = 0;

	for (;;) {
		uint64_t now = gs_clock_ns();
		char scratch[512];
		ssize_t n;

		out[had] = '\0';
		if (now >= end ||
		    (poll(&p, 1, (int)((end - now) / GS_NS_PER_MS) + 1) < 0 && errno != EINTR))
			return -1;
		if (!p.revents)
			continue;
		/* What does not fit is read all the same: the program must not block. */
		n = had + 1 < size ? read(in, out + had, size - had - 1) :
				     read(in, scratch, sizeof(scratch));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0 && had + 1 < size)
			had += (size_t)n;
	}
}

int gs_check_run(char *const *argv, char *out, size_t size)
{
	int pipes[2], status;
	pid_t pid;

	out[0] = '\0';
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		become(argv, pipes[1]);
	close(pipes[1]);
	if (pid < 0) {
		close(pipes[0]);
		return -1;
	}
	if (collect(pipes[0], out, size) < 0)
		kill(pid, SIGKILL);
	close(pipes[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) != NOT_THERE ? WEXITSTATUS(status) : -1;
}
