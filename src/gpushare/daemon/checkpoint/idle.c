/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose programs call nothing, and who has begun to call again; see idle.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/checkpoint/idle.h"

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/arbiter/gpu.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/checkpoint/away.h"
#include "gpushare/proto/page.h"

/* Who wakes waits so long at most until that is seen. */
#define WAKE_POLL_NS (20 * GS_NS_PER_MS)
/* How often calls are looked at otherwise: a tenth of IdleReclaim, within these. */
#define POLL_LEAST_NS (50 * GS_NS_PER_MS)
#define POLL_MOST_NS (5 * GS_NS_PER_S)

static uint32_t begun(const struct gs_connection *conn)
{
	return gs_page_load(conn->page->calls.begun);
}

/* One that does not count has 0 in both, and began nothing that could have ended. */
static int is_inside(const struct gs_connection *conn)
{
	return begun(conn) != gs_page_load(conn->page->calls.ended);
}

static void poll_client(struct gs_connection *conn, uint64_t now)
{
	struct gs_registration *r = &conn->registration;
	uint32_t calls = begun(conn);

	gs_page_tell(conn->page->calls.wanted, 1);
	if (!calls || calls != r->calls || is_inside(conn))
		r->quiet_ns = 0;
	else if (!r->quiet_ns)
		r->quiet_ns = now;
	r->calls = calls;
}

int gs_idle_woke(const struct gs_daemon *d, const struct gs_alloc *a)
{
	const struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->step && conn->step->alloc == a &&
		    (conn->waiter || (conn->page && begun(conn) != conn->registration.calls)))
			return 1;
	return 0;
}

/* It is queued for its memory like anybody else then (checkpoint.c). */
static void wake(struct gs_daemon *d, struct gs_alloc *a)
{
	char name[32];

	a->away->idle = 0;
	gs_log(GS_LOG_INFO, "%s: uses the GPU again, and wants its memory back",
	       gs_checkpoint_name(d, a, name, sizeof(name)));
}

uint64_t gs_idle_poll(struct gs_daemon *d, uint64_t now)
{
	uint64_t every = d->config->idle_reclaim_ns / 10, next = UINT64_MAX;
	struct gs_connection *conn;
	struct gs_step *s;

	TAILQ_FOREACH (s, &d->steps, link) {
		if (!s->alloc->away || !s->alloc->away->idle || !s->alloc->away->released)
			continue;
		if (gs_idle_woke(d, s->alloc))
			wake(d, s->alloc);
		else
			next = now + WAKE_POLL_NS;
	}
	if (!every)
		return next;
	every = every < POLL_LEAST_NS ? POLL_LEAST_NS : every > POLL_MOST_NS ? POLL_MOST_NS : every;
	LIST_FOREACH (conn, &d->conns, link)
		if (conn->client && !conn->step->alloc->away) {
			poll_client(conn, now);
			if (now + every < next)
				next = now + every;
		}
	return next;
}

int gs_idle_is(struct gs_daemon *d, const struct gs_alloc *a, uint64_t now)
{
	uint64_t least = d->config->idle_reclaim_ns;
	const struct gs_connection *conn;
	const struct gs_step *s;
	unsigned clients = 0;

	if (!least)
		return 0;
	/* A kernel may run long after the call that launched it. */
	TAILQ_FOREACH (s, &d->steps, link)
		if (s->alloc == a && (s->doing > GS_DOING_IDLES || s->doing == GS_DOING_STOPPED ||
				      (s->usage.worked_ns && now - s->usage.worked_ns < least)))
			return 0;
	LIST_FOREACH (conn, &d->conns, link) {
		if (!conn->client || conn->step->alloc != a)
			continue;
		if (!conn->registration.quiet_ns || now - conn->registration.quiet_ns < least ||
		    conn->registration.stopped || begun(conn) != conn->registration.calls ||
		    is_inside(conn))
			return 0;
		clients++;
	}
	return clients > 0;
}
