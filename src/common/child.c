/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program as a child; see child.h. */
#define _GNU_SOURCE
#include "common/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

/*
 * The caller has blocked the signals that are passed on before the child existed, so none is lost.
 * SIGCHLD tells that the child has ended, or another process that became the caller's.
 */
static int wait_for(pid_t child, const sigset_t *watched)
{
	int sig, status;
	pid_t ended;

	for (;;) {
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
			if (ended == child && WIFEXITED(status))
				return WEXITSTATUS(status);
			if (ended == child && WIFSIGNALED(status))
				return 128 + WTERMSIG(status);
		}
		if (sigwait(watched, &sig) == 0 && sig != SIGCHLD)
			kill(child, sig);
	}
}

int gs_child_run(const char *who, char **argv, struct gs_error *err)
{
	sigset_t watched, before;
	pid_t child;

	/*
	 * A parent may hand down SIGCHLD as ignored. The kernel would then discard the child's exit
	 * status.
	 */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&watched, passed_on[i]);
	sigprocmask(SIG_BLOCK, &watched, &before);
	child = fork();
	if (child < 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return gs_fail_errno(err, "cannot fork");
	}
	if (child == 0) {
		int rc;

		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(argv[0], argv);
		rc = errno == ENOENT ? GS_CHILD_NOT_FOUND : GS_CHILD_CANNOT_RUN;
		fprintf(stderr, "%s: cannot run %s: %s\n", who, argv[0], strerror(errno));
		_exit(rc);
	}
	return wait_for(child, &watched);
}
