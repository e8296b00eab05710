/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evictions without a daemon, as gpushare-emu(1) describes them: the process's own agent takes the
 * time slice away and gives it back, or the emulated device tells a kernel to leave after a number
 * of block-tasks. This shows whether a program survives evictions. If the environment names a
 * daemon, only the daemon decides.
 *
 * The environment: GPUSHARE_FORCE_EVICT_MS=N (the period in ms, such as 10 or 0.2; 0: never),
 * GPUSHARE_FORCE_EVICT_TASKS=K (each launch and relaunch leaves after K block-tasks),
 * GPUSHARE_FORCE_EVICT_SEED=S (after a random number of block-tasks, which is the same for the same
 * seed, launch and progress). The last two need the emulated device (device/driver/emu_export.h)
 * and exclude the first.
 */
#ifndef GPUSHARE_SHIM_FORCE_PLAN_H
#define GPUSHARE_SHIM_FORCE_PLAN_H

#include <stdint.h>

struct shim_force_plan {
	enum { SHIM_FORCE_PERIOD, SHIM_FORCE_TASKS, SHIM_FORCE_SEED } kind;
	uint64_t value; /* the period in ns (0: never), the number of block-tasks, or the seed */
};

/* Does the environment ask for evictions, and name no daemon's socket? Returns 1 and fills in *plan
 * if so. */
int shim_force_wanted(struct shim_force_plan *plan);

#endif
