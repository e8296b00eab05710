/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent does for the launches that are out: it carries eviction signals to the GPU,
 * relaunches evicted kernels, and drops launches that a fault has ended. */
#ifndef GPUSHARE_SHIM_EVICT_H
#define GPUSHARE_SHIM_EVICT_H

#include "device/shim/launch/pool.h"

/* Used by the agent's thread only. */
struct shim_evictor {
	struct shim_session *session;
	/* a pointer of ours, since another context may have got its handle */
	struct shim_context *current;
	/* context in use (shim_context_use) until the inspection ends */
	struct shim_context *in;
	int waits; /* an evicted kernel waits for its time slice */
	/* Eviction signals to write, in one submission to a context's control stream. */
	CUstreamBatchMemOpParams limit[GS_PAGE_SLOTS];
	unsigned int nlimit;
	struct shim_context *limit_ctx;
};

/* Inspects every launch that is out and does what it needs. Returns how long the agent may sleep,
 * ns. */
uint64_t shim_evictor_inspect(struct shim_evictor *e);

#endif
