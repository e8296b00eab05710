/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One GPU in simulated time, under the daemon's own scheduler.
 *
 * A kernel runs for its alone time in all.  Told to leave, it does so at the
 * end of the block-task at hand, or as the costs say; giving the GPU to another kernel than the
 * last one costs the hand-over, during which nothing runs.  What the scheduler takes a
 * hand-over to cost (its options) is another matter.
 *
 * sim_gpu is one GPU among many: whoever drives it keeps the clock.  Its memory
 * is linear in the kernels that are there.  sim_engine_run() drives one with
 * arrivals, and keeps none of them.
 */
#ifndef GPUSHARE_SIM_ENGINE_H
#define GPUSHARE_SIM_ENGINE_H

#include "gpushare/sched/sched.h"
#include "gpushare/sim/order.h"
#include "gpushare/sim/rounds.h"
#include "gpushare/sim/workload.h"

struct sim_gpu;

/*
 * The cost of a hand-over, ns. On a real GPU it depends on how the GPU became free: an eviction is
 * prepared, an end is only seen by polling.
 */
struct sim_costs {
	uint64_t ended_ns;   /* a kernel has finished, another gets the GPU */
	uint64_t evicted_ns; /* a kernel has been evicted, another gets the GPU */
	uint64_t first_ns;   /* nobody has had the GPU before */
	/*
	 * The same for a kernel that was evicted and goes on: its thread is awake and its launch is
	 * prepared. Only if `apart`; otherwise both cost alike.
	 */
	int apart;
	uint64_t ended_back_ns, evicted_back_ns;
	/*
	 * For kernels that do not say how long they keep the GPU busy (gpu_ns): the part of their
	 * length that they do not, which is the launch. It is paid where there is no hand-over, as
	 * a hand-over covers it.
	 */
	uint64_t launch_ns;
	/*
	 * How long a kernel takes to leave after it was told to, and computes meanwhile; 0: until
	 * the end of its block-task.
	 */
	uint64_t leave_ns;
};

/* The same cost for every kind of hand-over, none for the first kernel and for launches. */
struct sim_costs sim_costs_of(uint64_t handover_ns);

/* What the driver of a GPU is told; `kernel` is its own number.  held may be NULL. */
struct sim_hooks {
	void (*finished)(void *arg, uint32_t kernel, const struct sim_outcome *outcome);
	void (*held)(void *arg, uint32_t kernel, uint64_t from_ns, uint64_t to_ns);
	void *arg;
};

/* NULL with the reason: unknown policy, bad options, no memory.  The hooks outlive it. */
struct sim_gpu *sim_gpu_create(const char *policy, const struct gs_sched_options *options,
			       const struct sim_costs *costs, const struct sim_hooks *hooks,
			       struct gs_error *err);
void sim_gpu_destroy(struct sim_gpu *gpu); /* NULL is fine */

/* A kernel arrives now; *what need not outlive the call.  -1: no memory. */
int sim_gpu_arrive(struct sim_gpu *gpu, uint32_t kernel, const struct sim_kernel *what,
		   uint64_t now, struct gs_error *err);

/* Do what is due at `now`, not before the last one, and decide; after arrivals, too. */
void sim_gpu_step(struct sim_gpu *gpu, uint64_t now);

/* When it must be stepped next; UINT64_MAX: when something arrives. */
uint64_t sim_gpu_next(const struct sim_gpu *gpu);

size_t sim_gpu_live(const struct sim_gpu *gpu);
uint64_t sim_gpu_handovers(const struct sim_gpu *gpu); /* how often it changed hands */
uint64_t sim_gpu_busy_ns(const struct sim_gpu *gpu);   /* a kernel held it, so far */
unsigned sim_gpu_faults(const struct sim_gpu *gpu);    /* gs_sched_faults() */

struct sim_run {
	const char *policy;
	const struct gs_sched_options *options;
	const struct sim_costs *costs;
	/*
	 * The next arrival, in order of time, and the kernel, until the next call:
	 * 1; 0: no more; -1 with the reason.
	 */
	int (*next)(void *arg, struct sim_arrival *arrival, const struct sim_kernel **kernel,
		    struct gs_error *err);
	void (*finished)(void *arg, uint32_t kernel, const struct sim_outcome *outcome);
	/* Told of every stretch of time that a kernel held the GPU; may be NULL. */
	void (*held)(void *arg, uint32_t kernel, uint64_t from_ns, uint64_t to_ns);
	void *arg;
	unsigned faults;    /* filled: gs_sched_faults() */
	uint64_t handovers; /* filled: how often the GPU changed hands */
};

/* Run until every kernel has finished.  Returns 0, or -1 with the reason. */
int sim_engine_run(struct sim_run *run, struct gs_error *err);

#endif
