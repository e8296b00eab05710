/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many GPUs and the jobs of a trace.  A job is one kernel of its length per
 * GPU that it has a part of.  It waits, first come first served, until a GPU has
 * as many shares left as it wants, and goes to the fullest such GPU; whole GPUs of
 * a job that wants several are taken as they become free.  On a GPU the policy
 * decides among the jobs.
 */
#ifndef GPUSHARE_SIM_CLUSTER_H
#define GPUSHARE_SIM_CLUSTER_H

#include "gpushare/sched/sched.h"
#include "gpushare/sim/engine.h"
#include "gpushare/sim/trace.h"

struct sim_cluster {
	const struct sim_trace *trace;
	struct gs_sched_options options;
	struct sim_costs costs;
	uint32_t gpus;
};

/* What became of a job, ns after the first submission. */
struct sim_job_outcome {
	uint64_t start_ns, finish_ns; /* of its first part, of its last */
	uint32_t preemptions, parts, parts_done;
};

struct sim_cluster_summary {
	const char *policy;
	double antt, dntt, stp, jain;
	double makespan_s, wait_s; /* wait: mean of submission to start */
	double busy;               /* part of the GPUs' time that a job held one */
	uint64_t handovers;
	size_t most_live; /* jobs on GPUs at once */
	unsigned faults;
};

/*
 * Play the trace.  outcome has room for trace->count, in the trace's order.
 * Returns 0, or -1 with the reason: a job that wants more GPUs than there are
 * is one.
 */
int sim_cluster_run(const struct sim_cluster *cluster, const char *policy,
		    struct sim_job_outcome *outcome, struct sim_cluster_summary *summary,
		    struct gs_error *err);

#endif
