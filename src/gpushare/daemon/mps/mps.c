/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of the MPS control daemon and of its server; see mps.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/mps/mps.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/mps/mps_control.h"
#include "gpushare/daemon/mps/mps_helper.h"
#include "gpushare/daemon/mps/mps_process.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/steps/steps.h"

#define START_MS 30000
#define QUIT_MS 4000
#define SIGNAL_MS 2000
/* Between its death and the next try; doubled each time it does not live for AGE. */
#define PAUSE_NS GS_NS_PER_S
#define PAUSE_MAX_NS (60 * GS_NS_PER_S)
#define AGE_NS (60 * GS_NS_PER_S)
/* A client that goes on all the same is not named to MPS again sooner. */
#define TERMINATE_AGAIN_NS (60 * GS_NS_PER_S)

/* A process whose end is to be noticed, though it need not be a child. */
struct watched {
	pid_t pid; /* 0: none */
	int fd;    /* pidfd; -1: none */
	struct event *ended;
};

struct gs_mps {
	struct gs_daemon *d;
	struct gs_mps_place place;
	struct watched control, server;
	struct event *again;
	uint64_t up_ns; /* when it was last well */
	uint64_t pause_ns;
	struct gs_mps_helpers helpers;
};

static void forget(struct watched *w)
{
	if (w->ended)
		gs_event_free(w->ended);
	if (w->fd >= 0)
		close(w->fd);
	*w = (struct watched) { .fd = -1 };
}

/* -1, with errno: it has ended (ESRCH), or cannot be watched. It counts as none then: its end would
 * not be noticed, and nothing would ever be started in its place. */
static int watch(struct gs_mps *m, struct watched *w, pid_t pid, event_callback_fn ended)
{
	int error;

	forget(w);
	w->pid = pid;
	w->fd = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
	if (w->fd >= 0) {
		w->ended = gs_event_new(m->d->base, w->fd, EV_READ, ended, m);
		if (w->ended && event_add(w->ended, NULL) == 0)
			return 0;
	}
	error = errno;
	forget(w);
	errno = error;
	return -1;
}

static void later(struct gs_mps *m)
{
	uint64_t now = gs_clock_ns();
	struct timeval tv;

	if (now - m->up_ns > AGE_NS)
		m->pause_ns = PAUSE_NS;
	tv = (struct timeval) { (time_t)(m->pause_ns / GS_NS_PER_S), 0 };
	gs_log(GS_LOG_INFO, "MPS is started again in %d s", (int)tv.tv_sec);
	m->pause_ns = m->pause_ns * 2 < PAUSE_MAX_NS ? m->pause_ns * 2 : PAUSE_MAX_NS;
	event_add(m->again, &tv);
}

static void on_server_ended(evutil_socket_t fd, short what, void *arg)
{
	struct gs_mps *m = arg;

	(void)fd;
	(void)what;
	gs_log(GS_LOG_ERROR, "MPS's server %d has ended: its clients' programs get errors",
	       (int)m->server.pid);
	gs_mps_show_logs(&m->place);
	forget(&m->server);
	if (m->control.pid)
		later(m);
}

static void on_control_ended(evutil_socket_t fd, short what, void *arg)
{
	struct gs_mps *m = arg;
	int status = 0;

	(void)fd;
	(void)what;
	/* Only one of ours tells how. */
	if (waitpid(m->control.pid, &status, WNOHANG) == m->control.pid && WIFSIGNALED(status))
		gs_log(GS_LOG_ERROR, "MPS's control daemon %d was ended by signal %d",
		       (int)m->control.pid, WTERMSIG(status));
	else
		gs_log(GS_LOG_ERROR, "MPS's control daemon %d has ended", (int)m->control.pid);
	gs_mps_show_logs(&m->place);
	forget(&m->control);
	gs_mps_record_remove(&m->place);
	later(m);
}

static int have_server(struct gs_mps *m, pid_t server, struct gs_error *err)
{
	char proc[32];
	struct stat st;

	if (watch(m, &m->server, server, on_server_ended) < 0)
		return errno == ESRCH ?
			       gs_fail(err, "MPS's server %d has ended at once", (int)server) :
			       gs_fail_errno(err, "cannot watch MPS's server %d", (int)server);
	m->up_ns = gs_clock_ns();
	gs_log(GS_LOG_INFO, "MPS: control daemon %d, server %d, pipes in %s", (int)m->control.pid,
	       (int)server, m->place.dir);
	snprintf(proc, sizeof(proc), "/proc/%d", (int)server);
	/* It may have come for a client before ours did, or in its place. */
	if (stat(proc, &st) == 0 && st.st_uid != geteuid())
		gs_log(GS_LOG_WARN,
		       "MPS's server %d is uid %u's: other users' programs wait for its end",
		       (int)server, (unsigned)st.st_uid);
	return 0;
}

/* Start the control daemon; its server comes by gs_mps_server_up(). */
static int start_control(struct gs_mps *m, struct gs_error *err)
{
	pid_t pid = gs_mps_spawn(m->d, &m->place, err);

	if (pid < 0)
		return -1;
	if (watch(m, &m->control, pid, on_control_ended) == 0)
		return 0;
	gs_fail_errno(err, "cannot watch MPS's control daemon");
	gs_child_kill(pid); /* the next one takes its place */
	gs_mps_record_remove(&m->place);
	return -1;
}

/* A helper's answer: a server is up, or why not. */
static void on_server_answer(void *context, const struct gs_mps_answer *answer)
{
	struct gs_mps *m = context;
	struct gs_error err;

	if (answer->ok && have_server(m, answer->server, &err) == 0)
		return;
	gs_log(GS_LOG_ERROR, "MPS: %s", answer->ok ? err.text : answer->why);
	if (m->control.pid)
		later(m);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct gs_mps *m = arg;
	struct gs_mps_request request = { .op = GS_MPS_SERVER_UP, .timeout_ms = START_MS };
	struct gs_error err;

	(void)fd;
	(void)what;
	if (!m->control.pid && start_control(m, &err) < 0) {
		gs_log(GS_LOG_ERROR, "%s", err.text);
		later(m);
		return;
	}
	if (m->server.pid)
		return;
	request.pid = m->control.pid;
	if (gs_mps_helper_query(&m->helpers, &request, "", on_server_answer) < 0)
		later(m);
}

/* ---- start and stop --------------------------------------------------- */

/* 1 once the process has ended, at most so much later. */
static int ends_within(struct watched *w, int timeout_ms)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };

	return w->fd < 0 || poll(&p, 1, timeout_ms) > 0;
}

/* An older driver's control daemon may not know what it was told, and has ended. */
static pid_t without_all_users(struct gs_mps *m, struct gs_error *err)
{
	char words[256];
	pid_t server;

	m->place.all_users = 0;
	gs_mps_last_words(&m->place, words, sizeof(words));
	waitpid(m->control.pid, NULL, WNOHANG);
	forget(&m->control);
	if (start_control(m, err) < 0)
		return -1;
	server = gs_mps_server_up(&m->place, m->control.pid, START_MS, err);
	if (server > 0)
		gs_log(GS_LOG_WARN,
		       "MPS does not know -M (%s): its server has one user at a time, "
		       "others wait",
		       words);
	return server;
}

static int bring_up(struct gs_mps *m, struct gs_error *err)
{
	pid_t pid = gs_mps_record_find(&m->place), server;
	char words[256];

	if (pid > 0 && watch(m, &m->control, pid, on_control_ended) == 0)
		gs_log(GS_LOG_INFO, "MPS's control daemon %d is known from before", (int)pid);
	else if (pid > 0 && errno != ESRCH) /* it serves steps that go on */
		return gs_fail_errno(err, "cannot watch MPS's control daemon %d", (int)pid);
	else if (start_control(m, err) < 0)
		return -1;
	server = gs_mps_server_up(&m->place, m->control.pid, START_MS, err);
	if (server < 0 && pid <= 0 && m->place.all_users && ends_within(&m->control, 0))
		server = without_all_users(m, err);
	if (server < 0) {
		struct gs_error why = *err;

		gs_mps_last_words(&m->place, words, sizeof(words));
		return gs_fail(err, "Isolation=mps: %.200s%s%.200s", why.text, *words ? ": " : "",
			       words);
	}
	return have_server(m, server, err);
}

static void end_by_signal(struct watched *w)
{
	if (w->pid && !ends_within(w, 0)) {
		syscall(SYS_pidfd_send_signal, w->fd, SIGTERM, NULL, 0);
		if (!ends_within(w, SIGNAL_MS)) {
			syscall(SYS_pidfd_send_signal, w->fd, SIGKILL, NULL, 0);
			ends_within(w, SIGNAL_MS);
		}
	}
}

static void quit(struct gs_mps *m)
{
	char answer[256] = "";
	struct gs_error err;

	if (!m->control.pid)
		return;
	/* -t: a program that runs without a step must not keep the server for ever. */
	if (gs_mps_query(&m->place, "quit -t 2\n", answer, sizeof(answer), QUIT_MS, &err) < 0)
		gs_log(GS_LOG_WARN, "%s", err.text);
	if (!ends_within(&m->control, QUIT_MS))
		gs_log(GS_LOG_WARN, "MPS does not quit: ended by signals");
	end_by_signal(&m->control);
	end_by_signal(&m->server);
	waitpid(m->control.pid, NULL, WNOHANG);
	gs_mps_record_remove(&m->place);
	gs_log(GS_LOG_INFO, "MPS has ended");
}

static void destroy(struct gs_mps *m)
{
	gs_mps_helpers_end(&m->helpers);
	if (m->again)
		gs_event_free(m->again);
	forget(&m->control);
	forget(&m->server);
	free(m);
}

int gs_mps_start(struct gs_daemon *d, struct gs_error *err)
{
	struct gs_mps *m;

	if (d->config->isolation != GS_ISOLATION_MPS)
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return gs_fail(err, "no memory");
	m->d = d;
	m->control.fd = m->server.fd = -1;
	m->pause_ns = PAUSE_NS;
	gs_mps_helpers_init(&m->helpers, d->base, &m->place, m);
	m->again = gs_event_new(d->base, -1, 0, on_again, m);
	if (!m->again)
		gs_fail(err, "no memory");
	else if (gs_mps_find(d->config, &m->place, err) == 0 &&
		 gs_mps_prepare(d->config, &m->place, err) == 0) {
		if (bring_up(m, err) == 0) {
			d->mps = m;
			return 0;
		}
		quit(m);
	}
	destroy(m);
	return -1;
}

void gs_mps_stop(struct gs_daemon *d)
{
	struct gs_mps *m = d->mps;

	if (!m)
		return;
	d->mps = NULL;
	gs_steps_sweep(d); /* who has just ended needs it no longer */
	if (TAILQ_EMPTY(&d->steps))
		quit(m);
	else
		gs_log(GS_LOG_INFO, "MPS's control daemon %d goes on for the registered steps",
		       (int)m->control.pid);
	destroy(m);
}

static void on_terminated(void *context, const struct gs_mps_answer *answer)
{
	(void)context;
	if (answer->ok)
		gs_log(GS_LOG_WARN, "%s: terminated in MPS", answer->who);
	else
		gs_log(GS_LOG_ERROR, "%s: not terminated in MPS: %s", answer->who, answer->why);
}

void gs_mps_terminate(struct gs_connection *conn, const char *why)
{
	struct gs_mps_request request = { .op = GS_MPS_TERMINATE, .pid = conn->pid };
	struct gs_daemon *d = conn->d;
	uint64_t now = gs_clock_ns();

	if (!d->mps || !d->config->mps_terminate ||
	    (conn->registration.terminated_ns &&
	     now - conn->registration.terminated_ns < TERMINATE_AGAIN_NS))
		return;
	conn->registration.terminated_ns = now;
	gs_complain("%s: %s: MPS is told to terminate it", conn->who, why);
	if (gs_mps_helper_query(&d->mps->helpers, &request, conn->who, on_terminated) < 0)
		gs_complain("%s: MPS cannot be told at the moment", conn->who);
}

int gs_mps_check_reload(const struct gs_config *old, const struct gs_config *fresh,
			struct gs_error *err)
{
	if (old->isolation != fresh->isolation || strcmp(old->mps_dir, fresh->mps_dir) != 0)
		return gs_fail(err, "Isolation and MpsDir change with a restart only");
	return 0;
}
