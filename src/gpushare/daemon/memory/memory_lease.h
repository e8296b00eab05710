/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device memory that clients take without asking; see memory_lease.c. */
#ifndef GPUSHARE_DAEMON_MEMORY_LEASE_H
#define GPUSHARE_DAEMON_MEMORY_LEASE_H

#include <stdint.h>

struct gs_alloc;
struct gs_daemon;
struct gs_connection;

/* A client asks for more than its lease holds: 1 granted and a new lease, 0 beyond the reservation.
 */
int gs_lease_alloc(struct gs_connection *conn, uint64_t bytes);

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
