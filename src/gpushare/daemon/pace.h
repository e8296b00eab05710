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
 * there, so that lasts as long as a hand-over would; a client that did not
 * come back so soon the last time is given an eighth.
 */
uint64_t gs_pace_grace(const struct gs_tenant *tenant);

/* The tenant's work has changed or its turn has begun: guess when it will be done. */
void gs_pace_expect(struct gs_tenant *tenant, uint64_t now);

/* Is the holder's work about to end, so that those who wait should be awake? */
int gs_pace_is_ending(const struct gs_gpu *gpu, uint64_t now);

/* When the GPU must have its next turn; UINT64_MAX: when something happens. */
uint64_t gs_pace_next(const struct gs_gpu *gpu, uint64_t now);

#endif
