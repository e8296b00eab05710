/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One GPU in simulated time, under the daemon's own scheduler.
 *
 * A kernel runs for its alone time in all.  Told to leave, it does so at the
 * end of the block-task at hand; giving the GPU to another kernel than the
 * last one costs the hand-over, during which nothing runs.
 */
#ifndef GPUSHARE_SIM_ENGINE_H
#define GPUSHARE_SIM_ENGINE_H

#include "gpushare/sched/sched.h"
#include "gpushare/sim/order.h"
#include "gpushare/sim/rounds.h"
#include "gpushare/sim/workload.h"

struct sim_run {
	const struct sim_workload *workload;
	const struct sim_arrival *arrival; /* workload->count of them, in order of time */
	const char *policy;
	const struct gs_sched_options *options;
	struct sim_outcome *outcome;       /* by kernel number; filled */
	/* Told of every stretch of time that a kernel held the GPU; may be NULL. */
	void (*held)(void *arg, uint32_t kernel, uint64_t from_ns, uint64_t to_ns);
	void *arg;
	unsigned faults;                   /* filled: gs_sched_faults() */
	uint64_t handovers;                /* filled: how often the GPU changed hands */
};

/* Run until every kernel has finished.  Returns 0, or -1 with the reason. */
int sim_engine_run(struct sim_run *run, struct gs_error *err);

#endif
