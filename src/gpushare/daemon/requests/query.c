/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QUERY and HISTORY: have the answer made; see query.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/requests/query.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "gpushare/daemon/report/gather.h"
#include "gpushare/daemon/history/history.h"
#include "gpushare/daemon/memory/memory.h"
#include "gpushare/daemon/base/connection.h"
#include "gpushare/daemon/base/pending.h"
#include "gpushare/daemon/base/users.h"

/* A long report is made ten times a second at most, however often it is asked for. */
#define LONG_TEXT 65536
#define LONG_TEXT_KEPT_NS (100 * GS_NS_PER_MS)

/* A long report, kept for a moment. */
static struct kept_text {
	char *text;
	size_t size;
	uint64_t made_ns;
} kept_texts[GS_QUERY_COUNT];

/* Who waits for the history. */
static struct gs_pending_list requested = LIST_HEAD_INITIALIZER(requested);

/* What the history's helper has not answered yet, whether or not somebody still waits for it. */
#define UNANSWERED_MAX 64
#define UNANSWERED_PER_USER 2
/* One slow question must not keep all users without a step from being heard for long. */
#define STRANGERS_PAY_NS (20 * GS_NS_PER_MS)
#define UNANSWERED_OF_STRANGERS (UNANSWERED_MAX / 2) /* users.h */
static struct {
	uint32_t ticket; /* 0: none */
	uid_t uid, pays; /* users.h */
	uint64_t since_ns;
} unanswered[UNANSWERED_MAX];
static uint64_t answered_ns; /* the last one */

/* A place for one more of the user's; UNANSWERED_MAX: there is none. */
static size_t place_for(uid_t uid, uid_t pays)
{
	size_t place = UNANSWERED_MAX;
	unsigned n = 0, strangers = 0;

	for (size_t i = 0; i < UNANSWERED_MAX; i++) {
		n += unanswered[i].ticket && unanswered[i].uid == uid;
		strangers += unanswered[i].ticket && unanswered[i].pays == GS_USER_STRANGERS;
		if (!unanswered[i].ticket)
			place = i;
	}
	if (uid == 0)
		return place;
	if (n >= UNANSWERED_PER_USER ||
	    (pays == GS_USER_STRANGERS && strangers >= UNANSWERED_OF_STRANGERS))
		return UNANSWERED_MAX;
	return place;
}

/* The helper's time is the user's as well. */
static void note_answered(uint32_t ticket)
{
	uint64_t now = gs_clock_ns();

	for (size_t i = 0; i < UNANSWERED_MAX; i++)
		if (unanswered[i].ticket == ticket) {
			uint64_t begun = unanswered[i].since_ns;
			uint64_t took = now - (begun > answered_ns ? begun : answered_ns);

			if (unanswered[i].pays == GS_USER_STRANGERS && took > STRANGERS_PAY_NS)
				took = STRANGERS_PAY_NS;
			gs_user_spent(unanswered[i].pays, unanswered[i].uid, took);
			unanswered[i].ticket = 0;
		}
	answered_ns = now;
}

static char *make_text(struct gs_daemon *d, enum gs_query what, uint32_t job, size_t *size)
{
	char *text = NULL;

	switch (what) {
	case GS_QUERY_STATUS:
		text = gs_gather_status(d);
		break;
	case GS_QUERY_REPORT:
		text = gs_gather_report(d, job);
		break;
	case GS_QUERY_KERNELS:
		text = gs_gather_kernels(d, job);
		break;
	case GS_QUERY_METRICS:
		text = gs_gather_metrics(d);
		break;
	case GS_QUERY_MEMORY:
		text = gs_memory_report(d);
		break;
	case GS_QUERY_TRACE:
		return gs_gather_trace(d, size);
	case GS_QUERY_COUNT:
		break;
	}
	*size = text ? strlen(text) : 0;
	return text;
}

static char *copy(const char *bytes, size_t size)
{
	char *same = malloc(size);

	return same ? memcpy(same, bytes, size) : NULL;
}

static char *get_text(struct gs_daemon *d, enum gs_query what, uint32_t job, size_t *size)
{
	struct kept_text *kept = &kept_texts[what];
	uint64_t now = gs_clock_ns();
	char *text;

	if (!job && kept->text && now - kept->made_ns < LONG_TEXT_KEPT_NS) {
		*size = kept->size;
		return copy(kept->text, kept->size);
	}
	text = make_text(d, what, job, size);
	if (!job && text && *size >= LONG_TEXT) {
		free(kept->text);
		kept->text = copy(text, *size);
		kept->size = *size;
		kept->made_ns = now;
	}
	return text;
}

void gs_query_fini(void)
{
	for (int what = 0; what < GS_QUERY_COUNT; what++)
		free(kept_texts[what].text);
}

int gs_on_query(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	size_t size = 0;
	char *text;

	(void)fd;
	if (gs_connection_sends_text(conn) || gs_pending_waits(&requested, conn))
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_BAD_REQUEST,
					    "one question at a time");
	if (msg->query.what >= GS_QUERY_COUNT)
		return gs_connection_refuse(conn, msg->header.tag, GS_REFUSED_BAD_REQUEST,
					    "there is no report %u", msg->query.what);
	text = get_text(conn->d, msg->query.what, msg->query.job_id, &size);
	return gs_connection_send_text(conn, msg->header.tag, text, size);
}

/* From what this daemon has seen itself. */
static int answer_here(struct gs_connection *conn, uint32_t tag,
		       const struct gs_msg_history *request)
{
	struct gs_past_step *all;
	char *text;
	size_t n;

	if (gs_gather_all(conn->d, 1, &all, &n) < 0)
		return -1;
	text = gs_aggregate(all, n, request);
	free(all);
	return gs_connection_send_text(conn, tag, text, text ? strlen(text) : 0);
}

int gs_on_history(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	const struct gs_msg_history *request = &msg->history;
	uint32_t tag = msg->header.tag;
	uid_t pays = gs_connection_who_pays(conn);
	size_t n, place = place_for(conn->uid, pays);
	struct gs_past_step *live;
	uint32_t ticket;

	(void)fd;
	if (gs_connection_sends_text(conn) || gs_pending_waits(&requested, conn))
		return gs_connection_refuse(conn, tag, GS_REFUSED_BAD_REQUEST,
					    "one question at a time");
	if (request->group >= GS_GROUP_COUNT || request->since > INT64_MAX)
		return gs_connection_refuse(conn, tag, GS_REFUSED_BAD_REQUEST,
					    "there is no such report");
	if (!conn->d->history)
		return answer_here(conn, tag, request);
	if (place == UNANSWERED_MAX)
		return gs_connection_refuse(conn, tag, GS_REFUSED_NO_ROOM,
					    "the history has not answered earlier questions yet");
	if (gs_gather_all(conn->d, 0, &live, &n) < 0)
		return -1;
	ticket = gs_history_query(conn->d->history, request, live, n);
	free(live);
	if (ticket) {
		unanswered[place].ticket = ticket;
		unanswered[place].uid = conn->uid;
		unanswered[place].pays = pays;
		unanswered[place].since_ns = gs_clock_ns();
	}
	if (!ticket || gs_pending_add(&requested, conn, ticket, tag) < 0)
		return gs_connection_refuse(conn, tag, GS_REFUSED_NO_ROOM,
					    "the history cannot be asked at the moment");
	return 0;
}

void gs_query_answered(struct gs_daemon *d, uint32_t ticket, char *bytes, size_t size)
{
	uint32_t tag;
	struct gs_connection *conn = gs_pending_take(&requested, ticket, &tag);

	(void)d;
	note_answered(ticket);
	if (!conn) {
		free(bytes); /* whoever asked has left */
		return;
	}
	if (!bytes)
		gs_connection_refuse(conn, tag, GS_REFUSED_NO_ROOM,
				     "the history cannot be read: gpushared's log has the reason");
	if (gs_connection_send_text(conn, tag, bytes, size) < 0)
		gs_connection_close(conn);
}

void gs_query_conn_gone(struct gs_connection *conn)
{
	gs_pending_drop(&requested, conn);
}
