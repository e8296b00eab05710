/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evictions without a daemon, by the plan of session/force_plan.h: the agent takes the time slice
 * away and gives it back, or the emulated device tells a kernel to leave.
 */
#ifndef GPUSHARE_SHIM_FORCE_H
#define GPUSHARE_SHIM_FORCE_H

#include <stdint.h>

#include "device/shim/launch/pool.h"
#include "device/shim/session/session.h"

struct shim_force {
	uint64_t since_ns; /* when something evictable was first seen on the GPU; 0: nothing is */
	int evicting;      /* the time slice is taken back, not everybody has left */
};

/* Do the plan's evictions come after a number of block-tasks: from the device, never as a signal
 * from the agent? */
static inline int shim_force_counts(const struct shim_session *s)
{
	return s->force.kind == SHIM_FORCE_TASKS || s->force.kind == SHIM_FORCE_SEED;
}

/*
 * The variant is about to be launched or relaunched, without a daemon and by a plan that counts:
 * have it leave after its number of block-tasks (a few more, where several workers claim at once).
 * 0, or the driver's error: CUDA_ERROR_NOT_FOUND on a real device.
 */
CUresult shim_force_arm(const struct shim_session *s, struct shim_launch *l);

/*
 * The agent's thread only: takes the time slice from kernels that have been on the
 * GPU for a period, and gives it back once they have left.  Shortens *nap_ns
 * to when it wants to be called again.
 */
void shim_force_step(struct shim_force *f, struct shim_session *s, uint64_t now, uint64_t *nap_ns);

#endif
