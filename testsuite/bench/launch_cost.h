/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What launch_cost and its driver know of each other. */
#ifndef TESTSUITE_BENCH_LAUNCH_COST_H
#define TESTSUITE_BENCH_LAUNCH_COST_H

#include <stdint.h>

#include "device/driver/cuda.h"

/* Takes so long that it never goes untracked (untracked.h); every other kernel takes 3 us. */
#define LAUNCH_COST_LONG ((CUfunction)0x200000)

/* The processor's own count: cheaper than a clock, and everything before is over with. */
static inline uint64_t launch_cost_ticks(void)
{
	unsigned int aux;

	return __builtin_ia32_rdtscp(&aux);
}

#endif
