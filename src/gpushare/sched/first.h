/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who goes first, of many entries, in orders that move with time.
 *
 * A kinetic tournament over the places of the ready heap: eight places, and then
 * eight winners, play for one, and each winner is known with the time until when that is
 * certain.  To ask is to play again only what is no longer certain.  An entry that comes plays
 * with the winners above its place, one that goes is missed only where it has won.
 * As two lines cross once, the games are O(log^2 n) per change on the average.
 * Numbers are rounded, and what is certain is so with room to spare: the answer
 * is that of a look at all entries to the last bit.
 *
 * Why eight: those who play lie side by side, and of a million entries, most of which
 * are in no cache, seven groups are looked at, not twenty.
 */
#ifndef GPUSHARE_SCHED_FIRST_H
#define GPUSHARE_SCHED_FIRST_H

#include "gpushare/sched/policy.h"

#define GS_ORDERS_MAX 3 /* that one policy asks by; who asks by more looks at all entries */

struct gs_winner {
	uint64_t until; /* it goes before all others of its group before then; up to now: not known */
	struct gs_entry entry; /* task NULL: the group is empty */
};

struct gs_tournament {
	const struct gs_order *order; /* NULL: free */
	struct gs_winner *winner;     /* of the groups of places, then of groups of those; NULL: nobody has asked */
	uint64_t now, state[2];       /* when it was asked last: winners are certain from then on */
};

struct gs_tournaments {
	struct gs_tournament by[GS_ORDERS_MAX];
	size_t groups; /* of places: a power of two */
	const struct gs_view *view; /* the time is its */
};

/* The heap has room for so many entries: a power of two, 16 at least. */
void gs_tournaments_reserve(struct gs_tournaments *all, size_t room);
void gs_tournaments_fini(struct gs_tournaments *all);
/* At this place of the heap, where `out` was, NULL: nobody, `in` is now, NULL: nobody. */
void gs_tournaments_change(struct gs_tournaments *all, size_t at, const struct gs_task *out,
			   const struct gs_entry *in);
/* Another policy orders. */
void gs_tournaments_forget(struct gs_tournaments *all);

#endif
