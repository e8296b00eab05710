/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One launch as the program asked for it, and its way to become evictable:
 * which kernels are worth it, and what their variant needs.
 */
#ifndef GPUSHARE_SHIM_REQUEST_H
#define GPUSHARE_SHIM_REQUEST_H

#include "device/shim/launch/pool.h"
#include "device/shim/variant/recipe.h"

struct shim_request {
	CUfunction f;
	unsigned int grid[3], block[3], shared;
	CUstream stream; /* explicit: never the ambiguous 0 of a _ptsz call */
	void **params, **extra;
	const CUlaunchConfig *config; /* cuLaunchKernelEx: with attributes */
	CUgraphExec graph;
	int cooperative;
	/* Of another call than those that take all of the above: it makes that call; and what it
	 * needs for that. */
	CUresult (*as_written)(const struct shim_request *r);
	const void *own;
	struct shim_time *time; /* the kernel's, in such blocks */
	uint64_t tasks; /* block-tasks; at least as many as there are SMs: fewer take as long */
};

/* A launch by the program, whatever it waits for; the driver's answer (launch.c). */
CUresult shim_launch(struct shim_request *r);

/* Blocks of its grid; of a graph 1. */
uint64_t shim_request_tasks(const struct shim_request *r);

/* What the making of a variant wants to know of it. */
struct shim_seen shim_request_seen(const struct shim_request *r);

/*
 * Fills in launch l and its slot.  Either it may be evicted: then it is packed, what its control
 * block needs is in l->as.write, and its stream is blocked (context/barrier.h).  Otherwise it goes
 * as written, and the slot says why, for the kernel's report.  l->in_barrier: the barrier is closed
 * for it, which the caller opens.
 */
void shim_request_prepare(struct shim_session *s, struct shim_launch *l, struct shim_context *c,
			  struct shim_kernel *k, const struct shim_request *r);

/*
 * Would a kernel with so much local memory of a thread make the context's grow, as far as is known?
 * A launch that does waits in the driver, with the driver's lock, for what runs: behind a held
 * kernel that is for ever, so it passes the barrier (context/barrier.h) and goes
 * out while nothing is held.
 */
static SHIM_INLINE int shim_request_grows(const struct shim_context *c, uint32_t local_bytes)
{
	return local_bytes > atomic_load_explicit(&c->local_bytes, memory_order_relaxed);
}

/* It has. */
void shim_request_grown(struct shim_context *c, uint32_t local_bytes);

/* How long an evictable launch takes to leave when told to, ns; 0: not known yet. */
uint64_t shim_request_leave_ns(const struct shim_launch *l);

#endif
