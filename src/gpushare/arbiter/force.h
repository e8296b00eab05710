/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forced evictions, which a job asks for (gpusharectl run --force-evict-ms). */
#ifndef GPUSHARE_ARBITER_FORCE_H
#define GPUSHARE_ARBITER_FORCE_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Gives the time slice back to the client of a finished forced eviction, and begins a new forced
 * eviction if one is due. Call it once per step; now: ns of the monotonic clock. */
void gs_force_step(struct gs_gpu *gpu, uint64_t now);

#endif
