/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a client has on the GPU while others run beside it: it is told to leave, its end is counted
 * as an eviction, and what does not leave by EvictDeadline= is reported. Others do not wait for any
 * of that (holders.h). Times are ns of the monotonic clock.
 */
#ifndef GPUSHARE_ARBITER_LEFT_BEHIND_H
#define GPUSHARE_ARBITER_LEFT_BEHIND_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* The client's kernels were told to leave at `now`, and others do not wait for that. */
void gs_left_behind_told(struct gs_gpu_client *client, uint64_t now);

/* Tells what the client has on the GPU and can leave to do so. */
void gs_left_behind_clear_out(struct gs_gpu_client *client, uint64_t now);

/* The same for a client without the time slice that may have been told before: counts the eviction
 * if all that was told to leave has left. */
void gs_left_behind_check(struct gs_gpu_client *client, uint64_t now);

/* Reports, once each, kernels that have not left by the deadline. */
void gs_left_behind_find_stuck(struct gs_gpu_client *client, uint64_t now);

#endif
