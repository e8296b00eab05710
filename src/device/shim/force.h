/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evictions without a daemon, as gpushare-emu(1) asks for them: the process's
 * own agent takes the turn away and gives it back.  For trying out whether a
 * program survives them; where a daemon is named, it alone decides.
 */
#ifndef GPUSHARE_SHIM_FORCE_H
#define GPUSHARE_SHIM_FORCE_H

#include <stdint.h>

#include "device/shim/session.h"

struct shim_force {
	uint64_t period_ns; /* 0: nothing is evicted */
	uint64_t since_ns;  /* when something evictable was first seen on the GPU; 0: nothing is */
	int evicting;       /* the turn is taken back, not everybody has left */
};

/*
 * Is the process to be its own daemon?  1 and the period (ns, 0: never evict)
 * if GPUSHARE_FORCE_EVICT_MS says so and no daemon's socket is named.
 */
int shim_force_wanted(uint64_t *period_ns);

/*
 * The agent's thread only: takes the turn from kernels that have been on the
 * GPU for a period, and gives it back once they have left.  Shortens *nap_ns
 * to when it wants to be called again.
 */
void shim_force_step(struct shim_force *f, struct shim_session *s, uint64_t now, uint64_t *nap_ns);

#endif
