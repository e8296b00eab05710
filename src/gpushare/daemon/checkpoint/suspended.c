/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that finds stopped clients; see suspended.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/suspended.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/thread.h"
#include "gpushare/daemon/gpu/commands.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/daemon/checkpoint/noticed.h"

/* How long a stopped client may keep others waiting. */
#define EVERY_NS (100 * GS_NS_PER_MS)

struct client {
	uint64_t conn; /* the connection's id; 0: a process whose memory is away (away.h) */
	pid_t pid;
	int stopped, matters;
	struct gs_gpu_client *client; /* use it only with the daemon's lock */
	struct gs_device *device;
};

struct gs_suspended {
	struct gs_daemon *d;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the following fields */
	pthread_cond_t change;
	int over;
	/* The thread has seen something that noticed.h may want to know: tells the loop. */
	int seen_fd;
	struct event *seen;
	/* Used by the thread only: */
	struct client *client;
	size_t room;
};

struct question {
	struct gs_suspended *s;
	size_t n;
	const struct gs_device *device;
};

static void do_question(struct gs_gpu *gpu, void *arg)
{
	const struct question *q = arg;

	(void)gpu;
	for (size_t i = 0; i < q->n; i++)
		if (q->s->client[i].device == q->device)
			q->s->client[i].matters = gs_gpu_client_matters(q->s->client[i].client);
}

/* Keeps those of the first n clients that matter. */
static size_t those_that_matter(struct gs_suspended *s, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; n && i < s->d->ndevice; i++) {
		struct question q = { s, n, &s->d->device[i] };

		gs_arbiter_call(s->d->device[i].arbiter, do_question, &q);
	}
	for (size_t i = 0; i < n; i++)
		if (s->client[i].matters)
			s->client[left++] = s->client[i];
	return left;
}

static void add(struct gs_suspended *s, size_t *n, struct client client)
{
	if (*n == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct client *grown = realloc(s->client, room * sizeof(*grown));

		if (!grown)
			return; /* it may follow next time */
		s->client = grown;
		s->room = room;
	}
	s->client[(*n)++] = client;
}

/* Collects the clients for which it matters; with the daemon's lock. all: the others, too, and the
 * processes whose memory is away. */
static size_t collect(struct gs_suspended *s, int all)
{
	const struct gs_connection *conn;
	const struct gs_away_process *p;
	const struct gs_step *step;
	size_t n = 0;

	LIST_FOREACH (conn, &s->d->conns, link)
		if (conn->client)
			add(s, &n,
			    (struct client) { .conn = conn->id,
					      .pid = conn->pid,
					      .client = conn->client,
					      .device = conn->device });
	if (!all)
		return those_that_matter(s, n);
	TAILQ_FOREACH (step, &s->d->steps, link)
		if (step->alloc->away && gs_away_is_first(s->d, step))
			LIST_FOREACH (p, &step->alloc->away->processes, link)
				add(s, &n, (struct client) { .pid = p->pid });
	return n;
}

static int is_stopped(const struct gs_suspended *s, size_t n, uint64_t conn, pid_t pid,
		      int *stopped)
{
	for (size_t i = 0; i < n; i++)
		if (s->client[i].conn == conn && s->client[i].pid == pid) {
			*stopped = s->client[i].stopped;
			return 1;
		}
	return 0;
}

/* Skips clients that are gone by now; with the daemon's lock. */
static void apply(struct gs_suspended *s, size_t n)
{
	struct gs_connection *conn;
	struct gs_away_process *p;
	struct gs_step *step;
	int stopped;

	LIST_FOREACH (conn, &s->d->conns, link)
		if (conn->client && is_stopped(s, n, conn->id, conn->pid, &stopped) &&
		    conn->registration.stopped != stopped &&
		    !gs_noticed_is_moving(conn->step->alloc)) {
			conn->registration.stopped = stopped;
			gs_command_stopped(conn->device->arbiter, conn->client, stopped);
		}
	TAILQ_FOREACH (step, &s->d->steps, link)
		if (step->alloc->away)
			LIST_FOREACH (p, &step->alloc->away->processes, link)
				if (is_stopped(s, n, 0, p->pid, &stopped))
					p->stopped = stopped;
}

static void inspect(struct gs_suspended *s)
{
	uint64_t one = 1;
	size_t n;
	int all;

	gs_lock();
	all = gs_noticed_matters(s->d);
	n = collect(s, all);
	gs_unlock();
	if (!n && !all)
		return;
	for (size_t i = 0; i < n; i++)
		s->client[i].stopped = gs_proc_stopped(s->client[i].pid, GS_CGROUP_ROOT);
	gs_lock();
	apply(s, n);
	gs_unlock();
	if (all && write(s->seen_fd, &one, sizeof(one)) < 0)
		return; /* it has not been read yet */
}

static void on_seen(evutil_socket_t fd, short what, void *arg)
{
	struct gs_suspended *s = arg;
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof(times)) > 0)
		gs_noticed_step(s->d);
}

/* Returns 1; 0: the thread must end. */
static int wait_until(struct gs_suspended *s, uint64_t ns)
{
	struct timespec at = { (time_t)(ns / GS_NS_PER_S), (long)(ns % GS_NS_PER_S) };
	int go_on;

	pthread_mutex_lock(&s->lock);
	while (!s->over && pthread_cond_timedwait(&s->change, &s->lock, &at) != ETIMEDOUT)
		;
	go_on = !s->over;
	pthread_mutex_unlock(&s->lock);
	return go_on;
}

static void *run(void *arg)
{
	struct gs_suspended *s = arg;

	while (wait_until(s, gs_clock_ns() + EVERY_NS))
		inspect(s);
	return NULL;
}

static int hear(struct gs_suspended *s)
{
	s->seen_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->seen_fd < 0)
		return -1;
	s->seen = gs_event_new(s->d->base, s->seen_fd, EV_READ | EV_PERSIST, on_seen, s);
	return s->seen ? event_add(s->seen, NULL) : -1;
}

static void destroy(struct gs_suspended *s)
{
	gs_event_free(s->seen);
	if (s->seen_fd >= 0)
		close(s->seen_fd);
	free(s->client);
	free(s);
}

struct gs_suspended *gs_suspended_start(struct gs_daemon *d, struct gs_error *err)
{
	struct gs_suspended *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s) {
		gs_fail(err, "no memory");
		return NULL;
	}
	s->d = d;
	if (hear(s) < 0) {
		gs_fail(err, "no event for stopped programs");
		destroy(s);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->change, &attr);
	pthread_condattr_destroy(&attr);
	if (gs_thread_start(&s->thread, 0, run, s) == 0)
		return s;
	gs_fail_errno(err, "no thread to look for stopped programs");
	destroy(s);
	return NULL;
}

void gs_suspended_end(struct gs_suspended *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->over = 1;
	pthread_cond_signal(&s->change);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->change);
	pthread_mutex_destroy(&s->lock);
	destroy(s);
}
