/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a driver call waits for preemptible kernels that are out. Such a kernel may itself wait
 * for something that the program does only after the call.
 *
 * Without gpushare the call would have returned. So after some time the kernels that are out are no
 * longer evicted: they stay on the GPU until they end, evicted ones are relaunched first, and then
 * the call is made although they are out. What can go wrong then could go wrong without gpushare,
 * too.
 */
#ifndef GPUSHARE_SHIM_PATIENCE_H
#define GPUSHARE_SHIM_PATIENCE_H

#include <stdint.h>

struct shim_session;

/* One wait, on the stack of the waiting thread; all fields but the first two are 0 at first. */
struct shim_patience {
	_Atomic unsigned int *in_vain; /* how many such waits in a row were given up */
	uint64_t most_ns;              /* how long the first of them lasts */
	uint64_t waited_ns;
	uint64_t then; /* when waited_ns was last updated, ns; 0: not yet */
};

/* Call this repeatedly while waiting. Returns 1 if the call should be made now anyway. */
int shim_patience_ends(struct shim_patience *p, const struct shim_session *s);
/* The wait ended because the kernels ended. */
void shim_patience_rewarded(const struct shim_patience *p);

#endif
