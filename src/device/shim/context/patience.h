/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a call waits for held kernels, which may wait themselves for what the program does after
 * it.
 *
 * Without us the call would have gone on.  So after some time what is held is not evicted any more:
 * it stays on the GPU until it ends, what is away comes back first, and the call goes on all the
 * same; what may go wrong then may without us, too.
 */
#ifndef GPUSHARE_SHIM_PATIENCE_H
#define GPUSHARE_SHIM_PATIENCE_H

#include <stdint.h>

struct shim_session;

/* One wait, on its caller's stack: all but the first is 0 at first. */
struct shim_patience {
	_Atomic unsigned int *in_vain; /* such waits that nothing came of, one after the other */
	uint64_t waited_ns;
	uint64_t then; /* when that was so far; 0: it has not begun */
};

/* Again and again while waiting: 1 if the call is to go on all the same. */
int shim_patience_ends(struct shim_patience *p, const struct shim_session *s);
/* The wait is over in another way. */
void shim_patience_rewarded(const struct shim_patience *p);

#endif
