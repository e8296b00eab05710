/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's end of the history's helper; see history.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/history/history.h"

#include <errno.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "config.h"
#include "gpushare/daemon/base/child.h"
#include "gpushare/daemon/base/event.h"
#include "gpushare/daemon/history/history_db.h"
#include "gpushare/daemon/base/local_job.h"
#include "gpushare/daemon/memory/memory_history.h"

#define RESTART_PAUSE_NS (5 * GS_NS_PER_S)
#define SEND_BUFFER (4 << 20)
#define GOODBYE_MS 2000
#define ANSWER_MAX (128u << 20)

struct gs_history {
	struct gs_daemon *d;
	pid_t pid; /* 0: no helper */
	int sock;
	struct event *readable;
	uint32_t next;     /* ticket */
	uint32_t answered; /* all tickets up to here */
	uint64_t forked_ns;
	uint64_t lost; /* steps, since the last line about it */
	char *text;    /* the answer under way */
	size_t size, room;
	int failed; /* there will be none, whatever else comes of it */
};

static gs_history_listener *answered;

void gs_history_listen(gs_history_listener *listener)
{
	answered = listener;
}

static void drop_text(struct gs_history *h)
{
	free(h->text);
	h->text = NULL;
	h->size = h->room = 0;
}

/* All who still wait for an answer will get none. */
static void give_up(struct gs_history *h)
{
	drop_text(h);
	h->failed = 0;
	while (h->answered != h->next)
		answered(h->d, ++h->answered, NULL, 0);
}

/* patience: until it has written what it has, at most that long. */
static void stop_helper(struct gs_history *h, int patience_ms)
{
	if (!h->pid)
		return;
	gs_event_free(h->readable);
	close(h->sock);
	while (patience_ms-- > 0 && waitpid(h->pid, NULL, WNOHANG) == 0)
		usleep(1000);
	if (patience_ms < 0) {
		kill(h->pid, SIGKILL);
		while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	h->pid = 0;
	give_up(h);
}

/* Room for so much. It doubles, since an answer comes in thousands of pieces, for each of which all
 * of it might be copied. */
static int make_room(struct gs_history *h, size_t size)
{
	size_t room = h->room ? h->room : sizeof(((struct gs_history_answer *)0)->text);
	char *grown;

	if (size <= h->room)
		return 0;
	while (room < size)
		room *= 2;
	grown = realloc(h->text, room);
	if (!grown)
		return -1;
	h->text = grown;
	h->room = room;
	return 0;
}

static int append(struct gs_history *h, const struct gs_history_answer *a)
{
	if (a->failed || a->length > sizeof(a->text) || h->size + a->length > ANSWER_MAX ||
	    make_room(h, h->size + a->length + 1) < 0)
		return -1;
	memcpy(h->text + h->size, a->text, a->length);
	h->size += a->length;
	return 0;
}

static void take_piece(struct gs_history *h, const struct gs_history_answer *a)
{
	/* A part of an answer would be taken for all of it. */
	if (!h->failed && append(h, a) < 0) {
		drop_text(h);
		h->failed = 1;
	}
	if (a->more)
		return;
	h->answered = a->ticket;
	answered(h->d, a->ticket, h->text, h->size);
	h->text = NULL;
	h->size = h->room = 0;
	h->failed = 0;
}

/* What the file has of kernels that ran before this daemon. */
static void take_learned(struct gs_history *h, const struct gs_history_answer *a)
{
	struct gs_learned_entry entry;

	for (size_t at = 0; at + sizeof(entry) <= a->length && a->length <= sizeof(a->text);
	     at += sizeof(entry)) {
		memcpy(&entry, a->text + at, sizeof(entry));
		gs_learned_restore(h->d->learned, &entry);
	}
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
	struct gs_history *h = arg;
	struct gs_history_answer a;
	ssize_t n = recv(fd, &a, sizeof(a), MSG_DONTWAIT);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(a)) {
		gs_log(GS_LOG_WARN, "the helper that keeps the history has ended");
		stop_helper(h, 0);
		return;
	}
	if (a.ticket == GS_HISTORY_LEARNED_TICKET) {
		take_learned(h, &a);
		return;
	}
	if (a.ticket) {
		take_piece(h, &a);
		return;
	}
	a.text[sizeof(a.text) - 1] = '\0';
	gs_log(GS_LOG_WARN, "%s", a.text);
}

static int start_helper(struct gs_history *h)
{
	uint64_t now = gs_clock_ns();
	int size = SEND_BUFFER;

	if (h->forked_ns && now - h->forked_ns < RESTART_PAUSE_NS)
		return -1;
	h->forked_ns = now;
	h->sock = gs_child_start(&h->pid, gs_history_helper, h->d->config->history_file, 0);
	if (h->sock < 0)
		return -1;
	if (setsockopt(h->sock, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(h->sock, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	h->readable = gs_event_new(h->d->base, h->sock, EV_READ | EV_PERSIST, on_answer, h);
	if (h->readable && event_add(h->readable, NULL) == 0)
		return 0;
	stop_helper(h, 0); /* its answers, and its end, would never be read */
	return -1;
}

#ifdef HAVE_SQLITE
static void note_peak(void *arg, const char *user, uint64_t program, double memory_mb)
{
	gs_peaks_note(arg, user, program, memory_mb > 0 ? (uint64_t)(memory_mb * 1048576) : 0);
}

static int recall(struct gs_daemon *d, struct gs_history_db *db, struct gs_error *err)
{
	uint32_t latest;

	if (gs_history_db_peaks(db, note_peak, d->peaks, err) < 0 ||
	    gs_history_db_local(db, &latest, err) < 0)
		return -1;
	if (latest)
		d->next_local = gs_local_job_next(latest);
	return 0;
}
#endif

void gs_history_recall(struct gs_daemon *d)
{
#ifdef HAVE_SQLITE
	struct gs_history_db *db;
	struct gs_error err;

	if (!*d->config->history_file || access(d->config->history_file, F_OK) != 0)
		return;
	db = gs_history_db_open(d->config->history_file, GS_HISTORY_ROWS_MAX, &err);
	if (err.text[0])
		gs_log(GS_LOG_WARN, "history: %s", err.text);
	if (db && recall(d, db, &err) < 0)
		gs_log(GS_LOG_WARN, "history: %s", err.text);
	gs_history_db_close(db);
#else
	(void)d;
#endif
}

struct gs_history *gs_history_create(struct gs_daemon *d)
{
	struct gs_history *h;

	if (!*d->config->history_file)
		return NULL;
#ifndef HAVE_SQLITE
	gs_log(GS_LOG_WARN, "built without SQLite: no history");
	return NULL;
#endif
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->d = d;
	start_helper(h);
	return h;
}

void gs_history_destroy(struct gs_history *h)
{
	if (!h)
		return;
	h->d->history = NULL; /* steps may end with the connections whose questions are given up */
	stop_helper(h, GOODBYE_MS);
	free(h);
}

static int send_request(struct gs_history *h, const struct gs_history_request *r)
{
	if (!h->pid && start_helper(h) < 0)
		return -1;
	return send(h->sock, r, sizeof(*r), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}

void gs_history_add(struct gs_history *h, const struct gs_past_step *step)
{
	struct gs_history_request r = { .kind = GS_HISTORY_OVER, .n = 1 };

	r.step[0] = *step;
	if (send_request(h, &r) < 0) {
		if (h->lost++ == 0)
			gs_log(GS_LOG_WARN,
			       "the history's helper is too slow: steps are not recorded");
	} else if (h->lost) {
		gs_log(GS_LOG_WARN, "the history lost %llu steps", (unsigned long long)h->lost);
		h->lost = 0;
	}
}

void gs_history_learned(struct gs_history *h)
{
	struct gs_history_request r = { .kind = GS_HISTORY_LEARNED };

	/* What the helper cannot take now is lost to the file, not to this daemon. */
	while (h && (r.ticket = (uint32_t)gs_learned_news(h->d->learned, r.learned,
							  GS_HISTORY_LEARNED_BATCH)) > 0)
		if (send_request(h, &r) < 0)
			return;
}

/* Is so much of the helper's queue taken that room for steps which end must be left? */
static int is_busy(const struct gs_history *h)
{
	int queued = 0;

	return h->pid && (ioctl(h->sock, SIOCOUTQ, &queued) < 0 || queued > SEND_BUFFER / 2);
}

uint32_t gs_history_query(struct gs_history *h, const struct gs_msg_history *query,
			  const struct gs_past_step *live, size_t n)
{
	struct gs_history_request r = { .kind = GS_HISTORY_LIVE };
	uint32_t count = (uint32_t)n;

	if (is_busy(h))
		return 0;

	while (n) {
		r.n = (uint32_t)(n < GS_HISTORY_BATCH ? n : GS_HISTORY_BATCH);
		memcpy(r.step, live, r.n * sizeof(*live));
		if (send_request(h, &r) < 0)
			return 0;
		live += r.n;
		n -= r.n;
	}
	r = (struct gs_history_request) { .kind = GS_HISTORY_QUERY };
	r.query = *query;
	r.live = count;
	r.ticket = h->next + 1 ? h->next + 1 : 1;
	if (send_request(h, &r) < 0)
		return 0;
	return h->next = r.ticket;
}
