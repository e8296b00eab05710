/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs gpushare-mem; see checkpointer.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/checkpointer.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/mps/environment.h"
#include "gpushare/daemon/base/event.h"

/* This part of the time is for the driver to stop the process's work. */
#define LOCK_PART 2

struct gs_checkpointer {
	pid_t pid;
	int sock, killed;
	struct event *readable, *timer, *end;
	gs_checkpointer_done *done;
	void *arg;
	char said[192];
};

/* What the child process runs. */
struct order {
	const char *program, *driver, *verb;
	char pid[16], ms[24], env[4096];
};

static void put_env(char *env)
{
	char *save = NULL;

	for (char *line = strtok_r(env, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		putenv(line);
}

static void body(int sock, const char *arg)
{
	struct order o;
	char *argv[9];
	int n = 0;

	memcpy(&o, arg, sizeof(o));
	argv[n++] = (char *)o.program;
	argv[n++] = (char *)o.verb;
	if (*o.driver) {
		argv[n++] = (char *)"--driver";
		argv[n++] = (char *)o.driver;
	}
	argv[n++] = (char *)"--timeout";
	argv[n++] = o.ms;
	argv[n++] = o.pid;
	argv[n] = NULL;
	put_env(o.env);
	dup2(sock, 1);
	dup2(sock, 2);
	execv(o.program, argv);
	dprintf(2, "%s cannot be run: %m\n", o.program);
	_exit(127);
}

static void destroy(struct gs_checkpointer *m)
{
	if (m->readable)
		gs_event_free(m->readable);
	if (m->timer)
		gs_event_free(m->timer);
	if (m->end)
		gs_event_free(m->end);
	if (m->sock >= 0)
		close(m->sock);
	free(m);
}

#define REFUSED 3 /* gpushare-mem's exit status in that case */

/* Keeps the last line that is not empty. */
static void keep_line(struct gs_checkpointer *m, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		for (char *c = line; *c; c++)
			if ((unsigned char)*c < ' ' || *c == 127)
				*c = '?';
		snprintf(m->said, sizeof(m->said), "%s", line);
	}
}

/* Its end of the socket is closed, so the child has ended, or is about to. The driver may take long
 * for its part of that, and the loop must not wait for it. */
static void over(struct gs_checkpointer *m)
{
	static const struct timeval soon = { 0, 2000 };
	enum gs_moved result;
	int status = 0;

	if (waitpid(m->pid, &status, WNOHANG) == 0) {
		event_del(m->readable);
		evtimer_add(m->end, &soon);
		return;
	}
	result = m->killed || WIFSIGNALED(status) ? GS_MOVE_KILLED :
		 WEXITSTATUS(status) == 0         ? GS_MOVED :
		 WEXITSTATUS(status) == REFUSED   ? GS_MOVE_REFUSED :
						    GS_MOVE_FAILED;
	if (m->killed)
		snprintf(m->said, sizeof(m->said),
			 "not done within preempt_timeout (MemoryParameters)");
	if (m->done)
		m->done(m->arg, result, *m->said ? m->said : "it says nothing");
	destroy(m);
}

static void on_output(evutil_socket_t fd, short what, void *arg)
{
	struct gs_checkpointer *m = arg;
	char text[1024];
	ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	(void)what;
	if (n > 0) {
		text[n] = '\0';
		keep_line(m, text);
	} else {
		over(m);
	}
}

static void on_end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	over(arg);
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct gs_checkpointer *m = arg;

	(void)fd;
	(void)what;
	m->killed = 1;
	kill(m->pid, SIGKILL);
}

static const char *program_of(const struct gs_config *c)
{
	return *c->memory_program ? c->memory_program : GS_MEM_PROGRAM;
}

int gs_checkpointer_check(const struct gs_config *c, struct gs_error *err)
{
	const char *path = program_of(c);
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return gs_fail(err, "%s is not a program", path);
	if (access(path, X_OK) < 0)
		return gs_fail(err, "%s cannot be run: %s", path, strerror(errno));
	return 0;
}

void gs_checkpointer_warn(const struct gs_config *c)
{
	struct gs_error err;

	if ((c->memory_preempt || c->suspend_memory || c->idle_reclaim_ns) &&
	    gs_checkpointer_check(c, &err) < 0)
		gs_log(GS_LOG_WARN, "memory cannot be taken back: %s", err.text);
}

static int prepare(struct order *o, const struct gs_daemon *d, const struct gs_device *device,
		   const char *verb, pid_t pid)
{
	const struct gs_config *c = d->config;

	memset(o, 0, sizeof(*o));
	o->program = program_of(c);
	o->driver = c->driver;
	o->verb = verb;
	snprintf(o->pid, sizeof(o->pid), "%d", (int)pid);
	snprintf(o->ms, sizeof(o->ms), "%" PRIu64,
		 c->memory_preempt_timeout_ns / LOCK_PART / GS_NS_PER_MS + 1);
	return gs_device_env(c, device, o->env, sizeof(o->env));
}

struct gs_checkpointer *gs_checkpointer_start(struct gs_daemon *d, const struct gs_device *device,
					      const char *verb, pid_t pid,
					      gs_checkpointer_done *done, void *arg)
{
	uint64_t limit = d->config->memory_preempt_timeout_ns;
	struct timeval tv = { (time_t)(limit / GS_NS_PER_S),
			      (suseconds_t)(limit % GS_NS_PER_S / 1000) };
	struct gs_checkpointer *m = calloc(1, sizeof(*m));
	struct order o;

	if (!m)
		return NULL;
	m->done = done;
	m->arg = arg;
	m->sock = prepare(&o, d, device, verb, pid) < 0 ?
			  -1 :
			  gs_child_start(&m->pid, body, (const char *)&o, 0);
	if (m->sock >= 0) {
		m->readable = gs_event_new(d->base, m->sock, EV_READ | EV_PERSIST, on_output, m);
		m->timer = gs_event_new(d->base, -1, 0, on_timeout, m);
		m->end = gs_event_new(d->base, -1, 0, on_end, m);
	}
	if (!m->readable || !m->timer || !m->end || event_add(m->readable, NULL) < 0 ||
	    evtimer_add(m->timer, &tv) < 0) {
		if (m->pid > 0) {
			kill(m->pid, SIGKILL);
			waitpid(m->pid, NULL, 0);
		}
		destroy(m);
		return NULL;
	}
	return m;
}

pid_t gs_checkpointer_pid(const struct gs_checkpointer *m)
{
	return m->pid;
}

void gs_checkpointer_abandon(struct gs_checkpointer *m)
{
	if (m)
		destroy(m);
}
