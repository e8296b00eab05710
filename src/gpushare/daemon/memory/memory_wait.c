/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that wait for their WELCOME until their step has memory; see memory.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/users.h"

#define MIB(bytes) ((bytes) >> 20)

/* A program that waits for its WELCOME. */
struct gs_memory_waiter {
	struct gs_msg hello;
	gs_memory_begin *begin;
	int page; /* the descriptor that came with its HELLO, or -1 */
	uint64_t since_ns;
};

/* Why it waits, for the program's user: no details that soon become wrong. */
static void wait_reason(const struct gs_alloc *a, int admission, char *buf, size_t size)
{
	struct gs_rbdm_view view;

	buf[0] = '\0';
	if (a->away)
		gs_memory_why(a, buf, size);
	else if (admission == GS_ADMISSION_STRICT && gs_memory_poll(a, &view) &&
		 view.phase == GS_RBDM_RESERVING)
		snprintf(buf, size, "its time slice has not come yet");
	else if (a->bytes > gs_memory_available(a->device))
		snprintf(buf, size, "other jobs hold it");
	else
		snprintf(buf, size, "other jobs come first");
}

int gs_memory_wait(struct gs_connection *conn, const struct gs_msg *hello, int page,
		   gs_memory_begin *begin)
{
	struct gs_memory_waiter *w = calloc(1, sizeof(*w));
	char why[256];
	struct gs_msg msg;

	if (!w)
		return -1;
	w->hello = *hello;
	w->begin = begin;
	w->page = page >= 0 ? fcntl(page, F_DUPFD_CLOEXEC, 0) : -1;
	if (w->page < 0 && page >= 0) {
		gs_connection_refuse(conn, hello->header.tag, GS_REFUSED_BAD_REQUEST,
				     "cannot keep the page: %s", strerror(errno));
		free(w);
		return -1;
	}
	w->since_ns = gs_clock_ns();
	conn->waiter = w;
	gs_connection_watch_process(conn);
	gs_memory_step_soon(conn->d); /* it may also have waited too long */
	gs_msg_init(&msg, GS_MSG_WAIT, hello->header.tag);
	msg.wait.bytes = conn->step->alloc->bytes;
	wait_reason(conn->step->alloc, conn->d->config->memory_admission, msg.wait.reason,
		    sizeof(msg.wait.reason));
	gs_memory_why(conn->step->alloc, why, sizeof(why));
	if (w->page < 0) /* one with a page comes again some times a second */
		gs_user_log(gs_connection_who_pays(conn), "%s: waits for %" PRIu64 " MiB: %s",
			    conn->who, MIB(msg.wait.bytes), why);
	return gs_connection_send(conn, &msg, -1);
}

void gs_memory_wait_end(struct gs_connection *conn)
{
	if (!conn->waiter)
		return;
	if (conn->waiter->page >= 0)
		close(conn->waiter->page);
	free(conn->waiter);
	conn->waiter = NULL;
}

/* One waiting program of the allocation, or NULL. */
static struct gs_connection *next_waiter(struct gs_daemon *d, const struct gs_alloc *a)
{
	struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->waiter && conn->step->alloc == a)
			return conn;
	return NULL;
}

void gs_memory_welcome(struct gs_daemon *d, const struct gs_alloc *a)
{
	struct gs_connection *conn;

	while ((conn = next_waiter(d, a))) {
		struct gs_memory_waiter w = *conn->waiter;

		free(conn->waiter);
		conn->waiter = NULL;
		if (w.begin(conn, &w.hello, w.page) < 0)
			gs_connection_close(conn);
		if (w.page >= 0)
			close(w.page);
	}
}

/* One whose patience is over, or NULL; *next: when that of another one is, if earlier. */
static struct gs_connection *late_one(struct gs_daemon *d, uint64_t now, uint64_t *next)
{
	uint64_t bound = d->config->memory_wait_ns;
	struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link) {
		if (!conn->waiter || conn->step->alloc->away) /* that is not its own doing */
			continue;
		if (now - conn->waiter->since_ns >= bound)
			return conn;
		if (conn->waiter->since_ns + bound < *next)
			*next = conn->waiter->since_ns + bound;
	}
	return NULL;
}

uint64_t gs_memory_refuse_late(struct gs_daemon *d, uint64_t now)
{
	uint64_t bound = d->config->memory_wait_ns, next = UINT64_MAX;
	struct gs_connection *conn;

	/* From the first one each time: whatever ends with one may be another. */
	while (bound && (conn = late_one(d, now, &next))) {
		char why[256];

		gs_memory_why(conn->step->alloc, why, sizeof(why));
		gs_connection_refuse(conn, conn->waiter->hello.header.tag, GS_REFUSED_NO_ROOM,
				     "got no GPU memory within %.1f s (MemoryWait=): %s",
				     (double)bound / 1e9, why);
		gs_connection_close(conn);
	}
	return next;
}
