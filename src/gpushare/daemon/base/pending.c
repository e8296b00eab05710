/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of connections that wait for an answer; see pending.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/base/pending.h"

#include <stdlib.h>

int gs_pending_add(struct gs_pending_list *list, struct gs_connection *conn, uint32_t ticket,
		   uint32_t tag)
{
	struct gs_pending *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	p->conn = conn;
	p->ticket = ticket;
	p->tag = tag;
	LIST_INSERT_HEAD(list, p, link);
	return 0;
}

static void forget(struct gs_pending *p)
{
	LIST_REMOVE(p, link);
	free(p);
}

struct gs_connection *gs_pending_take(struct gs_pending_list *list, uint32_t ticket, uint32_t *tag)
{
	struct gs_connection *conn;
	struct gs_pending *p;

	LIST_FOREACH (p, list, link)
		if (p->ticket == ticket) {
			conn = p->conn;
			*tag = p->tag;
			forget(p);
			return conn;
		}
	return NULL;
}

int gs_pending_waits(const struct gs_pending_list *list, const struct gs_connection *conn)
{
	const struct gs_pending *p;

	LIST_FOREACH (p, list, link)
		if (p->conn == conn)
			return 1;
	return 0;
}

void gs_pending_drop(struct gs_pending_list *list, const struct gs_connection *conn)
{
	struct gs_pending *p, *next;

	for (p = LIST_FIRST(list); p; p = next) {
		next = LIST_NEXT(p, link);
		if (p->conn == conn)
			forget(p);
	}
}
