/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evictions that somebody asked for. */
#ifndef GPUSHARE_ARBITER_FORCE_H
#define GPUSHARE_ARBITER_FORCE_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Give the time slice back to whom it was taken from for the sake of it; take it where that is due.
 */
void gs_force_step(struct gs_gpu *gpu, uint64_t now);

#endif
