/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From what became of the kernels in each round to means and metrics; one
 * arithmetic for the simulator and for live runs.
 */
#ifndef GPUSHARE_SIM_ROUNDS_H
#define GPUSHARE_SIM_ROUNDS_H

#include "gpushare/sim/workload.h"

/* What became of one kernel. */
struct sim_outcome {
	uint64_t arrival_ns, start_ns, finish_ns;
	uint64_t waiting_ns; /* turnaround less alone time */
	uint32_t preemptions;
};

/* Means over the rounds of one kernel, ms. */
struct sim_row {
	double arrival_ms, start_ms, finish_ms, alone_ms;
	double ntt, waiting_ms, preemptions;
};

/*
 * A policy's summary.  antt, dntt_avg, stp and jain are those of the kernels'
 * NTTs averaged over the rounds first (FRS, section VI-C); dntt is the mean
 * over the rounds of the DNTT within a round.  Jain's index is that of 1/NTT
 * over the shares.
 */
struct sim_summary {
	const char *policy;
	double antt, dntt, dntt_avg, stp, jain, makespan_ms;
	double handovers; /* per round */
	unsigned faults;
};

struct sim_rounds;

/*
 * The sums for this workload's kernels, whose alone time is sim_kernel_original(). NULL: no memory.
 */
struct sim_rounds *sim_rounds_create(const struct sim_workload *workload);
void sim_rounds_destroy(struct sim_rounds *rounds); /* NULL is fine */

/* outcome: by kernel number. */
void sim_rounds_add(struct sim_rounds *rounds, const struct sim_outcome *outcome,
		    uint64_t handovers, unsigned faults);

/*
 * After at least one round: the means, of which *row becomes the caller's
 * (free() it).  -1: no memory.  Once per object.
 */
int sim_rounds_finish(struct sim_rounds *rounds, const char *policy, struct sim_row **row,
		      struct sim_summary *summary);

#endif
