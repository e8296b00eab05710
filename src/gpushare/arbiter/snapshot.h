/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A launch slot of a client's page at one instant.  Every word is read once and clamped, since a
 * user's process may write anything there. */
#ifndef GPUSHARE_ARBITER_SNAPSHOT_H
#define GPUSHARE_ARBITER_SNAPSHOT_H

#include "gpushare/arbiter/watch.h"

struct gs_snapshot {
	uint32_t state, started, kernel, evictable, preenqueued, few, divides;
	uint64_t nt, done, alone_ns, tpt_ps;
	uint64_t untracked_ns; /* alone time of the launches without a slot before this one */
	uint64_t leave_ns;     /* evictable: how long it takes to leave; 0: not known */
	uint32_t dims;
	uint32_t why;    /* why it is not evictable; 0: not reported */
	uint64_t number; /* of the launch, from 1 */
	int timed;       /* alone_ns has been measured */
};

/* Times are predicted from `w` where the client reports none. */
struct gs_snapshot gs_snapshot_take(const struct gs_watch *w, const struct gs_slot *slot);

static inline uint64_t gs_at_most(uint64_t v, uint64_t most)
{
	return v < most ? v : most;
}

/* Of the slot's launch, from 1. Clients number their launches from 0, so that a fresh page has a 0
 * in every slot. */
static inline uint64_t gs_snapshot_number(const struct gs_slot *slot)
{
	return gs_page_load(slot->seq) + 1;
}

static inline int gs_snapshot_is_live(uint32_t state)
{
	return state == GS_K_READY || state == GS_K_TORUN || state == GS_K_RUNNING ||
	       state == GS_K_TOEVICT;
}

/* Is the launch on the GPU or on its way there? */
static inline int gs_snapshot_is_out(const struct gs_snapshot *s)
{
	return s->state == GS_K_RUNNING || s->state == GS_K_TOEVICT;
}

#endif
