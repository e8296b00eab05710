/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections that wait for an answer which another process gives: each is
 * found again by the ticket of what was asked.
 */
#ifndef GPUSHARE_DAEMON_PENDING_H
#define GPUSHARE_DAEMON_PENDING_H

#include <stdint.h>
#include <sys/queue.h>

struct gs_connection;

struct gs_pending {
	LIST_ENTRY(gs_pending) link;
	struct gs_connection *conn;
	uint32_t ticket; /* of what was asked; not 0 */
	uint32_t tag;    /* of the connection's message, for the answer */
};
/* One list for each kind of answer; empty when zeroed. */
LIST_HEAD(gs_pending_list, gs_pending);

/* The connection waits from now on.  -1: no memory. */
int gs_pending_add(struct gs_pending_list *list, struct gs_connection *conn, uint32_t ticket,
		   uint32_t tag);

/* Who waits for that ticket does so no longer: the connection, with its tag in *tag; NULL: it has
 * left.
 */
struct gs_connection *gs_pending_take(struct gs_pending_list *list, uint32_t ticket, uint32_t *tag);

/* Does the connection wait? */
int gs_pending_waits(const struct gs_pending_list *list, const struct gs_connection *conn);

/* The connection is gone. */
void gs_pending_drop(struct gs_pending_list *list, const struct gs_connection *conn);

#endif
