/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to the daemon and their answers; see exchange.h. */
#define _GNU_SOURCE
#include "gpushare/client/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/clock.h"

#define PATIENCE_NS (10 * GS_NS_PER_S)
#define ANSWER_MAX (256u << 20)

int gs_ctl_connect_within(const char *path, uint64_t patience_ns, struct gs_error *err)
{
	return gs_msg_connect(path, patience_ns, err);
}

int gs_ctl_connect(const char *path, struct gs_error *err)
{
	return gs_ctl_connect_within(path, PATIENCE_NS, err);
}

/* Why it failed, in other words than the system's where the daemon only took too long. */
static int no_answer(int sock, const char *doing, struct gs_error *err)
{
	struct timeval limit = { 0 };
	socklen_t size = sizeof(limit);

	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return doing ? gs_fail_errno(err, "%s", doing) : -1;
	getsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, &size);
	return gs_fail(err, "gpushared does not answer within %.3g s: it hangs, or is stopped",
		       (double)limit.tv_sec + (double)limit.tv_usec / 1e6);
}

static int receive(int sock, struct gs_msg *msg, enum gs_msg_type answer, struct gs_error *err)
{
	int rc;

	errno = 0;
	rc = gs_msg_recv(sock, msg, GS_FROM_DAEMON, NULL, err);
	if (rc == 0)
		return gs_fail(err, "gpushared closed the connection");
	if (rc < 0)
		return no_answer(sock, NULL, err);
	if (msg->header.type == GS_MSG_REFUSED)
		return gs_fail(err, "refused: %s", msg->refused.reason);
	if (msg->header.type != answer)
		return gs_fail(err, "gpushared answered with %s", gs_msg_name(msg->header.type));
	return 0;
}

int gs_ctl_exchange(int sock, struct gs_msg *msg, enum gs_msg_type answer, struct gs_error *err)
{
	if (gs_msg_send(sock, msg, -1) < 0)
		return no_answer(sock, "cannot send to gpushared", err);
	return receive(sock, msg, answer, err);
}

/* Append a piece of the answer. */
static int collect(struct gs_ctl_text *text, const struct gs_msg_text *piece, struct gs_error *err)
{
	char *grown;

	if (piece->length > sizeof(piece->text))
		return gs_fail(err, "gpushared sent an invalid piece of %u bytes", piece->length);
	if (text->size + piece->length > ANSWER_MAX)
		return gs_fail(err, "gpushared's answer does not end");
	grown = realloc(text->bytes, text->size + piece->length + 1);
	if (!grown)
		return gs_fail(err, "no memory");
	memcpy(grown + text->size, piece->text, piece->length);
	text->bytes = grown;
	text->size += piece->length;
	grown[text->size] = '\0';
	return 0;
}

int gs_ctl_fetch(int sock, struct gs_msg *msg, struct gs_ctl_text *text, struct gs_error *err)
{
	int rc = gs_ctl_exchange(sock, msg, GS_MSG_TEXT, err);

	*text = (struct gs_ctl_text) { 0 };
	while (rc == 0 && (rc = collect(text, &msg->text, err)) == 0 && msg->text.more)
		rc = receive(sock, msg, GS_MSG_TEXT, err);
	if (rc < 0) {
		free(text->bytes);
		text->bytes = NULL;
	}
	return rc;
}

int gs_ctl_get(const char *socket_path, enum gs_query what, unsigned job, struct gs_ctl_text *text,
	       struct gs_error *err)
{
	struct gs_msg msg;
	int sock = gs_ctl_connect(socket_path, err), rc;

	if (sock < 0)
		return -1;
	gs_msg_init(&msg, GS_MSG_QUERY, 1);
	msg.query.what = what;
	msg.query.job_id = job;
	msg.query.json = 1; /* a daemon before 2026-11-26 made a table otherwise */
	rc = gs_ctl_fetch(sock, &msg, text, err);
	close(sock);
	return rc;
}
