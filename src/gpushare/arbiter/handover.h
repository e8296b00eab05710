/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Giving and taking the time slice. */
#ifndef GPUSHARE_ARBITER_HANDOVER_H
#define GPUSHARE_ARBITER_HANDOVER_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Give the time slice, which nobody has, to that client. */
void gs_handover_give(struct gs_gpu *gpu, struct gs_gpu_client *client, uint64_t now);

/*
 * Take the time slice from the holder; nobody may be leaving.  stopping: the
 * scheduler asked for it and waits to hear of it.  1 if the next client may
 * have the time slice at once, else gs_handover_drain() goes on.
 */
int gs_handover_take(struct gs_gpu *gpu, int stopping, uint64_t now);

/* One look at the client on its way out; 1 once it is out. */
int gs_handover_drain(struct gs_gpu *gpu, uint64_t now);

/*
 * May the next client have the time slice although this one has not left?  Its way to
 * the GPU (a wake-up, a launch) takes about overlap_ns, which may pass while
 * the last block-tasks end.  Not sooner: the driver would switch to it at once,
 * in the middle of the block-tasks, and back to them and again to it (measured
 * on an H200: evictions of 100 us block-tasks took 880 us).
 */
int gs_handover_overlap(struct gs_gpu *gpu, uint64_t now);

#endif
