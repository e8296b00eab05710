/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The GPU time that each client has had, and who of several equals is ahead of the others in
 * proportion to its shares.  A look is one reading of a client's page; this uses only what the
 * latest looks have found.
 */
#ifndef GPUSHARE_ARBITER_USAGE_H
#define GPUSHARE_ARBITER_USAGE_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* A look has found what the client has on the GPU, and so many new launches. */
void gs_usage_seen(struct gs_gpu_client *client, uint64_t launches, uint64_t now);

/* Has the client something under way, or had it a moment ago?  Of launches without a slot a look
 * finds only that there have been some. */
int gs_usage_is_busy(const struct gs_gpu_client *client, uint64_t now);

/*
 * MPS: may short kernels without slots, which no look finds, still be on the GPU behind its last
 * one with a slot?  Another client's long kernel would keep the multiprocessors from them, and as
 * their program only waits for them nobody would know.
 */
int gs_usage_has_tail(const struct gs_gpu_client *client, uint64_t now);

/* The GPU time since the last call goes to those that had it; once per turn. */
void gs_usage_step(struct gs_gpu *gpu, uint64_t now);

/* How much more than its part `client` has had, if `other` has had just its part, ns; below 0: it
 * has had less. */
double gs_usage_lead(const struct gs_gpu_client *client, const struct gs_gpu_client *other);

/* Of the equals of this one (itself included) that have something to do, or had a moment ago, the
 * one that is furthest behind; NULL: there is none. */
struct gs_gpu_client *gs_usage_least(const struct gs_gpu *gpu, const struct gs_gpu_client *of,
				     uint64_t now);

/*
 * MPS: short kernels hardly find a multiprocessor beside long ones, so equals of which one has long
 * kernels take turns at launching.  The one whose turn it is; NULL: they launch beside each other,
 * or there is only one.  together: gs_holders_step() has found several.
 */
struct gs_gpu_client *gs_usage_next(struct gs_gpu *gpu, const struct gs_gpu_client *of,
				    int together, uint64_t now);

/* Is the client to wait, so that `least` catches up?  Remembers since when; least NULL: no. */
int gs_usage_held(const struct gs_gpu *gpu, struct gs_gpu_client *client,
		  struct gs_gpu_client *least, uint64_t now);

#endif
