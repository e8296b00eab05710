/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suspends jobs with their memory on the host; see suspend.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/suspend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/log.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/memory/memory_lease.h"
#include "gpushare/daemon/checkpoint/checkpointer.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/returning.h"
#include "gpushare/daemon/checkpoint/checkpoint_core.h"
#include "gpushare/daemon/checkpoint/noticed.h"

/* A SUSPEND request that waits until the memory is on the host. */
struct waiting {
	LIST_ENTRY(waiting) link;
	struct gs_connection *conn;
	uint32_t job, tag;
	char failed[192]; /* why that is not possible; "" */
};

static LIST_HEAD(, waiting) all = LIST_HEAD_INITIALIZER(all);

static struct waiting *waiting_of(const struct gs_connection *conn)
{
	struct waiting *w;

	LIST_FOREACH (w, &all, link)
		if (w->conn == conn)
			return w;
	return NULL;
}

static void forget(struct waiting *w)
{
	LIST_REMOVE(w, link);
	free(w);
}

int gs_suspend_waits(const struct gs_connection *conn)
{
	return waiting_of(conn) != NULL;
}

int gs_suspend_begin(struct gs_connection *conn, uint32_t job_id, uint32_t tag)
{
	struct waiting *w = calloc(1, sizeof(*w));
	struct gs_daemon *d = conn->d;
	struct gs_step *s;

	if (!w)
		return -1;
	w->conn = conn;
	w->job = job_id;
	w->tag = tag;
	LIST_INSERT_HEAD(&all, w, link);

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == job_id)
			s->alloc->suspended = 1;
	gs_state_save(d); /* its memory may be on the host already */
	gs_memory_step(d);
	gs_suspend_answer(d); /* a job without steps here need not wait for another job's memory */
	return 0;
}

void gs_suspend_end(struct gs_daemon *d, uint32_t job_id)
{
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == job_id)
			s->alloc->suspended = 0;
	gs_state_save(d);
	gs_memory_step(d);
}

void gs_suspend_connection_gone(struct gs_connection *conn)
{
	struct waiting *w = waiting_of(conn);
	struct gs_step *s;

	if (!w)
		return;
	TAILQ_FOREACH (s, &conn->d->steps, link)
		if (s->info.job_id == w->job && !gs_suspend_keeps(s->alloc))
			s->alloc->suspended = 0;
	forget(w);
}

int gs_suspend_step(struct gs_checkpoint *t, uint64_t now, uint64_t *retry_ns)
{
	struct gs_daemon *d = t->d;
	uint64_t limit = d->config->memory_preempt_host;
	struct gs_error err;
	struct gs_step *s;
	char name[32], why[80];
	pid_t pid;

	TAILQ_FOREACH (s, &d->steps, link) {
		struct gs_alloc *a = s->alloc;

		if (!a->suspended || gs_suspend_keeps(a))
			continue;
		if (!a->admitted && !a->away) {
			a->suspended = 0; /* it has no memory yet, so there is nothing to move */
		} else if (a->away && a->away->released && !a->admitted) {
			gs_memory_leave(a); /* its memory was taken back, and it waited */
			a->away->queued = 0;
			gs_state_save(d);
			return 1;
		} else if (!a->away && now < gs_returning_until_ns()) {
			if (gs_returning_until_ns() < *retry_ns)
				*retry_ns = gs_returning_until_ns();
		} else if (!a->away && (pid = gs_returning_of(a)) != 0) {
			snprintf(why, sizeof(why),
				 "pid %d has not come back since gpushared began anew", (int)pid);
			gs_suspend_failed(d, a, why);
		} else if (!a->away && gs_checkpoint_on_host(d) + gs_memory_used(d, a) > limit) {
			gs_suspend_failed(d, a, "it would be more than MemoryPreemptHostLimit");
		} else if (!a->away && gs_checkpointer_check(d->config, &err) < 0) {
			gs_suspend_failed(d, a, err.text);
		} else if (!a->away && gs_noticed_wake(d, a, &err) < 0) {
			gs_suspend_failed(d, a, err.text);
		} else if (!a->away) {
			gs_log(GS_LOG_INFO,
			       "%s: is suspended: its memory goes to the host: %" PRIu64
			       " MiB in use",
			       gs_checkpoint_name(d, a, name, sizeof(name)),
			       gs_memory_used(d, a) >> 20);
			gs_checkpoint_leave(t, a, 0);
			return 1;
		}
		/* Otherwise its processes are returning, and leave again once they are back. */
	}
	return 0;
}

void gs_suspend_failed(struct gs_daemon *d, struct gs_alloc *a, const char *why)
{
	struct waiting *w;
	struct gs_step *s;
	char name[32];

	if (!a->suspended)
		return;
	a->suspended = 0;
	gs_log(GS_LOG_WARN, "%s: is suspended and keeps its memory: %s",
	       gs_checkpoint_name(d, a, name, sizeof(name)), why);
	LIST_FOREACH (w, &all, link)
		TAILQ_FOREACH (s, &d->steps, link)
			if (s->alloc == a && s->info.job_id == w->job)
				snprintf(w->failed, sizeof(w->failed), "%s", why);
}

static int job_settled(const struct gs_daemon *d, uint32_t job_id)
{
	const struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link)
		if (s->info.job_id == job_id && !gs_suspend_settled(s->alloc))
			return 0;
	return 1;
}

void gs_suspend_answer(struct gs_daemon *d)
{
	struct waiting *w, *next;
	struct gs_msg msg;

	/* Does not close the connection: the peer hangs up by itself, and the caller may still use
	 * it. */
	for (w = LIST_FIRST(&all); w; w = next) {
		next = LIST_NEXT(w, link);
		if (!job_settled(d, w->job))
			continue;
		gs_msg_init(&msg, GS_MSG_OK, w->tag);
		if (*w->failed)
			gs_connection_refuse(w->conn, w->tag, GS_REFUSED_NO_ROOM, "%s", w->failed);
		else
			gs_connection_send(w->conn, &msg, -1);
		forget(w);
	}
}

/* ---- across a restart ---------------------------------------------------- */

static void print(const struct gs_daemon *d, const struct gs_step *s, FILE *f)
{
	(void)d;
	if (gs_suspend_keeps(s->alloc))
		fprintf(f, "held %u %u\n", s->info.job_id, s->info.step_id);
}

static int parse(struct gs_daemon *d, const char *line)
{
	unsigned job, step;
	struct gs_step *s;
	int at = 0;

	if (sscanf(line, "held %u %u%n", &job, &step, &at) != 2 || line[at])
		return 0;
	s = gs_step_find(d, job, step);
	if (!s || s->alloc->admitted)
		return 1;
	if (!s->alloc->away)
		s->alloc->away = calloc(1, sizeof(*s->alloc->away));
	if (!s->alloc->away)
		return 1;
	gs_memory_leave(s->alloc);
	s->alloc->away->released = 1;
	s->alloc->away->queued = 0;
	s->alloc->suspended = 1;
	return 1;
}

const struct gs_state_part gs_suspend_part = { .print = print, .parse = parse };
