/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clients of one allocation that are equally urgent are a group. Equals divide the GPU's time
 * by groups, in proportion to the allocations' shares, and a group's part is divided among its
 * clients. So a job that has one allocation has no more of the GPU for starting more processes or
 * more steps in it.
 *
 * There are as many groups as clients at most, and each client brings the memory for one with it:
 * to find a client's group never fails.
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
	/* the shares of those that want the GPU, or did a moment ago, together */
	uint64_t wanting_shares;
	double used_ns; /* GPU time of all its clients, per share of the allocation */
	/* the client that has had the most per share of its step, of those with an account; NULL:
	 * none has one. Used by usage.c within a call. */
	const struct gs_gpu_client *most;
	double weight; /* how many of them had the GPU in the time that is being charged */
};

/* Takes and gives back the memory for one more group. Returns 0; -1: no memory. */
int gs_gpu_group_reserve(struct gs_gpu *gpu);
void gs_gpu_group_unreserve(struct gs_gpu *gpu);

/* The client's group, which it enters if it is in none. */
struct gs_gpu_group *gs_gpu_group_of(struct gs_gpu_client *client);

/* The client leaves its group, if it is in one: its urgency changes, or it goes. */
void gs_gpu_group_leave(struct gs_gpu_client *client);

/* All clients leave their groups: who equals whom has changed. */
void gs_gpu_group_leave_all(struct gs_gpu *gpu);

#endif
