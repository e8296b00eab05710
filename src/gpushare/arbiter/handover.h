/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Giving and taking the time slice. Times are ns of the monotonic clock. */
#ifndef GPUSHARE_ARBITER_HANDOVER_H
#define GPUSHARE_ARBITER_HANDOVER_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Gives the time slice, which no client may have, to that client, and rings its doorbell. */
void gs_handover_give(struct gs_gpu *gpu, struct gs_gpu_client *client, uint64_t now);

/*
 * Takes the time slice from the holder, which becomes LEAVING; no other client may be LEAVING.
 * stopping: the scheduler asked for this and waits for gs_sched_stopped(). Returns 1 if the next
 * client may have the time slice at once; else call gs_handover_drain() until it returns 1.
 */
int gs_handover_take(struct gs_gpu *gpu, int stopping, uint64_t now);

/* Polls the client that is LEAVING once. Returns 1 once it has left, or when others no longer wait
 * for it. */
int gs_handover_drain(struct gs_gpu *gpu, uint64_t now);

/*
 * May the next client have the time slice although this one has not left yet? The next client takes
 * about overlap_ns to reach the GPU (a wake-up and a launch), and the last block-tasks may end
 * meanwhile. It must not be sooner: the driver would switch to it at once, in the middle of the
 * block-tasks, back to them and again to it. (H200: evictions of 100 us block-tasks then took 880
 * us.)
 */
int gs_handover_overlap(struct gs_gpu *gpu, uint64_t now);

#endif
