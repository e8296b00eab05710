/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intervals that repeat; see arrival.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/arrival.h"

#include "common/clock.h"

/* Who comes more often is not worth the waiting, who comes rarely not predictable enough. */
#define PERIOD_MIN_NS GS_NS_PER_MS
#define PERIOD_MAX_NS GS_NS_PER_S
#define OFF_MAX_NS (100 * GS_NS_PER_US)
/* The daemon's own wake-up lies before; after it, the client may still be on its way. */
#define BEFORE_NS (40 * GS_NS_PER_US)
#define AFTER_NS (30 * GS_NS_PER_US)
#define MISSES_MAX 3
/* Who comes so often after as many periods, more than one, comes that seldom: one of its intervals was shorter. */
#define SAME_MAX 3

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

void gs_arrival_note(struct gs_arrival *a, uint64_t now)
{
	uint64_t interval = now > a->came_ns ? now - a->came_ns : 1, times = 1, off;

	if (a->came_ns && a->period_ns) {
		/* It may have stayed away, or had the GPU and not needed to ask. */
		times = (interval + a->period_ns / 2) / a->period_ns;
		times = times ? times : 1;
		a->same = times > 1 && times == a->times ? a->same + 1 : 0;
		a->times = times;
		off = distance(interval, times * a->period_ns) + 1;
		/* Quick to doubt, slow to trust. */
		a->off_ns = off > a->off_ns ? off : (3 * a->off_ns + off) / 4;
	}
	if (a->same == SAME_MAX)
		times = 1;
	if (a->came_ns)
		a->period_ns = interval / times ? interval / times : 1;
	a->came_ns = now;
}

int gs_arrival_next(const struct gs_arrival *a, uint64_t now, uint64_t *from, uint64_t *to)
{
	uint64_t expected, before = 2 * a->off_ns + BEFORE_NS, after = 2 * a->off_ns + AFTER_NS;

	if (!a->off_ns || a->off_ns > OFF_MAX_NS || a->period_ns < PERIOD_MIN_NS ||
	    a->period_ns > PERIOD_MAX_NS)
		return 0;
	expected = a->came_ns + a->period_ns;
	for (int misses = 0; now > expected + after; misses++) {
		if (misses == MISSES_MAX)
			return 0;
		expected += a->period_ns;
	}
	*from = expected - before;
	*to = expected + after;
	return 1;
}
