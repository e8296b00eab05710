/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One workload under one policy, for one or more rounds, and its metrics.
 * With a seed the rounds are the same for every policy.
 */
#ifndef GPUSHARE_SIM_EXPERIMENT_H
#define GPUSHARE_SIM_EXPERIMENT_H

#include "gpushare/sim/engine.h"

struct sim_experiment {
	const struct sim_workload *workload;
	struct gs_sched_options options;
	uint64_t seed;
	uint64_t gap_ns; /* arrivals this far apart, if has_gap; else the file's */
	int has_gap;
	int shuffle;     /* which kernel arrives when is drawn anew for every round */
	unsigned rounds; /* at least 1 */
	/* Told of the first round's stretches; may be NULL. */
	void (*held)(void *arg, uint32_t kernel, uint64_t from_ns, uint64_t to_ns);
	void *arg;
};

/* Means over the rounds of one kernel, ms. */
struct sim_row {
	double arrival_ms, start_ms, finish_ms, alone_ms;
	double ntt, waiting_ms, preemptions;
};

/*
 * A policy's summary.  antt, dntt_avg, stp and jain are those of the kernels'
 * NTTs averaged over the rounds first (seed 004, section VI-C); dntt is the mean
 * over the rounds of the DNTT within a round.  Jain's index is that of 1/NTT
 * over the shares.
 */
struct sim_summary {
	const char *policy;
	double antt, dntt, dntt_avg, stp, jain, makespan_ms;
	double handovers; /* per round */
	unsigned faults;
};

/*
 * Run it.  *rows gets one row per kernel in the file's order (free() it).
 * Returns 0, or -1 with the reason.
 */
int sim_experiment_run(const struct sim_experiment *experiment, const char *policy,
		       struct sim_row **rows, struct sim_summary *summary,
		       struct gs_error *err);

#endif
