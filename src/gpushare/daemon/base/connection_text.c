/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Long answers, which are sent as the peer reads; see connection.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/connection_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/base/users.h"

/* How long the peer may take to read the next piece of a text. */
#define READ_PATIENCE_S 5
/* What a user's connections may have of texts that are on their way, when it is more than one. */
#define TEXTS_PER_USER (8u << 20)

struct gs_connection_text {
	char *bytes;
	size_t size, sent;
	uint32_t tag;
};

void gs_connection_drop_text(struct gs_connection *conn)
{
	if (!conn->text)
		return;
	if (conn->writable)
		event_del(conn->writable); /* it was to send the rest */
	free(conn->text->bytes);
	free(conn->text);
	conn->text = NULL;
}

/* Sends what the socket accepts, and waits for room for the rest. */
static int continue_text(struct gs_connection *conn)
{
	static const struct timeval patience = { READ_PATIENCE_S, 0 };
	struct gs_connection_text *text = conn->text;

	do {
		size_t left = text->size - text->sent;
		struct gs_msg msg;

		gs_msg_init(&msg, GS_MSG_TEXT, text->tag);
		msg.text.more = left > sizeof(msg.text.text);
		msg.text.length = (uint32_t)(msg.text.more ? sizeof(msg.text.text) : left);
		memcpy(msg.text.text, text->bytes + text->sent, msg.text.length);
		if (gs_msg_send(conn->fd, &msg, -1) < 0) {
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				return -1;
			return event_add(conn->writable, &patience);
		}
		text->sent += msg.text.length;
	} while (text->sent < text->size);
	gs_connection_drop_text(conn);
	return 0;
}

/* The timeout may only mean that the loop itself was late. The connection is closed if its reader
 * has taken nothing since the last part was sent. */
void gs_connection_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct gs_connection *conn = arg;
	uid_t uid = conn->uid, pays = gs_connection_who_pays(conn);
	uint64_t begun = gs_user_clock_ns();
	size_t before = conn->text->sent;

	(void)fd;
	if (continue_text(conn) < 0) {
		gs_connection_close(conn);
	} else if ((what & EV_TIMEOUT) && conn->text && conn->text->sent == before) {
		gs_complain("%s: does not read its answers: closed", conn->who);
		gs_connection_close(conn);
	}
	gs_user_spent(pays, uid, gs_user_clock_ns() - begun);
}

/* Who asks on many connections and reads slowly must not fill the daemon's memory. */
static int has_too_many_texts(const struct gs_connection *conn, size_t more)
{
	const struct gs_connection *other;
	uid_t uid = gs_connection_who_pays(conn);
	size_t sum = 0;

	LIST_FOREACH (other, &conn->d->conns, link)
		if (other != conn && other->text && gs_connection_who_pays(other) == uid)
			sum += other->text->size;
	return uid != 0 && sum && sum + more > TEXTS_PER_USER;
}

int gs_connection_send_text(struct gs_connection *conn, uint32_t tag, char *bytes, size_t size)
{
	struct gs_connection_text *text = bytes ? calloc(1, sizeof(*text)) : NULL;

	if (!text) {
		free(bytes);
		return -1;
	}
	gs_connection_drop_text(conn);
	if (has_too_many_texts(conn, size)) {
		free(bytes);
		free(text);
		return gs_connection_refuse(conn, tag, GS_REFUSED_NO_ROOM,
					    "read what has been answered on other connections "
					    "first");
	}
	*text = (struct gs_connection_text) { .bytes = bytes, .size = size, .tag = tag };
	conn->text = text;
	return continue_text(conn);
}

int gs_connection_sends_text(const struct gs_connection *conn)
{
	return conn->text != NULL;
}
