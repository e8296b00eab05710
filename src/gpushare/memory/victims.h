/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the allocations whose device memory is taken back for a waiting one: the fewest
 * reservations, of the lowest priorities, that make enough room. Pure code. */
#ifndef GPUSHARE_MEMORY_VICTIMS_H
#define GPUSHARE_MEMORY_VICTIMS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* An admitted allocation. */
struct gs_victim {
	uint64_t id;
	int32_t priority;
	uint64_t bytes; /* device memory that it frees, bytes */
	uint64_t host;  /* host memory that it takes meanwhile, bytes */
};

/*
 * Chooses candidates of a lower priority than the waiting one that free at least `need` bytes
 * (above zero) and take at most host_left bytes of host memory together. No smaller choice would
 * do, nor an equally small one whose highest priority is lower. Reorders the candidates so that the
 * chosen ones come first. Returns how many they are; -1 with the reason.
 */
int gs_victims_choose(struct gs_victim *candidate, size_t n, int32_t priority, uint64_t need,
		      uint64_t host_left, struct gs_error *err);

#endif
