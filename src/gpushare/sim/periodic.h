/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels that come again and again, on one GPU in simulated time: how punctual each is. A kernel
 * with a period arrives at arrival_ns and then every period, one without it once. Each arrival is a
 * job of its own, whether the one before has ended or not.
 */
#ifndef GPUSHARE_SIM_PERIODIC_H
#define GPUSHARE_SIM_PERIODIC_H

#include "gpushare/metrics/timing.h"
#include "gpushare/sim/engine.h"

#define SIM_PERIODIC_KERNELS_MAX 1000
#define SIM_PERIODIC_JOBS_MAX 10000000

struct sim_periodic {
	const struct sim_workload *workload;
	struct gs_sched_options options;
	struct sim_costs costs;
	uint64_t until_ns; /* nothing arrives from then on; what is there is finished */
};

struct sim_periodic_summary {
	const char *policy;
	uint64_t jobs, missed, handovers;
	unsigned faults;
};

/*
 * Plays it. timing[workload->count], which the caller owns, is set to what each kernel's jobs had.
 * Returns 0, or -1 with the reason: more kernels or jobs than the limits above, an unknown policy,
 * no memory.
 */
int sim_periodic_run(const struct sim_periodic *periodic, const char *policy,
		     struct gs_timing *timing, struct sim_periodic_summary *summary,
		     struct gs_error *err);

#endif
