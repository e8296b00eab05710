/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client's launches and its time with the GPU are booked as: the usage of its step. */
#ifndef GPUSHARE_ARBITER_ACCOUNT_H
#define GPUSHARE_ARBITER_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Time since the last charge: with the GPU it is active, without it waiting. */
void gs_gpu_client_charge(struct gs_gpu_client *t, int has_gpu, uint64_t now);

/*
 * Book launches of so many kernels that no look finds: they are short, and cannot be preempted
 * inside.  What they took is as long as their kernels' last launches that were not evictable, but
 * together no longer than it is since the last call.
 */
void gs_gpu_client_untracked(struct gs_gpu_client *t, const struct gs_untracked *untracked,
			     size_t count, uint64_t now);
/* With those it has made so many in all. */
void gs_gpu_client_launched(struct gs_gpu_client *t, uint64_t launched);

/* Book what a look found; holds: it had the time slice since the last one. */
void gs_gpu_client_account(struct gs_gpu_client *t, const struct gs_poll *inspect, int has_gpu,
			   uint64_t now);

/* Its kernels have left; they were told to at `since`. */
void gs_gpu_client_evicted(struct gs_gpu_client *t, uint64_t since, uint64_t now);

/* Its copies since the last call, as its page has them. */
void gs_gpu_client_copied(struct gs_gpu_client *client);

#endif
