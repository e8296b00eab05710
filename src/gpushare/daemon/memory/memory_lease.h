/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device memory that clients take without asking; see memory_lease.c. */
#ifndef GPUSHARE_DAEMON_MEMORY_LEASE_H
#define GPUSHARE_DAEMON_MEMORY_LEASE_H

#include "gpushare/daemon/base/connection.h"

struct gs_alloc;
struct gs_daemon;

/* A client asks for more than its lease holds, which it is granted with a new lease, or refused; it
 * says what it has freed. */
gs_handler gs_on_alloc, gs_on_free;

/* What the client has not taken of its lease returns to the step. */
void gs_lease_recall(struct gs_connection *conn);

/*
 * Tell the ledger the most that the allocation's clients have held, which only their
 * pages know: before it is asked for that, and before one of the pages goes.
 */
void gs_lease_note_peak(struct gs_daemon *d, const struct gs_alloc *alloc);

/* Bytes that the programs of the allocation hold, what is only leased to them not counted. */
uint64_t gs_memory_used(struct gs_daemon *d, const struct gs_alloc *alloc);

#endif
