/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Giving the idle turn to the client that has always been the next to want it; see ahead.c. */
#ifndef GPUSHARE_DAEMON_AHEAD_H
#define GPUSHARE_DAEMON_AHEAD_H

#include "common/clock.h"
#include "gpushare/daemon/gpu_core.h"

/* Between two looks for the end of a holder after which somebody should come: whoever it is hears of it later. */
#define GS_AHEAD_LOOK_NS (25 * GS_NS_PER_US)

/* A client without the turn wants the GPU: who had the turn, what it did with it, and who this is are kept in mind. */
void gs_ahead_came(struct gs_gpu *gpu, const struct gs_tenant *tenant, uint64_t now);

/* Who should want the GPU next, after the holder; NULL: nobody knows. */
struct gs_tenant *gs_ahead_next(const struct gs_gpu *gpu);

/* Give the turn of a holder that is done to that client, if nobody wants it. */
void gs_ahead_turn(struct gs_gpu *gpu, uint64_t now);

#endif
