/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections that wait for an answer from another process. Each is found again by the ticket of
 * its question. */
#ifndef GPUSHARE_DAEMON_PENDING_H
#define GPUSHARE_DAEMON_PENDING_H

#include <stdint.h>
#include <sys/queue.h>

struct gs_connection;

struct gs_pending {
	LIST_ENTRY(gs_pending) link;
	struct gs_connection *conn;
	uint32_t ticket; /* the question's ticket, not 0 */
	uint32_t tag;    /* tag of the connection's message, for the answer */
};
/* One list for each kind of answer; empty when zeroed. */
LIST_HEAD(gs_pending_list, gs_pending);

/* Adds a connection that waits. Returns 0; -1: no memory. */
int gs_pending_add(struct gs_pending_list *list, struct gs_connection *conn, uint32_t ticket,
		   uint32_t tag);

/* Removes the entry with that ticket. Returns its connection, and its tag in *tag; NULL: the
 * connection is gone. */
struct gs_connection *gs_pending_take(struct gs_pending_list *list, uint32_t ticket, uint32_t *tag);

/* Is the connection waiting? */
int gs_pending_waits(const struct gs_pending_list *list, const struct gs_connection *conn);

/* The connection is gone: removes its entries. */
void gs_pending_drop(struct gs_pending_list *list, const struct gs_connection *conn);

#endif
