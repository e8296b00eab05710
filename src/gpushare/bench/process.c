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

/* In the child; never returns.  log: NULL: the tool's own output, in its process group. */
static void become(char *const argv[], char *const env[], int in, const char *log, pid_t parent)
{
	int out;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	if (log) {
		setpgid(0, 0);
		out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0)
			_exit(1);
	}
	apply(env);
	execvp(argv[0], argv);
	fprintf(stderr, "gpushare-bench: cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(NOT_FOUND);
}

static pid_t start(char *const argv[], char *const env[], const char *input, const char *log,
		   struct gs_error *err)
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
		become(argv, env, in, log, parent);
	if (pid > 0 && log)
		setpgid(pid, pid); /* whoever of both is first */
	close(in);
	return pid < 0 ? gs_fail_errno(err, "cannot fork") : pid;
}

pid_t bench_spawn(char *const argv[], char *const env[], const char *input, struct gs_error *err)
{
	return start(argv, env, input, NULL, err);
}

pid_t bench_spawn_group(char *const argv[], char *const env[], const char *log,
			struct gs_error *err)
{
	return start(argv, env, NULL, log, err);
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

void bench_end_group(pid_t pid)
{
	struct timespec tick = { 0, TICK_MS * 1000000L };
	int status;

	if (pid <= 0)
		return;
	kill(-pid, SIGTERM);
	bench_reap(pid, PATIENCE_MS, &status);
	kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	/* What was not this process's child is another's to reap. */
	for (unsigned waited = 0; waited < PATIENCE_MS && kill(-pid, 0) == 0; waited += TICK_MS)
		nanosleep(&tick, NULL);
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
