/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to look at a GPU's pages again.  The GPU writes them without telling
 * anybody, so the end of a kernel is seen by looking; who waits for the GPU
 * waits for that look too.
 */
#ifndef GPUSHARE_ARBITER_POLLING_H
#define GPUSHARE_ARBITER_POLLING_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Somebody besides the holder wants the GPU. */
int gs_polling_contended(const struct gs_gpu *gpu);

/*
 * How long the holder may keep the GPU with nothing to do while others wait,
 * ns.  A chain of kernels with short gaps between them should find it still
 * there, so that lasts as long as the gaps do, at most as long as a hand-over
 * would.  A client whose last two gaps were longer than that keeps it no time
 * at all; one that nobody knows, an eighth.
 */
uint64_t gs_polling_grace(const struct gs_gpu_client *client);

/* The client has nothing live any more, or has something again. */
void gs_polling_idle(struct gs_gpu_client *client, uint64_t now);
void gs_polling_busy(struct gs_gpu_client *client, uint64_t now);

/* Time until the next poll, ns: the wanted one, or the shortest that gs_gpu_poll_every() has
 * allowed. */
uint64_t gs_polling_poll(const struct gs_gpu *gpu, uint64_t wanted_ns);

/* When it must have it for the sake of those that wait, whoever they wait for; UINT64_MAX: nobody
 * waits. */
uint64_t gs_polling_waiting(const struct gs_gpu *gpu, uint64_t now);

/* When the GPU must have its next turn; UINT64_MAX: when something happens. */
uint64_t gs_polling_next(const struct gs_gpu *gpu, uint64_t now);

#endif
