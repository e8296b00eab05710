/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A launch as the program requested it, and how it becomes evictable: which kernels are worth it,
 * and what their variant needs. */
#ifndef GPUSHARE_SHIM_REQUEST_H
#define GPUSHARE_SHIM_REQUEST_H

#include "device/shim/launch/pool.h"
#include "device/shim/variant/recipe.h"

struct shim_request {
	CUfunction f;
	unsigned int grid[3], block[3], shared;
	CUstream stream; /* never the ambiguous 0 of a _ptsz call */
	void **params, **extra;
	const CUlaunchConfig *config; /* cuLaunchKernelEx with attributes; else NULL */
	CUgraphExec graph;
	int cooperative;
	/* For a call that does not take all of the above: makes that call with `own`, its own
	 * arguments. */
	CUresult (*as_written)(const struct shim_request *r);
	const void *own;
	struct shim_time *time; /* what is known of the kernel's time with these block dimensions */
	uint32_t priority;      /* as in gs_priorities.of_slot[] */
	uint64_t tasks; /* block-tasks, but at least the number of SMs, since fewer take as long */
};

/* Launches what the program requested, waiting for whatever it must; returns the driver's answer
 * (launch.c). */
CUresult shim_launch(struct shim_request *r);

/* Finds the driver's cuLaunchKernel again after it has been replaced (base/counted.h). */
void shim_launch_find_again(void);

/* The blocks of its grid; 1 for a graph. */
uint64_t shim_request_tasks(const struct shim_request *r);

/* What building a variant needs to know of the launch. */
struct shim_seen shim_request_seen(const struct shim_request *r);

/*
 * Fills in launch l and its slot. Either the launch is evictable: then its parameters are packed,
 * l->as.write has what its control block needs, and its stream is blocked (context/barrier.h). Or
 * it goes out as written, and the slot says why, for the kernel's report. If l->in_barrier is set,
 * the barrier is closed for the launch, and the caller must open it.
 */
void shim_request_prepare(struct shim_session *s, struct shim_launch *l, struct shim_context *c,
			  struct shim_kernel *k, const struct shim_request *r);

/*
 * Would a kernel with this much local memory per thread, bytes, make the context's local memory
 * grow, as far as is known? Such a launch waits in the driver, with the driver's lock, for
 * everything that runs. Behind an evicted kernel it would wait for ever, so it passes the barrier
 * (context/barrier.h) and goes out while no preemptible kernel is out.
 */
static SHIM_INLINE int shim_request_grows(const struct shim_context *c, uint32_t local_bytes)
{
	return local_bytes > atomic_load_explicit(&c->local_bytes, memory_order_relaxed);
}

/* The context's local memory has grown to this much per thread, bytes. */
void shim_request_grown(struct shim_context *c, uint32_t local_bytes);

/* How long an evictable launch takes to leave when told to, ns; 0: not known yet. */
uint64_t shim_request_leave_ns(const struct shim_launch *l);

#endif
