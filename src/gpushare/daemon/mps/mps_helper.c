/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One process per question; see mps_helper.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/mps/mps_helper.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/event.h"

#define HELPERS_MAX 16
/* The control program's own patience ends before (mps_control.c). */
#define PATIENCE_S 60

struct gs_mps_helper {
	LIST_ENTRY(gs_mps_helper) link;
	struct gs_mps_helpers *all;
	gs_mps_answered *answered;
	pid_t pid;
	int sock;
	struct event *readable;
	char who[96];
};

/* What travels to the helper. */
struct job {
	struct gs_mps_place place;
	struct gs_mps_request request;
};

/* The helper process. */
static void body(int sock, const char *unused)
{
	struct gs_mps_answer answer = { .server = 0 };
	struct gs_error err = { "" };
	struct job job;

	(void)unused;
	signal(SIGPIPE, SIG_IGN);
	if (recv(sock, &job, sizeof(job), 0) != (ssize_t)sizeof(job))
		return;
	if (job.request.op == GS_MPS_SERVER_UP) {
		answer.server =
			gs_mps_server_up(&job.place, job.request.pid, job.request.timeout_ms, &err);
		answer.ok = answer.server > 0;
	} else {
		answer.ok = gs_mps_terminate_now(&job.place, job.request.pid, &err) == 0;
	}
	snprintf(answer.why, sizeof(answer.why), "%.255s", err.text);
	send(sock, &answer, sizeof(answer), MSG_NOSIGNAL);
}

static void end(struct gs_mps_helper *h)
{
	if (h->readable)
		gs_event_free(h->readable);
	if (h->sock >= 0)
		close(h->sock);
	if (h->pid > 0) {
		kill(h->pid, SIGKILL);
		waitpid(h->pid, NULL, 0);
	}
	LIST_REMOVE(h, link);
	h->all->n--;
	free(h);
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct gs_mps_helper *h = arg;
	struct gs_mps_answer answer;
	gs_mps_answered *answered = h->answered;
	void *context = h->all->context;
	char who[sizeof(h->who)];

	(void)what; /* an answer counts even after the timeout: the loop may have been late */
	if (recv(fd, &answer, sizeof(answer), MSG_DONTWAIT) != (ssize_t)sizeof(answer)) {
		answer.ok = 0;
		snprintf(answer.why, sizeof(answer.why), "MPS does not answer");
	}
	answer.why[sizeof(answer.why) - 1] = '\0';
	memcpy(who, h->who, sizeof(who));
	answer.who = who;
	end(h);
	answered(context, &answer);
}

void gs_mps_helpers_init(struct gs_mps_helpers *helpers, struct event_base *base,
			 const struct gs_mps_place *place, void *context)
{
	*helpers = (struct gs_mps_helpers) { .base = base, .place = place, .context = context };
	LIST_INIT(&helpers->list);
}

int gs_mps_helper_query(struct gs_mps_helpers *helpers, const struct gs_mps_request *request,
			const char *who, gs_mps_answered *answered)
{
	static const struct timeval patience = { PATIENCE_S, 0 };
	struct job job = { .place = *helpers->place, .request = *request };
	struct gs_mps_helper *h;

	h = helpers->n < HELPERS_MAX ? calloc(1, sizeof(*h)) : NULL;
	if (!h)
		return -1;
	h->all = helpers;
	h->answered = answered;
	snprintf(h->who, sizeof(h->who), "%s", who);
	LIST_INSERT_HEAD(&helpers->list, h, link);
	helpers->n++;
	h->sock = gs_child_start(&h->pid, body, NULL, 1);
	if (h->sock >= 0)
		h->readable = gs_event_new(helpers->base, h->sock, EV_READ, on_answer, h);
	if (h->readable && event_add(h->readable, &patience) == 0 &&
	    send(h->sock, &job, sizeof(job), MSG_NOSIGNAL) == (ssize_t)sizeof(job))
		return 0;
	end(h);
	return -1;
}

void gs_mps_helpers_end(struct gs_mps_helpers *helpers)
{
	while (!LIST_EMPTY(&helpers->list))
		end(LIST_FIRST(&helpers->list));
}
