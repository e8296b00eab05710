/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several clients may have the GPU's turn at once.
 *
 * Most kernels of libraries cannot leave the GPU once they are there, and nobody waits for those:
 * the driver (or, under MPS, the hardware) shares the GPU better than we would by waiting.  So a
 * kernel that cannot leave within gs_gpu_options.leave_most_ns is left behind when its client loses
 * the time slice, and the next client launches beside it.  And equals of which one has such kernels
 * do not take turns: one of them is the holder, for the scheduler and for everybody else who asks,
 * and the others have the time slice beside it.  A more urgent client also keeps the time slice,
 * even while it does nothing, as long as a less urgent one's kernels that cannot leave have the
 * GPU: its next launch need not ask.
 *
 * Who is ahead of its equals in GPU time per share is held back for a while, so nobody among equals
 * starves.  That account is kept in usage.c.
 */
#ifndef GPUSHARE_ARBITER_HOLDERS_H
#define GPUSHARE_ARBITER_HOLDERS_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Has the client kernels on the GPU that are left behind when it loses the time slice?  So are
 * those that should have left long since. */
int gs_holders_stays(const struct gs_gpu *gpu, const struct gs_gpu_client *client, uint64_t now);

/* Are the client's kernels such as cannot leave, by what it has now or had in the last 10 ms?  0
 * while nobody is left behind. */
int gs_holders_cannot_leave(const struct gs_gpu_client *client, uint64_t now);

/* Its kernels have been told to leave and nobody waits for that. */
void gs_holders_told(struct gs_gpu_client *client, uint64_t now);

/* Has this client the time slice beside the holder? */
int gs_holders_is_beside(const struct gs_gpu_client *client);

/* Has anybody, or will a client that is barred? */
int gs_holders_share(const struct gs_gpu *gpu);

/* Are kernels of others on the GPU at the same time as this client's, or may they be?  For its
 * page. */
enum gs_beside gs_holders_beside(const struct gs_gpu *gpu, const struct gs_gpu_client *client);

/* The holder goes on beside its equal `next`, which is the holder from now on and has the time
 * slice beside it already. */
void gs_holders_swap(struct gs_gpu *gpu, struct gs_gpu_client *next, uint64_t now);

/*
 * The scheduler wants the holder to stop.  1: for an equal that shares the GPU with it: that one is
 * the holder now, if it has the time slice, or the holder goes on.
 */
int gs_holders_step_aside(struct gs_gpu *gpu, uint64_t now);

/* An equal that waits for its time slice is so far behind the holder that it is to be next,
 * whatever the policy says; NULL: nobody is. */
struct gs_gpu_client *gs_holders_starved(const struct gs_gpu *gpu);

/* Once per turn, after the decisions: who has the time slice beside the holder, and who of the
 * others is to leave. */
void gs_holders_step(struct gs_gpu *gpu, uint64_t now);

/* When that must be called again, for its own sake; UINT64_MAX: not. */
uint64_t gs_holders_next(const struct gs_gpu *gpu, uint64_t now);

#endif
