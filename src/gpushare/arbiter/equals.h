/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides which of several equals must wait, so that their accounts (usage.h) stay level. Times are
 * ns of the monotonic clock. */
#ifndef GPUSHARE_ARBITER_EQUALS_H
#define GPUSHARE_ARBITER_EQUALS_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/*
 * MPS: short kernels hardly find a free multiprocessor beside long ones, so equals of `of` take
 * turns at launching if one of them has long kernels. Returns the client whose turn it is; NULL: no
 * turns are taken, which is always so without MPS. together: whether gs_holders_step() has found
 * that equals share the GPU.
 */
struct gs_gpu_client *gs_equals_next(struct gs_gpu *gpu, const struct gs_gpu_client *of,
				     int together, uint64_t now);

/* Returns 1 while the client must wait so that the equal `last`, which is furthest behind, can
 * catch up, else 0. Returns 0 if `last` is NULL. */
int gs_equals_held(const struct gs_gpu *gpu, struct gs_gpu_client *client,
		   struct gs_gpu_client *last, uint64_t now);

#endif
