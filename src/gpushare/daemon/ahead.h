/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Giving the idle turn to the client that has always been the next to want it; see ahead.c. */
#ifndef GPUSHARE_DAEMON_AHEAD_H
#define GPUSHARE_DAEMON_AHEAD_H

#include "common/clock.h"
#include "gpushare/daemon/gpu_core.h"

/* A client without the turn wants the GPU: who had the turn, what it did with it, and who this is are kept in mind. */
void gs_ahead_came(struct gs_gpu *gpu, const struct gs_tenant *tenant, uint64_t now);

/* Who should want the GPU next, after the holder; NULL: nobody knows. */
struct gs_tenant *gs_ahead_next(const struct gs_gpu *gpu);

/* Somebody should come next: when the holder should be done.  If that is past, *again: how soon it is looked for once more (ns). */
uint64_t gs_ahead_due(const struct gs_gpu *gpu, uint64_t now, uint64_t *again);

/* Somebody should come next: are the holder's launches to be marked, so that their end is seen?  What rides along is not. */
int gs_ahead_wants_marks(const struct gs_gpu *gpu);

/* Give the turn of a holder that is done to that client, if nobody wants it. */
void gs_ahead_turn(struct gs_gpu *gpu, uint64_t now);

#endif
