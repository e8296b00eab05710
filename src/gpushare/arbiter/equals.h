/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of several equals wait for others of them, so that their accounts (usage.h) stay level.
 * Times are ns of the monotonic clock. */
#ifndef GPUSHARE_ARBITER_EQUALS_H
#define GPUSHARE_ARBITER_EQUALS_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/*
 * MPS: short kernels hardly find a free multiprocessor beside long ones, so equals take turns at
 * launching if one of them has long kernels. Returns the client whose turn it is; NULL: they launch
 * beside each other, or there is only one. together: gs_holders_step() has found that equals share
 * the GPU.
 */
struct gs_gpu_client *gs_equals_next(struct gs_gpu *gpu, const struct gs_gpu_client *of,
				     int together, uint64_t now);

/* Must the client wait so that `least` catches up? Remembers since when. least NULL: no. */
int gs_equals_held(const struct gs_gpu *gpu, struct gs_gpu_client *client,
		   struct gs_gpu_client *least, uint64_t now);

#endif
