/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program as our child. */
#define _GNU_SOURCE
#include "device/emu/tool/tool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

/* What is passed on stays blocked here and is waited for: none comes before there is a child. */
static int wait_for(pid_t child, const sigset_t *watched)
{
	int sig, status;

	for (;;) {
		if (waitpid(child, &status, WNOHANG) == child) {
			if (WIFEXITED(status))
				return WEXITSTATUS(status);
			if (WIFSIGNALED(status))
				return 128 + WTERMSIG(status);
		}
		if (sigwait(watched, &sig) == 0 && sig != SIGCHLD)
			kill(child, sig);
	}
}

int emu_child_run(char **argv)
{
	sigset_t watched, before;
	pid_t child;
	int rc;

	/* An ignored SIGCHLD, which a parent may hand down, would reap the status away. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&watched, passed_on[i]);
	sigprocmask(SIG_BLOCK, &watched, &before);
	child = fork();
	if (child < 0) {
		fprintf(stderr, "gpushare-emu: cannot fork: %s\n", strerror(errno));
		return EMU_OURSELVES;
	}
	if (child == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(argv[0], argv);
		rc = errno == ENOENT ? EMU_NOT_FOUND : EMU_CANNOT_RUN;
		fprintf(stderr, "gpushare-emu: cannot run %s: %s\n", argv[0], strerror(errno));
		_exit(rc);
	}
	return wait_for(child, &watched);
}
