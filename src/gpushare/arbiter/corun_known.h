/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of clients that were tried beside each other on parts of a GPU (corun.h). */
#ifndef GPUSHARE_ARBITER_CORUN_KNOWN_H
#define GPUSHARE_ARBITER_CORUN_KNOWN_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Identifies who they are; not 0. */
uint64_t gs_corun_key(struct gs_gpu_client *const client[], uint32_t n);

/* What is known of them; else what is known of others longest ago, emptied for them if `make` is 1.
 * NULL: nothing is known. The GPU owns it, until as many others have been made as it can keep. */
struct gs_corun_known *gs_corun_known_of(struct gs_gpu *gpu, uint64_t key, int make);

#endif
