/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leases: device memory that clients may allocate without asking; see memory_lease.c. */
#ifndef GPUSHARE_DAEMON_MEMORY_LEASE_H
#define GPUSHARE_DAEMON_MEMORY_LEASE_H

#include "gpushare/daemon/base/connection.h"

struct gs_alloc;
struct gs_daemon;

/* A client asks for more than its lease has, and gets it together with a new lease, or is refused;
 * a client reports what it has freed. */
gs_handler gs_on_alloc, gs_on_free;

/* Takes back what the client has not used of its lease, for its step. */
void gs_lease_recall(struct gs_connection *conn);

/* Tells the ledger the most that the allocation's clients have held, which only their pages know.
 * Call before the ledger is asked for that, and before one of the pages goes. */
void gs_lease_note_peak(struct gs_daemon *d, const struct gs_alloc *alloc);

/* Bytes that the allocation's programs hold, not counting what is only leased to them. */
uint64_t gs_memory_used(struct gs_daemon *d, const struct gs_alloc *alloc);

#endif
