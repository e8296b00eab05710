/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to poll a GPU's pages again. The GPU writes to them without notifying anybody, so only a
 * poll finds that a kernel has ended, and a client that waits for the GPU waits for that poll, too.
 * Times are ns of the monotonic clock.
 */
#ifndef GPUSHARE_ARBITER_POLLING_H
#define GPUSHARE_ARBITER_POLLING_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Does a client other than the holder want the GPU? */
int gs_polling_contended(const struct gs_gpu *gpu);

/*
 * How long an idle holder may keep the GPU while others wait, ns. A chain of kernels with short
 * gaps should find the GPU still there, so the grace is about as long as the client's recent gaps,
 * and at most as long as a hand-over takes (idle_grace_ns). A client whose last two gaps were both
 * longer gets no grace; a client without known gaps gets an eighth.
 */
uint64_t gs_polling_grace(const struct gs_gpu_client *client);

/* The client has become idle, or busy again: notes its pauses. */
void gs_polling_idle(struct gs_gpu_client *client, uint64_t now);
void gs_polling_busy(struct gs_gpu_client *client, uint64_t now);

/* The time until the next poll, ns: wanted_ns, but no less than gs_gpu_poll_every() allows. */
uint64_t gs_polling_poll(const struct gs_gpu *gpu, uint64_t wanted_ns);

/* When the next poll must be for the sake of the clients that wait, ns; UINT64_MAX: none waits. */
uint64_t gs_polling_waiting(const struct gs_gpu *gpu, uint64_t now);

/* When the GPU's next step must be, ns; UINT64_MAX: only when something happens. */
uint64_t gs_polling_next(const struct gs_gpu *gpu, uint64_t now);

#endif
