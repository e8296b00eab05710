/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evictions without a daemon, as gpushare-emu(1) asks for them: the process's
 * own agent takes the time slice away and gives it back, or the emulated device
 * tells a kernel to leave after so many block-tasks.  For trying out whether a
 * program survives them; where a daemon is named, it alone decides.
 *
 * The environment: GPUSHARE_FORCE_EVICT_MS=N (the period, such as 10 or 0.2; 0: never),
 * GPUSHARE_FORCE_EVICT_TASKS=K (each launch and relaunch leaves after K
 * block-tasks), GPUSHARE_FORCE_EVICT_SEED=S (after a random number of them,
 * the same one for the same seed, launch and progress).  The last two need
 * the emulated device (device/driver/emu_export.h) and exclude the first.
 */
#ifndef GPUSHARE_SHIM_FORCE_PLAN_H
#define GPUSHARE_SHIM_FORCE_PLAN_H

#include <stdint.h>

struct shim_force_plan {
	enum { SHIM_FORCE_PERIOD, SHIM_FORCE_TASKS, SHIM_FORCE_SEED } kind;
	uint64_t value; /* ns (0: never), block-tasks, the seed */
};

/* Is the process to be its own daemon?  1 and the plan if the environment says so and names no
 * daemon's socket. */
int shim_force_wanted(struct shim_force_plan *plan);

#endif
