/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pages say of others: who contends with a client, and whose kernels may be beside. */
#ifndef GPUSHARE_ARBITER_CONTENTION_H
#define GPUSHARE_ARBITER_CONTENTION_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/*
 * Tells every client about the others; to be called at the end of a step. A client that used the
 * GPU lately will want it again. So a kernel that is launched now should be able to leave quickly,
 * and claims its block-tasks in smaller portions; likewise a kernel that is to be evicted for
 * another client.
 */
void gs_contention_tell(const struct gs_gpu *gpu, uint64_t now);

#endif
