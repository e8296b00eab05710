/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's end of the helper that talks to slurmctld; see slurm_report.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/slurm/slurm_report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "config.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/event.h"

#define TICKETS 64 /* reports under way */

/* The unit test, which has less time, sets these. */
#ifndef WAIT_NS
#define WAIT_NS (2 * GS_NS_PER_S)  /* somebody may wait for a ticket this long */
#define HANG_NS (10 * GS_NS_PER_S) /* then the helper is taken for hung */
#define RESTART_PAUSE_NS \
	(5 * GS_NS_PER_S)               /* a helper that dies at once is not forked in a loop \
					 */
#define AGAIN_NS (5 * GS_NS_PER_S)      /* what slurmctld was not there to take */
#define GIVE_UP_NS (3600 * GS_NS_PER_S) /* as slurmstepd with a job's end */
#define TICK_US 250000
#endif

struct ticket {
	uint32_t number, job_id; /* number 0: free */
	uint32_t what;           /* as in the request */
	int told;                /* the listener was called */
	uint64_t first_ns, sent_ns;
	uint64_t again_ns; /* not 0: it is not with the helper, and is sent again then */
	char text[GS_COMMENT_MAX];
};

struct gs_slurm_report {
	struct gs_daemon *d;
	pid_t pid; /* 0: no helper */
	int sock;
	struct event *readable, *tick;
	uint32_t next;
	uint64_t forked_ns, answered_ns;
	int node_failed; /* the log says so already */
	struct ticket ticket[TICKETS];
};

static const struct gs_slurm_listeners *listeners;

void gs_slurm_report_listen(const struct gs_slurm_listeners *l)
{
	listeners = l;
}

static void done(struct gs_slurm_report *r, struct ticket *t)
{
	if (!t->told) {
		t->told = 1;
		listeners->done(r->d, t->number);
	}
}

static int is_kill(const struct ticket *t)
{
	return t->what == GS_SLURM_KILL || t->what == GS_SLURM_REQUEUE;
}

/* What was asked for is not known, or was not done. */
static void failed(struct gs_slurm_report *r, const struct ticket *t)
{
	if (is_kill(t))
		listeners->not_killed(r->d, t->job_id);
	else if (t->what == GS_SLURM_INQUIRE)
		listeners->suspended(r->d, t->number, -1);
}

/* A job's report waits for slurmctld to come back; a newer one takes its place. */
static void send_later(struct ticket *t)
{
	uint64_t now = gs_clock_ns();

	if (!t->job_id || t->what || now - t->first_ns >= GIVE_UP_NS)
		t->number = 0;
	else
		t->again_ns = now + AGAIN_NS;
}

/* hung: as it does where slurmctld is away; one that dies is not given the same again. */
static void stop_helper(struct gs_slurm_report *r, int hung)
{
	if (!r->pid)
		return;
	gs_event_free(r->readable);
	close(r->sock);
	kill(r->pid, SIGKILL);
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	r->pid = 0;
	for (struct ticket *t = r->ticket; t < r->ticket + TICKETS; t++)
		if (t->number && !t->again_ns) {
			failed(r, t);
			done(r, t);
			if (hung)
				send_later(t);
			else
				t->number = 0;
		}
}

/* What is told again and again is said once. */
static void warn_of(const struct gs_slurm_report *r, const struct ticket *t,
		    const struct gs_slurm_answer *a)
{
	if (!t->job_id && !r->node_failed)
		gs_log(GS_LOG_WARN, "the node's Extra not written: %s", a->reason);
	else if (t->what == GS_SLURM_INQUIRE)
		gs_log(GS_LOG_DEBUG, "job %u: whether it is suspended is not known: %s", t->job_id,
		       a->reason);
	else if (t->what)
		gs_log(GS_LOG_WARN, "job %u: not killed: %s", t->job_id, a->reason);
	else if (t->job_id && t->sent_ns == t->first_ns)
		gs_log(GS_LOG_WARN, "job %u: AdminComment not written%s: %s", t->job_id,
		       a->rc == GS_SLURM_LATER ? ", it will be tried again" : "", a->reason);
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct gs_slurm_report *r = arg;
	struct gs_slurm_answer a;
	ssize_t n = recv(fd, &a, sizeof(a), MSG_DONTWAIT);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(a)) {
		gs_log(GS_LOG_WARN, "the helper that reports to Slurm has ended");
		stop_helper(r, 0);
		return;
	}
	r->answered_ns = gs_clock_ns();
	a.reason[sizeof(a.reason) - 1] = '\0';
	for (struct ticket *t = r->ticket; t < r->ticket + TICKETS; t++) {
		if (!t->number || t->number != a.ticket || t->again_ns)
			continue;
		if (a.rc)
			warn_of(r, t, &a);
		if (!t->job_id)
			r->node_failed = a.rc != 0;
		if (a.rc)
			failed(r, t);
		else if (t->what == GS_SLURM_INQUIRE)
			listeners->suspended(r->d, t->number, a.suspended != 0);
		done(r, t);
		if (a.rc == GS_SLURM_LATER)
			send_later(t);
		else
			t->number = 0;
	}
}

static int start_helper(struct gs_slurm_report *r)
{
	uint64_t now = gs_clock_ns();

	if (r->forked_ns && now - r->forked_ns < RESTART_PAUSE_NS)
		return -1;
	r->forked_ns = r->answered_ns = now;
	r->sock = gs_child_start(&r->pid, gs_slurm_helper, r->d->config->slurm_conf, 1);
	if (r->sock < 0)
		return -1;
	r->readable = gs_event_new(r->d->base, r->sock, EV_READ | EV_PERSIST, on_answer, r);
	if (r->readable && event_add(r->readable, NULL) == 0)
		return 0;
	stop_helper(r, 0); /* its answers, and its end, would never be read */
	return -1;
}

static void own_name(const struct gs_slurm_report *r, char *name, size_t size)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(name, size, "%.63s", *r->d->config->node_name ? r->d->config->node_name : host);
}

static void send_again(struct gs_slurm_report *r, struct ticket *t)
{
	struct gs_slurm_request request = { .ticket = t->number, .job_id = t->job_id };

	own_name(r, request.self, sizeof(request.self));
	memcpy(request.text, t->text, sizeof(request.text));
	t->sent_ns = gs_clock_ns();
	if ((!r->pid && start_helper(r) < 0) ||
	    send(r->sock, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		send_later(t);
	else
		t->again_ns = 0;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct gs_slurm_report *r = arg;
	uint64_t now = gs_clock_ns();

	(void)fd;
	(void)what;
	for (struct ticket *t = r->ticket; t < r->ticket + TICKETS; t++) {
		if (!t->number)
			continue;
		if (t->again_ns) {
			if (now >= t->again_ns)
				send_again(r, t);
			continue;
		}
		if (now - t->sent_ns >= WAIT_NS)
			done(r, t);
		if (now - t->sent_ns >= HANG_NS && now - r->answered_ns >= HANG_NS) {
			gs_log(GS_LOG_WARN, "the helper that reports to Slurm hangs: killed");
			stop_helper(r, 1);
			return;
		}
	}
}

struct gs_slurm_report *gs_slurm_report_create(struct gs_daemon *d)
{
	static const struct timeval often = { 0, TICK_US };
	struct gs_slurm_report *r;

	if (!d->config->report_to_slurm)
		return NULL;
#ifndef HAVE_LIBSLURM
	gs_log(GS_LOG_WARN, "built without libslurm: no reports in AdminComment");
	return NULL;
#endif
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->d = d;
	r->tick = gs_event_new(d->base, -1, EV_PERSIST, on_tick, r);
	if (!r->tick || event_add(r->tick, &often) < 0) {
		gs_slurm_report_destroy(r);
		return NULL;
	}
	start_helper(r);
	return r;
}

void gs_slurm_report_destroy(struct gs_slurm_report *r)
{
	if (!r)
		return;
	stop_helper(r, 0);
	if (r->tick)
		gs_event_free(r->tick);
	free(r);
}

/* One that is free, else the one that has waited longest for slurmctld; NULL: all are with the
 * helper. */
static struct ticket *free_ticket(struct gs_slurm_report *r, uint32_t job_id, int inquires)
{
	struct ticket *best = NULL;

	for (struct ticket *t = r->ticket; t < r->ticket + TICKETS; t++) {
		if (t->number && t->again_ns && job_id && t->job_id == job_id && !inquires)
			t->number = 0; /* what it says is old now */
		if (!t->number)
			best = t;
		else if (t->again_ns && (!best || (best->number && t->first_ns < best->first_ns)))
			best = t;
	}
	return best;
}

static uint32_t send_request(struct gs_slurm_report *r, struct gs_slurm_request *request)
{
	struct ticket *t;

	if (!r->pid && start_helper(r) < 0)
		return 0;
	t = free_ticket(r, request->job_id, request->what == GS_SLURM_INQUIRE);
	if (!t)
		return 0;
	if (++r->next == 0)
		r->next = 1;
	request->ticket = r->next;
	if (send(r->sock, request, sizeof(*request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return 0;
	*t = (struct ticket) { .number = r->next,
			       .job_id = request->job_id,
			       .what = request->what,
			       .first_ns = gs_clock_ns() };
	t->sent_ns = t->first_ns;
	memcpy(t->text, request->text, sizeof(t->text));
	return r->next;
}

/* Our part of AdminComment ends at a ';', and each node's at a '|'. What a kernel is called, or
 * gpushare-mem says, may have them: what is behind would stay for ever. */
static void keep_whole(char *text)
{
	for (; *text; text++)
		if (*text == ';' || *text == '|')
			*text = ',';
}

static uint32_t send_about(struct gs_slurm_report *r, uint32_t job_id, uint32_t what,
			   const char *text)
{
	struct gs_slurm_request request = { .job_id = job_id, .what = what };

	own_name(r, request.self, sizeof(request.self));
	snprintf(request.text, sizeof(request.text), "%s", text);
	keep_whole(request.text);
	return send_request(r, &request);
}

uint32_t gs_slurm_report_send(struct gs_slurm_report *r, uint32_t job_id, const char *text)
{
	return send_about(r, job_id, 0, text);
}

uint32_t gs_slurm_report_kill(struct gs_slurm_report *r, uint32_t job_id, const char *text)
{
	return send_about(r, job_id, GS_SLURM_KILL, text);
}

uint32_t gs_slurm_report_requeue(struct gs_slurm_report *r, uint32_t job_id, const char *text)
{
	return send_about(r, job_id, GS_SLURM_REQUEUE, text);
}

uint32_t gs_slurm_report_inquire(struct gs_slurm_report *r, uint32_t job_id)
{
	return send_about(r, job_id, GS_SLURM_INQUIRE, "");
}

void gs_slurm_report_node(struct gs_slurm_report *r, const char *text)
{
	struct gs_slurm_request request = { .job_id = 0 };

	own_name(r, request.node, sizeof(request.node));
	snprintf(request.text, sizeof(request.text), "%s", text);
	send_request(r, &request);
}
