/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pinning a client, which then keeps the GPU whatever the policy says; gpu.h has the other calls.
 */
#ifndef GPUSHARE_ARBITER_PIN_H
#define GPUSHARE_ARBITER_PIN_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Replaces the decisions of a step while a client is pinned. now: ns of the monotonic clock. */
void gs_pin_step(struct gs_gpu *gpu, uint64_t now);

#endif
