/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading from a connection, dispatching by type, ending it; see peer.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/peer.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"
#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/proc.h"

/* Messages taken from one peer before the others get their turn. */
#define MESSAGES_PER_TURN 32
/* Messages read from a peer whose process has ended. */
#define LAST_MESSAGES 512

#define LISTENERS_MAX 8
/* How long somebody may take to read the next piece of a text. */
#define READ_PATIENCE_S 5

struct gs_peer_text {
	char *bytes;
	size_t size, sent;
	uint32_t tag;
};

static gs_handler *const *handlers;
static gs_peer_listener *listeners[LISTENERS_MAX]; /* up to the first NULL */

void gs_peers_serve(gs_handler *const *table)
{
	handlers = table;
}

void gs_peers_on_gone(gs_peer_listener *listener)
{
	size_t i = 0;

	while (listeners[i])
		i++;
	assert(i + 1 < LISTENERS_MAX);
	listeners[i] = listener;
}

int gs_peer_send(struct gs_peer *peer, const struct gs_msg *msg, int fd)
{
	if (gs_msg_send(peer->fd, msg, fd) == 0)
		return 0;
	if (errno != EPIPE && errno != ECONNRESET)
		gs_complain("%s: does not read its answers (%s): closed",
			    peer->who, strerror(errno));
	return -1;
}

int gs_peer_refuse(struct gs_peer *peer, uint32_t tag, enum gs_refusal code,
		   const char *fmt, ...)
{
	struct gs_msg msg;
	va_list ap;

	gs_msg_init(&msg, GS_MSG_REFUSED, tag);
	msg.refused.code = code;
	va_start(ap, fmt);
	vsnprintf(msg.refused.reason, sizeof(msg.refused.reason), fmt, ap);
	va_end(ap);
	gs_complain("%s: refused: %s", peer->who, msg.refused.reason);
	gs_msg_send(peer->fd, &msg, -1); /* it is closed in any case: one line is enough */
	return -1;
}

static int handle_one(struct gs_peer *peer)
{
	struct gs_error err;
	struct gs_msg msg;
	int fd, ret, n = gs_msg_recv(peer->fd, &msg, GS_TO_DAEMON, &fd, &err);

	if (n == 0)
		return -1;
	if (n < 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			return 1;
		if (errno == EBADMSG)
			gs_complain("%s: closed: %s", peer->who, err.text);
		return -1;
	}
	if (!handlers[msg.header.type]) {
		gs_complain("%s: closed: %s is not for the daemon", peer->who,
			    gs_msg_name(msg.header.type));
		ret = -1;
	} else {
		ret = handlers[msg.header.type](peer, &msg, fd);
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static void drop_text(struct gs_peer *peer)
{
	if (peer->text)
		free(peer->text->bytes);
	free(peer->text);
	peer->text = NULL;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct gs_peer *peer = arg;

	(void)fd;
	(void)what;
	for (int i = 0; i < MESSAGES_PER_TURN; i++) {
		int rc = handle_one(peer);

		if (rc < 0)
			gs_peer_close(peer);
		if (rc)
			return;
	}
}

/* Send what the socket takes; wait for room for the rest. */
static int continue_text(struct gs_peer *peer)
{
	static const struct timeval patience = { READ_PATIENCE_S, 0 };
	struct gs_peer_text *text = peer->text;

	do {
		size_t left = text->size - text->sent;
		struct gs_msg msg;

		gs_msg_init(&msg, GS_MSG_TEXT, text->tag);
		msg.text.more = left > sizeof(msg.text.text);
		msg.text.length = (uint32_t)(msg.text.more ? sizeof(msg.text.text) : left);
		memcpy(msg.text.text, text->bytes + text->sent, msg.text.length);
		if (gs_msg_send(peer->fd, &msg, -1) < 0) {
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				return -1;
			return event_add(peer->writable, &patience);
		}
		text->sent += msg.text.length;
	} while (text->sent < text->size);
	drop_text(peer);
	return 0;
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct gs_peer *peer = arg;

	(void)fd;
	if ((what & EV_TIMEOUT) || continue_text(peer) < 0)
		gs_peer_close(peer);
}

int gs_peer_send_text(struct gs_peer *peer, uint32_t tag, char *bytes, size_t size)
{
	struct gs_peer_text *text = bytes ? calloc(1, sizeof(*text)) : NULL;

	if (!text) {
		free(bytes);
		return -1;
	}
	drop_text(peer);
	*text = (struct gs_peer_text){ .bytes = bytes, .size = size, .tag = tag };
	peer->text = text;
	return continue_text(peer);
}

int gs_peer_sends_text(const struct gs_peer *peer)
{
	return peer->text != NULL;
}

struct gs_peer *gs_peer_new(struct gs_daemon *d, int fd, uid_t uid, pid_t pid)
{
	struct gs_peer *peer = calloc(1, sizeof(*peer));
	struct gs_proc proc;

	if (!peer)
		goto fail;
	peer->d = d;
	peer->fd = fd;
	peer->pidfd = -1;
	peer->uid = uid;
	peer->pid = pid;
	peer->id = ++d->next_id;
	peer->start = gs_proc_read(pid, &proc) == 0 ? proc.start : 0;
	snprintf(peer->who, sizeof(peer->who), "uid %u pid %d", (unsigned)uid, (int)pid);
	peer->readable = gs_event_new(d->base, fd, EV_READ | EV_PERSIST, on_readable, peer);
	peer->writable = gs_event_new(d->base, fd, EV_WRITE, on_writable, peer);
	if (!peer->readable || !peer->writable || event_add(peer->readable, NULL) < 0)
		goto fail;
	LIST_INSERT_HEAD(&d->peers, peer, link);
	return peer;
fail:
	if (peer) {
		if (peer->readable)
			gs_event_free(peer->readable);
		if (peer->writable)
			gs_event_free(peer->writable);
	}
	free(peer);
	close(fd);
	return NULL;
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct gs_peer *peer = arg;

	(void)fd;
	(void)what;
	/* What it said before is still worth reading; a child that has the socket may go on for ever. */
	for (int i = 0; i < LAST_MESSAGES && handle_one(peer) == 0; i++)
		;
	gs_peer_close(peer);
}

void gs_peer_watch_process(struct gs_peer *peer)
{
	int fd = (int)syscall(SYS_pidfd_open, peer->pid, 0); /* close-on-exec by itself */

	if (fd < 0)
		return;
	peer->ended = gs_event_new(peer->d->base, fd, EV_READ, on_ended, peer);
	if (!peer->ended || event_add(peer->ended, NULL) < 0) {
		if (peer->ended)
			gs_event_free(peer->ended);
		peer->ended = NULL;
		close(fd);
		return;
	}
	peer->pidfd = fd;
}

void gs_peer_close(struct gs_peer *peer)
{
	for (size_t i = 0; listeners[i]; i++)
		listeners[i](peer);
	LIST_REMOVE(peer, link);
	gs_event_free(peer->readable);
	gs_event_free(peer->writable);
	if (peer->ended) {
		gs_event_free(peer->ended);
		close(peer->pidfd);
	}
	close(peer->fd);
	drop_text(peer);
	free(peer);
}

unsigned gs_peers_of(const struct gs_daemon *d, uid_t uid)
{
	const struct gs_peer *peer;
	unsigned n = 0;

	LIST_FOREACH(peer, &d->peers, link)
		n += peer->uid == uid;
	return n;
}

unsigned gs_peers_count(const struct gs_daemon *d)
{
	const struct gs_peer *peer;
	unsigned n = 0;

	LIST_FOREACH(peer, &d->peers, link)
		n++;
	return n;
}
