/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HistoryFile: the steps that are over, kept across restarts.  SQLite waits
 * for the disk, so a forked helper owns the file, writes in batches and
 * makes the texts of the answers; the loop never waits.
 */
#ifndef GPUSHARE_DAEMON_HISTORY_H
#define GPUSHARE_DAEMON_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/daemon/report/aggregate.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/arbiter/learned.h"

struct gs_history;

/* NULL when the configuration or the build leaves it out; says so once. */
struct gs_history *gs_history_create(struct gs_daemon *d);
/* Closes the helper's socket and waits a little until it has written all.  NULL is fine. */
void gs_history_destroy(struct gs_history *h);

/*
 * Before the helper is there: what the file knows of programs' memory, into
 * d->peaks, and of the ids of local jobs, into d->next_local.
 */
void gs_history_recall(struct gs_daemon *d);

/* A step is over.  If the helper cannot keep up the step is lost, with a line in the log. */
void gs_history_add(struct gs_history *h, const struct gs_past_step *step);

/* Send what was learned since the last time. */
void gs_history_learned(struct gs_history *h);

/*
 * Have the question answered from the file and n steps that are not over.
 * Returns a ticket, with which the listener is called; 0: cannot be asked.
 */
uint32_t gs_history_query(struct gs_history *h, const struct gs_msg_history *query,
			  const struct gs_past_step *live, size_t n);

/* The answer, whose bytes become the callee's; NULL: there will be none. */
typedef void gs_history_listener(struct gs_daemon *d, uint32_t ticket, char *bytes, size_t size);
/* Who gets the answers; at the daemon's start. */
void gs_history_listen(gs_history_listener *listener);

/* ---- between the two processes (history_helper.c) ---- */

#define GS_HISTORY_BATCH 16

#define GS_HISTORY_LEARNED_BATCH 64
#define GS_HISTORY_LEARNED_TICKET \
	UINT32_MAX /* of an answer that nobody asked for: what the file has */

enum gs_history_kind { GS_HISTORY_OVER, GS_HISTORY_LIVE, GS_HISTORY_QUERY, GS_HISTORY_LEARNED };

struct gs_history_request {
	uint32_t kind, ticket;
	uint32_t n;    /* steps in here */
	uint32_t live; /* REQUEST: of those that were sent before, the latest so many */
	union {
		struct gs_msg_history query;
		struct gs_past_step step[GS_HISTORY_BATCH];
		struct gs_learned_entry
			learned[GS_HISTORY_LEARNED_BATCH]; /* LEARNED: `ticket` of them */
	};
};

struct gs_history_answer {
	uint32_t ticket; /* 0: a line for the log */
	uint32_t more, length, failed;
	char text[7680];
};

/* The helper's whole life: requests from `sock`; returns at its end of file. */
void gs_history_helper(int sock, const char *path);

#endif
