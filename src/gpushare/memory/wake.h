/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a wake-up policy is; see wake.def. */
#ifndef GPUSHARE_MEMORY_WAKE_H
#define GPUSHARE_MEMORY_WAKE_H

#include <stdint.h>

/* A step that waits for memory, as wake-up policies see it. */
struct gs_waiting {
	uint64_t memory;
	uint32_t priority; /* larger is more urgent */
	uint64_t order;    /* ascending in the order in which they began to wait */
};

/*
 * before: is x tried before y?  A strict order: of two different steps exactly
 * one goes before the other, so end with `order`.
 */
struct gs_wake {
	const char *name;
	int (*before)(const struct gs_waiting *x, const struct gs_waiting *y);
};

#define WAKE(name, words) extern const struct gs_wake gs_wake_##name;
#include "gpushare/memory/wake.def"
#undef WAKE

#endif
