/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control program's commands; see mps_control.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/mps/mps_control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/daemon/base/proc.h"

#define PROGRAM "nvidia-cuda-mps-control"
/* What terminate_client and the lists may take. */
#define COMMAND_MS 10000
#define POLL_MS 20
/* A control daemon that has just started may have dropped the first request. */
#define REQUEST_AGAIN_NS (5 * GS_NS_PER_S)

static int try_program(struct gs_mps_place *place, const char *folder, size_t len)
{
	int n = snprintf(place->program, sizeof(place->program), "%.*s/" PROGRAM, (int)len, folder);

	return n > 0 && n < (int)sizeof(place->program) && access(place->program, X_OK) == 0;
}

int gs_mps_find(const struct gs_config *config, struct gs_mps_place *place, struct gs_error *err)
{
	static const char *const folders[] = { "/usr/bin", "/usr/local/nvidia/bin" };
	const char *path = getenv("PATH");

	snprintf(place->dir, sizeof(place->dir), "%s", config->mps_dir);
	place->all_users = geteuid() == 0;
	for (; path && *path; path += *path == ':') {
		size_t len = strcspn(path, ":");

		if (*path == '/' && try_program(place, path, len))
			return 0;
		path += len;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (try_program(place, folders[i], strlen(folders[i])))
			return 0;
	return gs_fail(err, "Isolation=mps: there is no " PROGRAM " in PATH, /usr/bin or "
			    "/usr/local/nvidia/bin: install the driver's, or put its folder into "
			    "gpushared's PATH");
}

/* In the child: `in` and `out` are its standard streams. */
static void exec_control(const struct gs_mps_place *place, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setenv(GS_MPS_PIPE, place->dir, 1);
	execl(place->program, PROGRAM, (char *)NULL);
	_exit(127);
}

/* Until the other end closes; -1: not by then. */
static int read_answer(int fd, char *answer, size_t room, int timeout_ms)
{
	uint64_t until = gs_clock_ns() + (uint64_t)timeout_ms * GS_NS_PER_MS;
	size_t used = 0;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = gs_clock_ns();
		char more[256];
		ssize_t n;

		answer[used] = '\0';
		if (now >= until || poll(&p, 1, (int)((until - now) / GS_NS_PER_MS) + 1) == 0)
			return -1;
		n = read(fd, more, sizeof(more));
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -1;
		for (ssize_t i = 0; i < n && used + 1 < room; i++)
			answer[used++] = more[i];
	}
	while (used && answer[used - 1] == '\n')
		answer[--used] = '\0';
	return 0;
}

int gs_mps_query(const struct gs_mps_place *place, const char *command, char *answer, size_t room,
		 int timeout_ms, struct gs_error *err)
{
	int in[2], out[2], status = 0, late;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0)
		return gs_fail_errno(err, "cannot make a pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		gs_fail_errno(err, "cannot make a pipe");
		close(in[0]);
		close(in[1]);
		return -1;
	}
	pid = fork();
	if (pid == 0)
		exec_control(place, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	/* A command is far shorter than a pipe; one that ended early is told by its status. */
	if (pid > 0 && write(in[1], command, strlen(command)) < 0 && errno != EPIPE)
		gs_fail_errno(err, "cannot write to %s", place->program);
	close(in[1]);
	late = pid > 0 && read_answer(out[0], answer, room, timeout_ms) < 0;
	close(out[0]);
	if (pid < 0)
		return gs_fail_errno(err, "cannot fork");
	if (late)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (late)
		return gs_fail(err, "%.120s does not answer", place->program);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return gs_fail(err, "%.120s: %.*s: %.120s", place->program,
			       (int)strcspn(command, "\n"), command,
			       *answer ? answer : "it failed without a message");
	return 0;
}

/* The next number of a list that has one per line or word; 0: no more. */
static pid_t next_pid(char **at)
{
	while (**at) {
		char *end;
		long n = strtol(*at, &end, 10);

		if (end != *at && n > 0 && n <= 0x7fffffff && strchr(" \t\n", *end)) {
			*at = end;
			return (pid_t)n;
		}
		*at += strcspn(*at, " \t\n");
		*at += strspn(*at, " \t\n");
	}
	return 0;
}

static pid_t first_server(const struct gs_mps_place *place, struct gs_error *err)
{
	char answer[512] = "", *at = answer;

	if (gs_mps_query(place, "get_server_list\n", answer, sizeof(answer), COMMAND_MS, err) < 0)
		return -1;
	return next_pid(&at);
}

static int query_server(const struct gs_mps_place *place, struct gs_error *err)
{
	char command[64], answer[512] = "";

	snprintf(command, sizeof(command), "start_server -uid %u\n", (unsigned)geteuid());
	return gs_mps_query(place, command, answer, sizeof(answer), COMMAND_MS, err);
}

pid_t gs_mps_server_up(const struct gs_mps_place *place, pid_t control, int timeout_ms,
		       struct gs_error *err)
{
	uint64_t until = gs_clock_ns() + (uint64_t)timeout_ms * GS_NS_PER_MS;
	char pipe[GS_MPS_PATH_MAX + 16];
	struct gs_proc proc;
	uint64_t requested = 0;
	pid_t server;

	snprintf(pipe, sizeof(pipe), "%s/control", place->dir);
	gs_fail(err, "MPS has not made the pipe %.150s", pipe);
	for (; gs_clock_ns() < until; usleep(POLL_MS * 1000)) {
		if (gs_proc_read(control, &proc) < 0)
			return gs_fail(err, PROGRAM " has ended");
		if (access(pipe, F_OK) < 0)
			continue;
		server = first_server(place, err);
		if (server > 0)
			return server;
		if (server < 0)
			continue; /* not ready yet */
		if (requested && gs_clock_ns() - requested < REQUEST_AGAIN_NS)
			continue;
		if (query_server(place, err) < 0)
			continue;
		requested = gs_clock_ns();
		gs_fail(err, "MPS starts no server: see %.150s/log/server.log", place->dir);
	}
	return -1;
}

static int is_client(const struct gs_mps_place *place, pid_t server, pid_t client,
		     struct gs_error *err)
{
	char command[64], answer[4096] = "", *at = answer;
	pid_t pid;

	snprintf(command, sizeof(command), "get_client_list %d\n", (int)server);
	if (gs_mps_query(place, command, answer, sizeof(answer), COMMAND_MS, err) < 0)
		return -1;
	while ((pid = next_pid(&at)))
		if (pid == client)
			return 1;
	return 0;
}

int gs_mps_terminate_now(const struct gs_mps_place *place, pid_t client, struct gs_error *err)
{
	char servers[512] = "", command[96], answer[512] = "", *at = servers;
	pid_t server;

	if (gs_mps_query(place, "get_server_list\n", servers, sizeof(servers), COMMAND_MS, err) < 0)
		return -1;
	while ((server = next_pid(&at))) {
		int is = is_client(place, server, client, err);

		if (is < 0)
			return -1;
		if (!is)
			continue;
		snprintf(command, sizeof(command), "terminate_client %d %d\n", (int)server,
			 (int)client);
		return gs_mps_query(place, command, answer, sizeof(answer), COMMAND_MS, err);
	}
	return gs_fail(err, "it is no client of MPS");
}
