/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a client will want the GPU again.  One that comes at regular intervals is
 * awaited (await.h): the daemon is awake then, and reads its page, instead of being woken
 * by it (a launch that has to ask waits for 14 to 30 us, one in a hundred for 48; doc/results/h200-ask-parts.txt).
 *
 * Pure; time is a parameter (ns).
 */
#ifndef GPUSHARE_DAEMON_ARRIVAL_H
#define GPUSHARE_DAEMON_ARRIVAL_H

#include <stdint.h>

struct gs_arrival {
	uint64_t came_ns;   /* the last time; 0: never */
	uint64_t period_ns; /* between the last two; 0: not known */
	uint64_t off_ns;    /* how far the last ones were from where they were expected, and 1; 0: not known */
	uint64_t times;     /* so many periods before the last one... */
	unsigned same;      /* ...and before so many others in front of it */
};

/* It has come. */
void gs_arrival_note(struct gs_arrival *arrival, uint64_t now);

/*
 * 1, and the stretch of time in which it should come next, which may have begun
 * and is not over; 0: nobody knows, or it has stayed away several times.
 */
int gs_arrival_next(const struct gs_arrival *arrival, uint64_t now, uint64_t *from, uint64_t *to);

#endif
