/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who goes first, of many entries, in orders that move with time.
 *
 * A kinetic tournament in the shape of the ready heap: each place of the heap
 * knows the winner of the entries from there down, and until when that is certain.
 * To ask is to play again only what is no longer certain.  An entry that comes plays
 * with the winners above its place, one that goes is missed only where it has won.
 * As two lines cross once, the games are O(log^2 n) per change on the average.
 * Numbers are rounded, and what is certain is so with room to spare: the answer
 * is that of a look at all entries to the last bit.
 * The lowest places, which are most, do not remember their winners: to look again
 * is as fast.
 */
#ifndef GPUSHARE_SCHED_FIRST_H
#define GPUSHARE_SCHED_FIRST_H

#include "gpushare/sched/policy.h"

#define GS_ORDERS_MAX 3 /* that one policy asks by; who asks by more looks at all entries */

/* Of the entries from a place of the heap down. */
struct gs_winner {
	uint64_t until; /* it goes before all others before then; up to now: not known */
	int tied;       /* with another one: only their places or their seq decided */
	struct gs_entry entry;
};

struct gs_tournament {
	const struct gs_order *order; /* NULL: free */
	struct gs_winner *winner;     /* by place; NULL: nobody has asked */
	uint64_t now, state[2];       /* when it was asked last: winners are certain from then on */
};

struct gs_tournaments {
	struct gs_tournament by[GS_ORDERS_MAX];
	size_t places; /* that remember their winners */
	const struct gs_view *view; /* the time is its */
};

/* The heap has room for so many entries; -1: no memory. */
int gs_tournaments_reserve(struct gs_tournaments *all, size_t room);
void gs_tournaments_fini(struct gs_tournaments *all);
/*
 * Of the entries from place `at` of the heap down, and from those above it up to `top`, the
 * task `out` is no longer one, NULL: none; `in` has become one, NULL: none.
 */
void gs_tournaments_change(struct gs_tournaments *all, size_t at, size_t top,
			   const struct gs_task *out, const struct gs_entry *in);
/* Entries have changed places between this one and the root. */
void gs_tournaments_moved(struct gs_tournaments *all, size_t at);
/* Another policy orders. */
void gs_tournaments_forget(struct gs_tournaments *all);

#endif
