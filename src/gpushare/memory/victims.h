/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose device memory is taken back for one that waits: the fewest
 * reservations, of the lowest priorities, that make the room.  Pure code.
 */
#ifndef GPUSHARE_MEMORY_VICTIMS_H
#define GPUSHARE_MEMORY_VICTIMS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* One that is admitted. */
struct gs_victim {
	uint64_t id;
	int32_t priority;
	uint64_t bytes; /* of the device that it frees */
	uint64_t host;  /* bytes that it takes of the host meanwhile */
};

/*
 * Choose among the n candidates those that free `need` bytes (above zero) for
 * a waiter of that priority, all of lower priority, together at most host_left
 * bytes of the host.  No choice of fewer would do, nor one as small whose
 * highest priority is lower.  Reorders the candidates: the chosen ones come
 * first.  How many they are; -1 with the reason.
 */
int gs_victims_choose(struct gs_victim *candidate, size_t n, int32_t priority, uint64_t need,
		      uint64_t host_left, struct gs_error *err);

#endif
