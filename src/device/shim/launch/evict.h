/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent does for the launches that are out: it carries eviction signals to the GPU,
 * relaunches evicted kernels, and drops what a fault has ended. */
#ifndef GPUSHARE_SHIM_EVICT_H
#define GPUSHARE_SHIM_EVICT_H

#include "device/shim/launch/pool.h"

/* The agent's alone. */
struct shim_evictor {
	struct shim_session *session;
	struct shim_context *current; /* not its handle, which another may have got since */
	struct shim_context *in;      /* uses it, until it has looked at everything */
	int waits;                    /* an evicted kernel waits for its time slice */
	/* Resident limits to set, in one submission to a context's control stream. */
	CUstreamBatchMemOpParams limit[GS_PAGE_SLOTS];
	unsigned int nlimit;
	struct shim_context *limit_ctx;
};

/* One look at every launch that is out; how long the agent may sleep, ns. */
uint64_t shim_evictor_inspect(struct shim_evictor *e);

#endif
