/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Under MPS, equals whose kernels are all persistent variants run beside each other instead of
 * taking turns, each with a part of the blocks that fit on the GPU. Where the blocks are is the
 * GPU's affair, so each multiprocessor may have some of all, as with SMK. That can gain where one
 * of them, waiting for memory, loses little by having fewer blocks.
 *
 * Time is divided into epochs. At the end of each the kernels leave the GPU, so that it shows how
 * much of their work is done. At first, and again every 20 s, each client has the GPU to itself for
 * an epoch: that is its speed alone. Then follows a trial of some epochs beside each other; after
 * each one the parts are moved towards equal progress per share (corun/balance.h). The clients go
 * on that way only if their progress together is more than turns would give. If not, they take
 * turns, and it is tried again much later.
 *
 * What a launch would take alone is the client's claim, but only its ratio to the same client's
 * claims in the time that it was alone counts.
 *
 * Times are ns of the monotonic clock.
 */
#ifndef GPUSHARE_ARBITER_CORUN_H
#define GPUSHARE_ARBITER_CORUN_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Call it once per step. Decides whether the equals of `of` run beside each other; NULL: nobody
 * does. While they do, gs_gpu_corun_is_on() is 1. */
void gs_gpu_corun_step(struct gs_gpu *gpu, const struct gs_gpu_client *of, uint64_t now);

static inline int gs_gpu_corun_is_on(const struct gs_gpu *gpu)
{
	return gpu->corun.phase != GS_CORUN_OFF;
}

/* When gs_gpu_corun_step() must be called again, ns; UINT64_MAX: for its own sake never. */
uint64_t gs_gpu_corun_next(const struct gs_gpu *gpu, uint64_t now);

/* The GPU's options have changed. */
void gs_gpu_corun_configured(struct gs_gpu_client *client);

/* The client comes, with a page that may be of an earlier daemon, or goes. */
void gs_gpu_corun_reset(struct gs_gpu_client *client, uint64_t now);

#endif
