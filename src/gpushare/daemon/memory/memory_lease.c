/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leases: what a client may allocate without asking. The daemon leases bytes to a client by adding
 * them to a word of the client's page. The client takes bytes from that word and puts them back by
 * itself, and the daemon can set it to zero at any moment, whatever the client is doing. So a
 * request is refused only if the step's clients really hold too much, never because of their
 * leases.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/memory/memory_lease.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "gpushare/daemon/base/complain.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/proto/page.h"

/* A client's lease is one LEASE_PART-th of what is left of the reservation. */
#define LEASE_PART 2

/* What the client's word claims, but no more than the client was granted. */
static uint64_t believed(const struct gs_connection *conn, uint64_t said)
{
	uint64_t held = gs_ledger_held(conn->device->ledger, conn->step->alloc->id, conn->id);

	return said < held ? said : held;
}

void gs_lease_recall(struct gs_connection *conn)
{
	uint64_t said = atomic_exchange(&conn->page->lease, 0);

	if (said)
		gs_ledger_unlease(conn->device->ledger, conn->step->alloc->id, conn->id,
				  believed(conn, said));
}

static void recall_others(struct gs_connection *conn)
{
	struct gs_connection *other;

	LIST_FOREACH (other, &conn->d->conns, link)
		if (other != conn && other->client && other->step->alloc == conn->step->alloc)
			gs_lease_recall(other);
}

/* Returns 1: granted, with a new lease; 0: beyond the reservation. */
static int alloc(struct gs_connection *conn, uint64_t bytes)
{
	struct gs_ledger *ledger = conn->device->ledger;
	uint64_t id = conn->step->alloc->id, left, used;

	gs_lease_recall(conn);
	if (gs_ledger_alloc(ledger, id, conn->id, bytes) != 1) {
		recall_others(conn);
		if (gs_ledger_alloc(ledger, id, conn->id, bytes) != 1)
			return 0;
	}
	gs_lease_note_peak(conn->d, conn->step->alloc);
	used = gs_ledger_used(ledger, id);
	left = conn->step->alloc->bytes > used ? conn->step->alloc->bytes - used : 0;
	left /= LEASE_PART;
	if (left && gs_ledger_lease(ledger, id, conn->id, left) == 1)
		atomic_fetch_add(&conn->page->lease, left);
	return 1;
}

uint64_t gs_memory_used(struct gs_daemon *d, const struct gs_alloc *alloc)
{
	uint64_t used = gs_ledger_used(alloc->device->ledger, alloc->id), leased = 0;
	struct gs_connection *conn;

	LIST_FOREACH (conn, &d->conns, link)
		if (conn->client && conn->step->alloc == alloc)
			leased += believed(conn, gs_page_load(conn->page->lease));
	return used - (leased < used ? leased : used);
}

int gs_on_alloc(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	struct gs_msg answer;

	(void)fd;
	if (gs_connection_is_client(conn, msg) < 0)
		return -1;
	gs_msg_init(&answer, GS_MSG_ALLOCATED, msg->header.tag);
	answer.allocated.granted = !msg->alloc.bytes || alloc(conn, msg->alloc.bytes);
	answer.allocated.used = gs_memory_used(conn->d, conn->step->alloc);
	answer.allocated.reservation = conn->step->alloc->bytes;
	if (!answer.allocated.granted)
		gs_complain("%s: %" PRIu64 " bytes of device memory refused: %" PRIu64
			    " of %" PRIu64 " in use",
			    conn->who, msg->alloc.bytes, answer.allocated.used,
			    answer.allocated.reservation);
	return msg->header.tag ? gs_connection_send(conn, &answer, -1) : 0;
}

int gs_on_free(struct gs_connection *conn, struct gs_msg *msg, int fd)
{
	(void)fd;
	if (gs_connection_is_client(conn, msg) < 0)
		return -1;
	gs_ledger_free(conn->device->ledger, conn->step->alloc->id, conn->id, msg->free.bytes);
	return 0;
}

/* The most that the step has held at once. Each client keeps its own maximum in its page; the sum
 * of them is never too little. */
void gs_lease_note_peak(struct gs_daemon *d, const struct gs_alloc *alloc)
{
	struct gs_connection *conn;
	uint64_t sum = 0;

	LIST_FOREACH (conn, &d->conns, link) {
		uint64_t peak;

		if (!conn->client || conn->step->alloc != alloc)
			continue;
		peak = gs_page_load(conn->page->peak);
		sum += peak < alloc->bytes ? peak : alloc->bytes;
	}
	gs_ledger_note_peak(alloc->device->ledger, alloc->id,
			    sum < alloc->bytes ? sum : alloc->bytes);
}
