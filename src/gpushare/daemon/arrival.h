/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a client will want the GPU again.  One that comes at regular intervals is
 * awaited: the daemon is awake then, and reads its page, instead of being woken
 * by its message (a wake-up takes 13 us, and 268 for one in a hundred;
 * facts/h200.md).
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
};

/* It has come. */
void gs_arrival_note(struct gs_arrival *arrival, uint64_t now);

/*
 * 1, and the stretch of time in which it should come next, which may have begun
 * and is not over; 0: nobody knows, or it has stayed away several times.
 */
int gs_arrival_next(const struct gs_arrival *arrival, uint64_t now, uint64_t *from, uint64_t *to);

#endif
