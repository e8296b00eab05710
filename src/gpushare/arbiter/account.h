/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Books a client's launches and its time with and without the GPU into the usage of its job step.
 * All times are ns of the monotonic clock. */
#ifndef GPUSHARE_ARBITER_ACCOUNT_H
#define GPUSHARE_ARBITER_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* Books the time since the last charge: its part of the GPU (gs_usage_part()) as active, the rest
 * as waiting. has_gpu: it had the time slice. */
void gs_gpu_client_charge(struct gs_gpu_client *t, int has_gpu, uint64_t now);

/*
 * Books launches that no poll finds, because they are short and took no launch slot. They count as
 * not evictable. Each is assumed to take as long as its kernel's last launch that was not
 * evictable; together they are booked as no longer than the time since the last call.
 */
void gs_gpu_client_untracked(struct gs_gpu_client *t, const struct gs_untracked *untracked,
			     size_t count, uint64_t now);
/* Makes the client's number of launches at least `launched`, which counts from its first launch.
 * Launches that no poll has found are added to the usage. */
void gs_gpu_client_launched(struct gs_gpu_client *t, uint64_t launched);

/* Books what a poll has found. has_gpu: the client had the time slice since the last poll. */
void gs_gpu_client_account(struct gs_gpu_client *t, const struct gs_poll *polled, int has_gpu,
			   uint64_t now);

/* The client's kernels left the GPU at `now`; they were told to at `since`. */
void gs_gpu_client_evicted(struct gs_gpu_client *t, uint64_t since, uint64_t now);

/* Its copies since the last call, as its page has them. */
void gs_gpu_client_copied(struct gs_gpu_client *client);

#endif
