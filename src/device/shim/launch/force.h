/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evictions without a daemon, by the plan of session/force_plan.h: the agent takes the time slice
 * away and gives it back, or the emulated device tells a kernel to leave. */
#ifndef GPUSHARE_SHIM_FORCE_H
#define GPUSHARE_SHIM_FORCE_H

#include <stdint.h>

#include "device/shim/launch/pool.h"
#include "device/shim/session/session.h"

struct shim_force {
	uint64_t since_ns; /* since when something evictable has been on the GPU; 0: nothing is */
	int evicting;      /* the time slice is taken back, and not all kernels have left */
};

/* Does the plan evict after a number of block-tasks? Then the emulated device gives the order, not
 * the agent. */
static inline int shim_force_counts(const struct shim_session *s)
{
	return s->force.kind == SHIM_FORCE_TASKS || s->force.kind == SHIM_FORCE_SEED;
}

/*
 * Call before the variant is launched or relaunched: if the plan counts block-tasks, makes the
 * kernel leave after their number (a few more if several workers claim at once). Returns
 * CUDA_SUCCESS or the driver's error; CUDA_ERROR_NOT_FOUND on a real device.
 */
CUresult shim_force_arm(const struct shim_session *s, struct shim_launch *l);

/*
 * For the agent's thread only: takes the time slice from kernels that have been on the GPU for a
 * period, and gives it back once they have left. Shortens *nap_ns to when it must be called again.
 * now: ns of the monotonic clock.
 */
void shim_force_step(struct shim_force *f, struct shim_session *s, uint64_t now, uint64_t *nap_ns);

#endif
