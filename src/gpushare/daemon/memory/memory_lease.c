/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a client may take without asking.  The daemon leases bytes to a client
 * by adding them to a word of the client's page; the client takes from it and
 * puts back by itself, and the daemon can empty it at any moment, whatever
 * the client is doing.  So a request is refused only when the step's clients
 * really hold too much: leases do not stand in its way.
 */
#define _GNU_SOURCE
#include "gpushare/daemon/memory/memory_lease.h"

#include <stdatomic.h>

#include "gpushare/daemon/base/peer.h"
#include "gpushare/daemon/base/step.h"
#include "gpushare/proto/page.h"

/* The part of what is left that one client gets as its lease. */
#define LEASE_PART 2

/* What the client's word says, and what it cannot say: more than the client was granted. */
static uint64_t believed(const struct gs_peer *peer, uint64_t said)
{
	uint64_t held = gs_ledger_held(peer->device->ledger, peer->step->alloc->id, peer->id);

	return said < held ? said : held;
}

void gs_lease_recall(struct gs_peer *peer)
{
	uint64_t said = atomic_exchange(&peer->page->lease, 0);

	if (said)
		gs_ledger_unlease(peer->device->ledger, peer->step->alloc->id, peer->id,
			       believed(peer, said));
}

static void recall_others(struct gs_peer *peer)
{
	struct gs_peer *other;

	LIST_FOREACH(other, &peer->d->peers, link)
		if (other != peer && other->tenant && other->step->alloc == peer->step->alloc)
			gs_lease_recall(other);
}

int gs_lease_alloc(struct gs_peer *peer, uint64_t bytes)
{
	struct gs_ledger *ledger = peer->device->ledger;
	uint64_t id = peer->step->alloc->id, left, used;

	gs_lease_recall(peer);
	if (gs_ledger_alloc(ledger, id, peer->id, bytes) != 1) {
		recall_others(peer);
		if (gs_ledger_alloc(ledger, id, peer->id, bytes) != 1)
			return 0;
	}
	gs_lease_note_peak(peer->d, peer->step->alloc);
	used = gs_ledger_used(ledger, id);
	left = peer->step->alloc->bytes > used ? peer->step->alloc->bytes - used : 0;
	left /= LEASE_PART;
	if (left && gs_ledger_lease(ledger, id, peer->id, left) == 1)
		atomic_fetch_add(&peer->page->lease, left);
	return 1;
}

uint64_t gs_memory_used(struct gs_daemon *d, const struct gs_alloc *alloc)
{
	uint64_t used = gs_ledger_used(alloc->device->ledger, alloc->id), leased = 0;
	struct gs_peer *peer;

	LIST_FOREACH(peer, &d->peers, link)
		if (peer->tenant && peer->step->alloc == alloc)
			leased += believed(peer, gs_page_load(peer->page->lease));
	return used - (leased < used ? leased : used);
}

/*
 * The most that the step has held at once.  Each client keeps its own most in
 * its page; of several it is the sum, which is never too little.
 */
void gs_lease_note_peak(struct gs_daemon *d, const struct gs_alloc *alloc)
{
	struct gs_peer *peer;
	uint64_t sum = 0;

	LIST_FOREACH(peer, &d->peers, link) {
		uint64_t peak;

		if (!peer->tenant || peer->step->alloc != alloc)
			continue;
		peak = gs_page_load(peer->page->peak);
		sum += peak < alloc->bytes ? peak : alloc->bytes;
	}
	gs_ledger_note_peak(alloc->device->ledger, alloc->id,
			    sum < alloc->bytes ? sum : alloc->bytes);
}
