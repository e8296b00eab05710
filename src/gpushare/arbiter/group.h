/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clients of one allocation with the same urgency form a group. Groups of equal urgency divide
 * the GPU's time in proportion to their allocations' shares, and the clients of a group divide its
 * time. So a job with one allocation gets no more of the GPU by starting more processes or steps in
 * it.
 *
 * There are at most as many groups as clients. Memory for one group is reserved with each client,
 * so finding a client's group never fails.
 */
#ifndef GPUSHARE_ARBITER_GROUP_H
#define GPUSHARE_ARBITER_GROUP_H

#include <stdint.h>
#include <sys/queue.h>

#include "gpushare/arbiter/gpu_core.h"
#include "gpushare/sched/sched.h"

struct gs_gpu_group {
	LIST_ENTRY(gs_gpu_group) link;
	uint64_t alloc; /* gs_gpu_client_params.alloc of its clients */
	struct gs_urgency urgency;
	uint32_t shares; /* of the allocation */
	uint32_t clients;
	uint32_t joined; /* those of its clients whose GPU time is being accounted (usage.c) */
	/* sum of the steps' shares of its joined clients that want the GPU, or did a moment ago */
	uint64_t wanting_shares;
	double used_ns; /* GPU time of all its clients, per share of the allocation */
	/* among its joined clients the one with the most GPU time per share of its step; NULL:
	 * none. Valid only within one call in usage.c */
	const struct gs_gpu_client *most;
	double weight; /* the number of its clients that had the GPU in the time being charged */
};

/* Takes and gives back the memory for one more group. Returns 0; -1: no memory. */
int gs_gpu_group_reserve(struct gs_gpu *gpu);
void gs_gpu_group_unreserve(struct gs_gpu *gpu);

/* The client's group, which it enters if it is in none. */
struct gs_gpu_group *gs_gpu_group_of(struct gs_gpu_client *client);

/* The client leaves its group, if it is in one. Call it when its urgency changes or it is removed.
 */
void gs_gpu_group_leave(struct gs_gpu_client *client);

/* All clients leave their groups. Call it when it has changed which clients are equals. */
void gs_gpu_group_leave_all(struct gs_gpu *gpu);

#endif
