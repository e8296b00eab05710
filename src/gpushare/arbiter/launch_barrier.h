/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The launch barrier: while a more urgent client computes, what less urgent ones have queued stops.
 *
 * With contexts the driver gives each client with work on the GPU a time slice of about 2 ms. A
 * less urgent client has some kernels queued that cannot be evicted, so that the GPU does not run
 * out of work, and the driver goes back to them in the middle of a more urgent client's work.
 * Therefore the GPU waits in such a client's streams, between its kernels, until a word in its page
 * is 1 (page.h). A process whose streams wait gets no time slices, as far as was seen
 * (stream_waits.cu in testsuite/bench). The daemon closes the barrier when a more urgent client
 * launches, and opens it when that client has computed nothing for a moment: then its burst of work
 * is over.
 *
 * For a client that launches so slowly that the GPU would be idle for much of its bursts, as a
 * program does that computes kernel by kernel in Python, others stop only in a few bursts, to see
 * whether that is still so.
 *
 * In each burst a client is stopped for GS_LAUNCHES_CLOSED_MOST_NS at most. Then what it has queued
 * goes on beside the others. Its new launches wait for the time slice anyway. So a wrong word in a
 * page, a stream that waits for its program or a call that blocks in the driver costs no more than
 * that.
 */
#ifndef GPUSHARE_ARBITER_LAUNCH_BARRIER_H
#define GPUSHARE_ARBITER_LAUNCH_BARRIER_H

#include <stdint.h>

#include "common/clock.h"

struct gs_gpu;
struct gs_gpu_client;

#define GS_LAUNCHES_CLOSED_MOST_NS (20 * GS_NS_PER_MS)
/* A client that launches again within this time, and some polls of the arbiter, goes on with its
 * burst of work. */
#define GS_LAUNCHES_PAUSE_NS (60 * GS_NS_PER_US)

/* Tells the client whether it must stop for others and whether others stop for it. Under MPS
 * neither is so, whatever the caller says. */
void gs_launch_barrier_tell(struct gs_gpu_client *client, int stops, int tells);

/* Closes and opens the barriers. Call it once per step, after the pages were polled. Returns when
 * it must be called again, ns; UINT64_MAX: when a client launches. */
uint64_t gs_launch_barrier_step(struct gs_gpu *gpu, uint64_t now);

/* The client comes, with a page that may be of an earlier daemon; it goes; or the settings are
 * other ones. Nothing is known of it, and its barrier is open. */
void gs_launch_barrier_reset(struct gs_gpu_client *client);

#endif
