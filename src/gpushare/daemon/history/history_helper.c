/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that owns HistoryFile; see history.h.  It may wait for the disk as long as it takes.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/history/history.h"

#include "config.h"

#ifdef HAVE_SQLITE
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "gpushare/daemon/history/history_db.h"

/* A batch is written when it is this old or this long. */
#define BATCH_MS 250
#define BATCH_ROWS 512

struct helper {
	int sock;
	const char *path;
	struct gs_history_db *db;
	unsigned batch; /* rows not on the disk yet */
	struct gs_past_step *live;
	size_t nlive;
	int broken; /* the log says so already */
};

static void say(struct helper *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct helper *h, const char *fmt, ...)
{
	struct gs_history_answer a = { .ticket = 0 };
	va_list ap;

	va_start(ap, fmt);
	a.length = (uint32_t)vsnprintf(a.text, 1024, fmt, ap);
	va_end(ap);
	send(h->sock, &a, sizeof(a), MSG_NOSIGNAL);
}

static int reopen(struct helper *h)
{
	struct gs_error err;

	gs_history_db_close(h->db);
	h->db = gs_history_db_open(h->path, GS_HISTORY_ROWS_MAX, &err);
	if (err.text[0] && !h->broken)
		say(h, "history: %s", err.text);
	h->broken = !h->db;
	return h->db ? 0 : -1;
}

/* What failed is tried once more with the file opened anew: it may have been set aside. */
static void keep(struct helper *h, const struct gs_past_step *step)
{
	struct gs_error err;

	if (!h->db && reopen(h) < 0)
		return;
	if (gs_history_db_add(h->db, step, &err) < 0 &&
	    (reopen(h) < 0 || gs_history_db_add(h->db, step, &err) < 0)) {
		if (h->db)
			say(h, "history: a step is lost: %s", err.text);
		return;
	}
	h->batch++;
}

static void keep_learned(struct helper *h, const struct gs_history_request *r)
{
	struct gs_error err;

	if (r->ticket > GS_HISTORY_LEARNED_BATCH || (!h->db && reopen(h) < 0))
		return;
	for (uint32_t i = 0; i < r->ticket; i++)
		if (gs_history_db_learn(h->db, &r->learned[i], &err) < 0) {
			say(h, "history: times of kernels are lost: %s", err.text);
			return;
		}
	h->batch++;
}

/* Tell the daemon what the file has, once, as the helper begins. */
static void send_learned(struct helper *h)
{
	struct gs_history_answer a = { .ticket = GS_HISTORY_LEARNED_TICKET };
	struct gs_learned_entry *all = NULL;
	const size_t most = sizeof(a.text) / sizeof(*all);
	size_t n = 0;

	if (!h->db || gs_history_db_learned(h->db, &all, &n, NULL) < 0)
		n = 0;
	for (size_t at = 0; at < n; at += most) {
		size_t piece = n - at < most ? n - at : most;

		a.length = (uint32_t)(piece * sizeof(*all));
		memcpy(a.text, all + at, a.length);
		if (send(h->sock, &a, sizeof(a), MSG_NOSIGNAL) < 0)
			break;
	}
	free(all);
}

static void flush(struct helper *h)
{
	struct gs_error err;

	if (h->db && gs_history_db_commit(h->db, &err) < 0)
		say(h, "history: %u steps are lost: %s", h->batch, err.text);
	h->batch = 0;
}

static void add_live(struct helper *h, const struct gs_history_request *r)
{
	struct gs_past_step *grown = realloc(h->live, (h->nlive + r->n) * sizeof(*grown));

	if (!grown)
		return;
	h->live = grown;
	memcpy(grown + h->nlive, r->step, r->n * sizeof(*grown));
	h->nlive += r->n;
}

/* Append the latest `live` of the steps that are not over: others belong to a question that never
 * came. */
static void join_live(struct helper *h, size_t live, struct gs_past_step **all, size_t *n)
{
	struct gs_past_step *grown;

	if (live > h->nlive)
		live = h->nlive;
	if (!live)
		return;
	grown = realloc(*all, (*n + live) * sizeof(*grown));
	if (!grown)
		return;
	*all = grown;
	memcpy(grown + *n, h->live + h->nlive - live, live * sizeof(*grown));
	*n += live;
}

static void send_text(struct helper *h, uint32_t ticket, const char *text)
{
	size_t left = strlen(text);

	do {
		struct gs_history_answer a = { .ticket = ticket };

		a.more = left > sizeof(a.text);
		a.length = (uint32_t)(a.more ? sizeof(a.text) : left);
		memcpy(a.text, text, a.length);
		if (send(h->sock, &a, sizeof(a), MSG_NOSIGNAL) < 0)
			return;
		text += a.length;
		left -= a.length;
	} while (left);
}

/* What the question selects; tried once more with the file opened anew. */
static int query_file(struct helper *h, const struct gs_msg_history *query,
		      struct gs_past_step **all, size_t *n)
{
	struct gs_error err;

	if (!h->db && reopen(h) < 0)
		return -1;
	if (gs_history_db_select(h->db, query, all, n, &err) == 0)
		return 0;
	say(h, "history: %s", err.text);
	*n = 0;
	return reopen(h) < 0 ? -1 : gs_history_db_select(h->db, query, all, n, &err);
}

/* The question's answer from what was selected, the latest steps last. */
static char *answer_of(const struct gs_past_step *all, size_t n, const struct gs_msg_history *query)
{
	size_t first = query->group == GS_GROUP_STEP && n > GS_HISTORY_STEPS_MAX ?
			       n - GS_HISTORY_STEPS_MAX :
			       0;

	return gs_aggregate(all + first, n - first, query);
}

/* Without the file there is no answer: the steps that are not over would look like all that there
 * were. */
static void answer(struct helper *h, const struct gs_history_request *r)
{
	struct gs_history_answer failed = { .ticket = r->ticket, .failed = 1 };
	struct gs_past_step *all = NULL;
	char *text = NULL;
	size_t n = 0;

	flush(h);
	if (query_file(h, &r->query, &all, &n) == 0) {
		join_live(h, r->live, &all, &n);
		text = answer_of(all, n, &r->query);
	}
	if (text)
		send_text(h, r->ticket, text);
	else
		send(h->sock, &failed, sizeof(failed), MSG_NOSIGNAL);
	free(text);
	free(all);
	h->nlive = 0;
}

static void handle(struct helper *h, const struct gs_history_request *r)
{
	switch (r->kind) {
	case GS_HISTORY_OVER:
		for (uint32_t i = 0; i < r->n; i++)
			keep(h, &r->step[i]);
		break;
	case GS_HISTORY_LEARNED:
		keep_learned(h, r);
		break;
	case GS_HISTORY_LIVE:
		add_live(h, r);
		break;
	case GS_HISTORY_QUERY:
		answer(h, r);
		break;
	}
}

void gs_history_helper(int sock, const char *path)
{
	struct helper h = { .sock = sock, .path = path };
	struct gs_history_request r;

	reopen(&h);
	send_learned(&h);
	for (;;) {
		struct pollfd p = { .fd = sock, .events = POLLIN };

		if (h.batch && (h.batch >= BATCH_ROWS || poll(&p, 1, BATCH_MS) == 0))
			flush(&h);
		if (recv(sock, &r, sizeof(r), 0) != (ssize_t)sizeof(r))
			break;
		if (r.n <= GS_HISTORY_BATCH)
			handle(&h, &r);
	}
	gs_history_db_close(h.db);
	free(h.live);
}
#else
void gs_history_helper(int sock, const char *path)
{
	(void)sock;
	(void)path;
}
#endif
