/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads from connections, dispatches messages by type, and closes connections; see connection.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/connection.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/connection_text.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/foreign.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/daemon/base/unread.h"
#include "gpushare/daemon/base/users.h"

/* How many messages of one connection are handled before the others get their turn. */
#define MESSAGES_PER_STEP 32
/* And for how long, but for the last of them. */
#define STEP_NS (5 * GS_NS_PER_MS)
/* How many messages are read from a connection whose process has ended. */
#define LAST_MESSAGES 512

#define LISTENERS_MAX 8

static gs_handler *const *handlers;
/* The connection whose message is being handled; closed: it was closed meanwhile, and is freed
 * afterwards. */
static struct {
	struct gs_connection *conn;
	int closed;
} handled;
#define CLOSED (-2)
static gs_connection_listener *listeners[LISTENERS_MAX]; /* the first NULL ends the list */

void gs_connections_serve(gs_handler *const *table)
{
	handlers = table;
}

void gs_connections_on_gone(gs_connection_listener *listener)
{
	size_t i = 0;

	while (listeners[i])
		i++;
	assert(i + 1 < LISTENERS_MAX);
	listeners[i] = listener;
}

int gs_connection_send(struct gs_connection *conn, const struct gs_msg *msg, int fd)
{
	if (fd >= 0 && gs_unread_is(conn->fd)) {
		gs_complain("%s: asks for more descriptors before it has read its answers: closed",
			    conn->who);
		return -1;
	}
	if (gs_msg_send(conn->fd, msg, fd) == 0)
		return 0;
	if (errno == ETOOMANYREFS)
		gs_complain("%s: closed: the kernel passes no more descriptors for gpushared, "
			    "since too many have not been read",
			    conn->who);
	else if (errno != EPIPE && errno != ECONNRESET)
		gs_complain("%s: does not read its answers (%s): closed", conn->who,
			    strerror(errno));
	return -1;
}

int gs_connection_refuse(struct gs_connection *conn, uint32_t tag, enum gs_refusal code,
			 const char *fmt, ...)
{
	struct gs_msg msg;
	va_list ap;

	gs_msg_init(&msg, GS_MSG_REFUSED, tag);
	msg.refused.code = code;
	va_start(ap, fmt);
	vsnprintf(msg.refused.reason, sizeof(msg.refused.reason), fmt, ap);
	va_end(ap);
	gs_complain("%s: refused: %s", conn->who, msg.refused.reason);
	gs_msg_send(conn->fd, &msg, -1); /* it is closed in any case, and one log line is enough */
	return -1;
}

uid_t gs_connection_who_pays(const struct gs_connection *conn)
{
	if (conn->uid == 0)
		return 0;
	if (conn->step)
		return conn->step->info.uid;
	return gs_user_has_step(conn->d, conn->uid) ? conn->uid : GS_USER_STRANGERS;
}

/* As gs_msg_recv(), but no descriptor is taken that is not a page's. */
static int receive(struct gs_connection *conn, struct gs_msg *msg, int *fd, struct gs_error *err)
{
	struct gs_msg_header header;
	int comes = gs_foreign_comes(conn->fd, &header);

	*fd = -1;
	if (comes < 0)
		return -1; /* what has come since has not been looked at */
	if (!comes)
		return gs_msg_recv(conn->fd, msg, GS_TO_DAEMON, NULL, err);
	if (header.type == GS_MSG_HELLO &&
	    gs_foreign_is_page(conn->fd, gs_connection_who_pays(conn)))
		return gs_msg_recv(conn->fd, msg, GS_TO_DAEMON, fd, err);
	gs_connection_refuse(conn, header.tag, GS_REFUSED_BAD_REQUEST,
			     "%s with a descriptor that is no sealed page",
			     gs_msg_name(header.type));
	errno = EPROTO; /* it has been said */
	return -1;
}

/* The handler's answer, or CLOSED: the connection is no more. */
static int call_handler(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	int ret;

	handled.conn = conn;
	ret = handlers[msg->header.type](conn, msg, fd);
	handled.conn = NULL;
	if (!handled.closed)
		return ret;
	handled.closed = 0;
	free(conn);
	return CLOSED;
}

/* What a process said of itself is worth reading when it has ended; an answer is not. */
static int is_worth_hearing(uint16_t type)
{
	return type == GS_MSG_KERNEL || type == GS_MSG_UNTRACKED || type == GS_MSG_VARIANT ||
	       type == GS_MSG_FREE;
}

/* 0: there may be more; 1: there is nothing now; -1: close it; CLOSED. */
static int handle_one(struct gs_connection *conn, int has_ended)
{
	struct gs_error err;
	struct gs_msg msg;
	int fd, ret, n = receive(conn, &msg, &fd, &err);

	if (n == 0)
		return -1;
	if (n < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return 1;
		if (errno == EBADMSG)
			gs_complain("%s: closed: %s", conn->who, err.text);
		return -1;
	}
	if (!handlers[msg.header.type]) {
		gs_complain("%s: closed: %s is not for the daemon", conn->who,
			    gs_msg_name(msg.header.type));
		ret = -1;
	} else if (has_ended && !is_worth_hearing(msg.header.type)) {
		ret = 0;
	} else {
		ret = call_handler(conn, &msg, fd);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

/* ---- users that ask too much wait ------------------------------------- */

static struct event *later; /* when those that wait are read again; NULL: none ever waited */

/* Users that have had much of the loop's time go last. Not while its events are due. */
static void rank(struct gs_connection *conn, uid_t pays)
{
	int rank = pays == 0                    ? GS_EVENT_ROOT :
		   gs_user_has_had_little(pays) ? GS_EVENT_USER :
						  GS_EVENT_HEAVY;

	event_priority_set(conn->readable, rank);
	event_priority_set(conn->writable, rank);
}

static void read_later(struct gs_connection *conn)
{
	static const struct timeval pause = { 0, 20000 };

	event_del(conn->readable);
	if (!event_pending(later, EV_TIMEOUT, NULL))
		event_add(later, &pause);
}

static void on_later(evutil_socket_t fd, short what, void *arg)
{
	struct gs_daemon *d = arg;
	struct gs_connection *conn;
	uid_t pays;

	(void)fd;
	(void)what;
	LIST_FOREACH (conn, &d->conns, link) {
		if (event_pending(conn->readable, EV_READ, NULL) || gs_connection_is_parked(conn))
			continue;
		pays = gs_connection_who_pays(conn);
		rank(conn, pays);
		if (gs_user_is_over(pays, conn->uid) || event_add(conn->readable, NULL) < 0)
			read_later(conn);
	}
}

void gs_connections_fini(void)
{
	gs_event_free(later);
	later = NULL;
	gs_unread_fini();
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct gs_connection *conn = arg;
	uid_t uid = conn->uid, pays = gs_connection_who_pays(conn);
	uint64_t begun = gs_user_clock_ns(), until = begun + STEP_NS;

	(void)fd;
	(void)what;
	for (int i = 0; i < MESSAGES_PER_STEP && begun < until; i++) {
		uint64_t now;
		int rc;

		if (gs_user_is_over(pays, uid)) {
			read_later(conn);
			return;
		}
		rc = handle_one(conn, 0);
		if (rc == -1)
			gs_connection_close(conn);
		now = gs_user_clock_ns();
		gs_user_spent(pays, uid, now - begun);
		begun = now;
		if (rc == -1 || rc == CLOSED)
			return;
		if (rc)
			break;
	}
	rank(conn, pays);
}

struct gs_connection *gs_connection_new(struct gs_daemon *d, int fd, uid_t uid, pid_t pid)
{
	struct gs_connection *conn = calloc(1, sizeof(*conn));
	struct gs_proc proc;

	if (!conn)
		goto fail;
	conn->d = d;
	conn->fd = fd;
	conn->pidfd = -1;
	conn->uid = uid;
	conn->pid = pid;
	conn->id = ++d->next_id;
	conn->start = gs_proc_read_connected(fd, pid, &proc) == 0 ? proc.start : 0;
	snprintf(conn->who, sizeof(conn->who), "uid %u pid %d", (unsigned)uid, (int)pid);
	conn->readable = gs_event_new(d->base, fd, EV_READ | EV_PERSIST, on_readable, conn);
	conn->writable = gs_event_new(d->base, fd, EV_WRITE, gs_connection_on_writable, conn);
	if (!conn->readable || !conn->writable || event_add(conn->readable, NULL) < 0)
		goto fail;
	if (!later)
		later = gs_event_new(d->base, -1, 0, on_later, d);
	if (!later)
		goto fail;
	LIST_INSERT_HEAD(&d->conns, conn, link);
	rank(conn, gs_connection_who_pays(conn));
	return conn;
fail:
	if (conn) {
		if (conn->readable)
			gs_event_free(conn->readable);
		if (conn->writable)
			gs_event_free(conn->writable);
	}
	free(conn);
	gs_foreign_close(fd);
	return NULL;
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct gs_connection *conn = arg;
	uid_t uid = conn->uid, pays = gs_connection_who_pays(conn);
	uint64_t begun = gs_user_clock_ns();
	int rc = 0;

	(void)fd;
	(void)what;
	/* Messages that it sent before are still handled, but only so many: a child that has the
	 * socket may send for ever, and many programs of a user may end at once. Those of a parked
	 * client are dropped: it has no client in the arbiter that they could be for, and each
	 * would be logged as sent before HELLO. */
	for (int i = 0; i < LAST_MESSAGES && rc == 0 && !gs_connection_is_parked(conn) &&
			!gs_user_is_over(pays, uid);
	     i++) {
		uint64_t now;

		rc = handle_one(conn, 1);
		now = gs_user_clock_ns();
		gs_user_spent(pays, uid, now - begun);
		begun = now;
	}
	if (rc != CLOSED)
		gs_connection_close(conn);
}

void gs_connection_watch_process(struct gs_connection *conn)
{
	/* a pidfd is close-on-exec by default */
	int fd = (int)syscall(SYS_pidfd_open, conn->pid, 0);

	if (fd < 0)
		return;
	if (!gs_proc_alive(conn->pid, conn->start)) {
		close(fd); /* it has ended; another may have its number */
		return;
	}
	conn->ended = gs_event_new(conn->d->base, fd, EV_READ, on_ended, conn);
	if (conn->ended)
		event_priority_set(conn->ended, GS_EVENT_USER);
	if (!conn->ended || event_add(conn->ended, NULL) < 0) {
		if (conn->ended)
			gs_event_free(conn->ended);
		conn->ended = NULL;
		close(fd);
		return;
	}
	conn->pidfd = fd;
}

void gs_connection_close(struct gs_connection *conn)
{
	for (size_t i = 0; listeners[i]; i++)
		listeners[i](conn);
	LIST_REMOVE(conn, link);
	gs_connection_drop_text(conn);
	gs_event_free(conn->readable);
	gs_event_free(conn->writable);
	conn->writable = NULL;
	if (conn->ended) {
		gs_event_free(conn->ended);
		close(conn->pidfd);
	}
	gs_unread_close(conn->fd, conn->uid);
	if (handled.conn == conn) {
		conn->fd = -1; /* what its handler still sends goes nowhere */
		handled.closed = 1;
		return;
	}
	free(conn);
}

unsigned gs_connections_of(const struct gs_daemon *d, uid_t uid)
{
	const struct gs_connection *conn;
	unsigned n = gs_unread_of(uid);

	LIST_FOREACH (conn, &d->conns, link)
		n += conn->uid == uid;
	return n;
}

unsigned gs_connections_count(const struct gs_daemon *d)
{
	const struct gs_connection *conn;
	unsigned n = gs_unread_count();

	LIST_FOREACH (conn, &d->conns, link)
		n++;
	return n;
}

int gs_connection_is_parked(const struct gs_connection *conn)
{
	return conn->page && !conn->client;
}

int gs_connection_is_client(struct gs_connection *conn, const struct gs_msg *msg)
{
	if (conn->client)
		return 0;
	gs_complain("%s: closed: %s before HELLO", conn->who, gs_msg_name(msg->header.type));
	return -1;
}
