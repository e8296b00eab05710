/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accounts of GPU time of clients and groups (group.h), and who of several equals is ahead:
 * groups in proportion to their shares, and within a group clients in proportion to theirs. Who
 * waits for whom because of that says equals.h. Only what the latest polls of the clients' pages
 * have found is used. Times are ns of the monotonic clock.
 */
#ifndef GPUSHARE_ARBITER_USAGE_H
#define GPUSHARE_ARBITER_USAGE_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Has the client live launches that cannot be kept to a part of the GPU (corun.h), or of unknown
 * length? */
int gs_usage_is_undivided(const struct gs_gpu_client *client);

/* A poll has found t->found and `launches` new launches of this client. */
void gs_usage_seen(struct gs_gpu_client *client, uint64_t launches, uint64_t now);

/* Has the client something under way, or had it a moment ago? Of launches without a slot a poll
 * finds only that there were some. */
int gs_usage_is_busy(const struct gs_gpu_client *client, uint64_t now);

/*
 * MPS: may short kernels without slots, which no poll finds, still be on the GPU behind the
 * client's last launch with a slot? Another client's long kernel would keep the multiprocessors
 * from them, and since their program only waits for them, nobody would notice.
 */
int gs_usage_has_tail(const struct gs_gpu_client *client, uint64_t now);

/* Divides the GPU time since the last call among the clients that had it; call it once per step. */
void gs_usage_step(struct gs_gpu *gpu, uint64_t now);

/*
 * The part of the GPU's time that the client has, as the latest step has found: 1 alone, 0 without
 * the time slice and without kernels on the GPU. has_slice: it has the time slice. Where the driver
 * switches between contexts, clients that have kernels on the GPU have equal slices of it. Under
 * MPS only those of the same step divide it, since kernels compute beside each other there, and how
 * much the ones slow the others down is not known.
 */
double gs_usage_part(const struct gs_gpu_client *client, int has_slice);

/* The client's shares within its group, at least 1. */
uint32_t gs_usage_shares(const struct gs_gpu_client *client);

/*
 * MPS: has the client nothing under way but kernels that wait, and leave half of the
 * multiprocessors to others? A collective's kernel waits for its job's kernel on another GPU. That
 * one may be held back there in favour of the other job, which would be held back here: then both
 * would wait for each other.
 */
int gs_usage_leaves_room(const struct gs_gpu_client *client);

/* How much more GPU time than its part the client has had, taking `other` as having had exactly its
 * part, ns; of clients of two groups, how much more its group has had. Below 0: it has had less. 0
 * if one of them is in no group yet. */
double gs_usage_lead(const struct gs_gpu_client *client, const struct gs_gpu_client *other);

/* Call when the client's priority changes. It begins level with its new equals, except that it
 * keeps its lead over the old ones. Otherwise a client could escape being held back by changing its
 * priority to and fro. */
void gs_usage_regroup(struct gs_gpu_client *client, uint64_t now);

/* Of the equals of `of` (itself included) that have something to do, or had a moment ago: the one
 * that is furthest behind. NULL: there is none. */
struct gs_gpu_client *gs_usage_least(const struct gs_gpu *gpu, const struct gs_gpu_client *of,
				     uint64_t now);

#endif
