/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts: what a client does on the GPU between two of its pauses, if its step has said a period or
 * a deadline (common/period.h). A burst is the job of one period: it begins when the client begins
 * to want the GPU and ends when it has nothing more to do, unless it has again within a tenth of
 * its period (of its deadline if it has none; 0.2 to 10 ms). So a burst is over before the next one
 * begins, or has been idle for so long; nothing is done in between. Its deadline stays while it
 * lasts, also where the client is several tasks of the scheduler in that time.
 *
 * Everything here does nothing for other clients. Times are ns of the monotonic clock.
 */
#ifndef GPUSHARE_ARBITER_BURST_H
#define GPUSHARE_ARBITER_BURST_H

#include <stdint.h>

struct gs_gpu;
struct gs_gpu_client;

/* The client has work again; it has none any more. */
void gs_burst_begin(struct gs_gpu_client *t, uint64_t now);
void gs_burst_pause(struct gs_gpu_client *t, uint64_t now);

/* Between two polls kernels have come and gone, which took ran_ns. */
void gs_burst_seen(struct gs_gpu_client *t, uint64_t ran_ns, uint64_t now);

/* The client has had the GPU for so long. */
void gs_burst_charge(struct gs_gpu_client *t, uint64_t ns);

/* Books the burst in the step's usage if it is over; gone: the client has ended, so that it is over
 * if the client had no work left. */
void gs_burst_settle(struct gs_gpu_client *t, int gone, uint64_t now);

/* When the client's work is to have ended; 0: it has no deadline. */
uint64_t gs_burst_due(const struct gs_gpu_client *t, uint64_t now);

/* When a client that launches without asking must be polled, so that its burst is seen to begin and
 * to end; UINT64_MAX: there is none. */
uint64_t gs_burst_next(const struct gs_gpu *gpu, uint64_t now);

#endif
