/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to look at a GPU's pages again.  The GPU writes them without telling
 * anybody, so the end of a kernel is seen by looking; who waits for the GPU
 * waits for that look too.
 */
#ifndef GPUSHARE_DAEMON_PACE_H
#define GPUSHARE_DAEMON_PACE_H

#include <stdint.h>

#include "gpushare/daemon/gpu_core.h"

/* Somebody besides the holder wants the GPU. */
int gs_pace_contended(const struct gs_gpu *gpu);

/*
 * How long the holder may keep the GPU with nothing to do while others wait,
 * ns.  A chain of kernels with short gaps between them should find it still
 * there, so that lasts as long as the gaps do, at most as long as a hand-over
 * would.  A client whose last two gaps were longer than that keeps it no time
 * at all; one that nobody knows, an eighth.
 */
uint64_t gs_pace_grace(const struct gs_tenant *tenant);

/*
 * The tenant has nothing live any more, or has something again.  Its end was somewhere
 * after it was last seen live: that nobody looked for long is no error of the guess.
 */
void gs_pace_idle(struct gs_tenant *tenant, uint64_t seen_live_ns, uint64_t now);
void gs_pace_busy(struct gs_tenant *tenant, uint64_t now);

/* The tenant's kernels have the GPU from now on: guess when its work will be done. */
void gs_pace_begin(struct gs_tenant *tenant, enum gs_pace_base base, uint64_t now);

/* Its work has changed: guess anew. */
void gs_pace_expect(struct gs_tenant *tenant);

/* Is the turn about to end, so that those who wait should be awake? */
int gs_pace_is_ending(const struct gs_gpu *gpu, uint64_t now);

/* Should it come about now, so that its page is to be read before it rings?  Until then (ns). */
int gs_pace_is_awaited(const struct gs_tenant *tenant, uint64_t now, uint64_t *until);

/* When the GPU must have its next turn; UINT64_MAX: when something happens. */
uint64_t gs_pace_next(const struct gs_gpu *gpu, uint64_t now);

#endif
