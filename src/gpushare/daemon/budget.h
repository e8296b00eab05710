/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon may take of its core to be prompt.  Looking at pages in
 * short turns, or without sleeping at all, shows the end of a kernel sooner and
 * takes processor time that belongs to the jobs; so all that the daemon takes
 * is counted against a share of the time, and when little of it is left, it
 * looks less often.  What clients ask for is done in any case.
 *
 * Pure; time is a parameter (ns).
 */
#ifndef GPUSHARE_DAEMON_BUDGET_H
#define GPUSHARE_DAEMON_BUDGET_H

#include <stdint.h>

/* One in so many: 4 % of a core. */
#define GS_BUDGET_SHARE 25
/* The most that quiet times save up, and the most that busy ones may owe. */
#define GS_BUDGET_MOST_NS UINT64_C(2000000)
#define GS_BUDGET_DEBT_NS UINT64_C(4000000)

struct gs_budget {
	uint64_t at_ns;
	int64_t left_ns; /* may be below 0 */
};

/* A full one. */
void gs_budget_init(struct gs_budget *budget, uint64_t now);

/* Processor time was taken, up to now; returns what is left. */
int64_t gs_budget_spend(struct gs_budget *budget, uint64_t now, uint64_t used_ns);

/*
 * The shortest time between two looks that this much allows: from a
 * microsecond, which is looking without sleeping, to a millisecond.
 */
uint64_t gs_budget_look_ns(int64_t left_ns);

/*
 * A client that asks without end, and has used up what its attendant may take, is heard so much
 * later, ns: in proportion to what hearing it took, since on a slow machine that is 20 us.  Within
 * bounds, since one that is seen off the GPU may take milliseconds once and is not to
 * pay for it with ten times that when it asks again.
 */
uint64_t gs_budget_rest_ns(uint64_t used_ns);

/* Beyond this, only what must be done is worth a wake-up. */
#define GS_BUDGET_POOR_NS UINT64_C(15000)

#endif
