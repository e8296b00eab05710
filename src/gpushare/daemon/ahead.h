/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Giving the idle turn to the client that has always been the next to want it; see ahead.c. */
#ifndef GPUSHARE_DAEMON_AHEAD_H
#define GPUSHARE_DAEMON_AHEAD_H

#include "gpushare/daemon/gpu_core.h"

/* A client without the turn wants the GPU: who had the turn, what it did with it, and who this is are kept in mind. */
void gs_ahead_came(struct gs_gpu *gpu, const struct gs_tenant *tenant, uint64_t now);

/* Who should want the GPU next, after the holder; NULL: nobody knows. */
struct gs_tenant *gs_ahead_next(const struct gs_gpu *gpu);

/* When to look for the end of a holder after which somebody should come: ns from now, if the daemon can afford it. */
uint64_t gs_ahead_poll(const struct gs_gpu *gpu, uint64_t now);

/* Give the turn of a holder that is done to that client, if nobody wants it. */
void gs_ahead_turn(struct gs_gpu *gpu, uint64_t now);

#endif
