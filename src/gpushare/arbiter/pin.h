/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client that keeps the GPU whatever the policy says; gpu.h has the rest of its calls. */
#ifndef GPUSHARE_ARBITER_PIN_H
#define GPUSHARE_ARBITER_PIN_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* In place of the decisions of a turn while a client is pinned. */
void gs_pin_step(struct gs_gpu *gpu, uint64_t now);

#endif
