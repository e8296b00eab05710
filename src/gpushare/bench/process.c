/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork, exec, wait; see process.h. */
#define _GNU_SOURCE
#include "gpushare/bench/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 5
#define PATIENCE_MS 5000
#define NOT_FOUND 127

static void apply(char *const env[])
{
	for (; env && *env; env++) {
		char *eq = strchr(*env, '=');

		if (!eq) {
			unsetenv(*env);
			continue;
		}
		*eq = '\0';
		setenv(*env, eq + 1, 1);
		*eq = '=';
	}
}

/* In the child; never returns. */
static void become(char *const argv[], char *const env[], int in, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	apply(env);
	execvp(argv[0], argv);
	fprintf(stderr, "gpushare-bench: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(NOT_FOUND);
}

pid_t bench_spawn(char *const argv[], char *const env[], const char *input, struct gs_error *err)
{
	pid_t pid, parent = getpid();
	int in;

	if (input) {
		size_t n = strlen(input);

		in = memfd_create("gpushare-bench", MFD_CLOEXEC);
		if (in >= 0 && (write(in, input, n) != (ssize_t)n || lseek(in, 0, SEEK_SET) != 0)) {
			close(in);
			in = -1;
		}
	} else {
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	if (in < 0)
		return gs_fail_errno(err, "no input for %.80s", argv[0]);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(argv, env, in, parent);
	close(in);
	return pid < 0 ? gs_fail_errno(err, "cannot fork") : pid;
}

int bench_reap(pid_t pid, unsigned timeout_ms, int *status)
{
	struct timespec tick = { 0, TICK_MS * 1000000L };

	for (unsigned waited = 0;; waited += TICK_MS) {
		if (waitpid(pid, status, WNOHANG) != 0)
			return 1;
		if (waited >= timeout_ms)
			return 0;
		nanosleep(&tick, NULL);
	}
}

void bench_end(pid_t pid)
{
	int status;

	if (pid <= 0 || bench_reap(pid, 0, &status))
		return;
	kill(pid, SIGTERM);
	if (bench_reap(pid, PATIENCE_MS, &status))
		return;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

int bench_own_folder(char *path, size_t room, struct gs_error *err)
{
	ssize_t n = readlink("/proc/self/exe", path, room - 1);
	char *slash;

	if (n < 0)
		return gs_fail_errno(err, "cannot read /proc/self/exe");
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return 0;
}

void bench_find_program(const char *name, char *path, size_t room)
{
	static const char *const places[] = { "", "/../sbin", "/../bin" };
	char folder[512];

	if (bench_own_folder(folder, sizeof(folder), NULL) == 0)
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(path, room, "%s%s/%s", folder, places[i], name);
			if (access(path, X_OK) == 0)
				return;
		}
	snprintf(path, room, "%s", name);
}
