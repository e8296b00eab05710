/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Admission to one GPU's memory in simulated time, with the daemon's own RBDM
 * (RBDM, section 6).  An admitted kernel runs for its length beside
 * the others: only memory is short here.
 */
#ifndef GPUSHARE_SIM_MEMORY_H
#define GPUSHARE_SIM_MEMORY_H

#include <stdio.h>

#include "gpushare/memory/rbdm.h"
#include "gpushare/sim/workload.h"

struct sim_memory {
	const struct sim_workload *workload; /* memory_mb and priority must be above zero */
	struct gs_rbdm_options options; /* capacity in MB; priority_sum 0: of the distinct ones */
	uint64_t cycle_ns;              /* one reserve operation, above zero */
};

struct sim_admission {
	uint64_t rm_mb, operations;
	uint64_t ready_cycle;
	unsigned rank; /* of ready_cycle, equal ones share it, from 1 */
	uint64_t start_ns, finish_ns;
};

/*
 * Run it; admission[] has workload->count elements, in the file's order.  The
 * kernel arrives in the first cycle that begins at or after arrival_ms.
 * Returns 0, or -1 with the reason.
 */
int sim_memory_run(const struct sim_memory *memory, struct sim_admission *admission,
		   struct gs_error *err);

/* Summed response (start less arrival) and completion (finish less arrival), ms. */
void sim_memory_sums(const struct sim_workload *workload, const struct sim_admission *admission,
		     int32_t priority, unsigned *tasks, double *response_ms, double *completion_ms);

/* Rows, then sums per priority, highest first; as CSV or for people. */
void sim_memory_write_csv(FILE *out, const struct sim_workload *workload,
			  const struct sim_admission *admission);
void sim_memory_write_table(FILE *out, const struct sim_workload *workload,
			    const struct sim_admission *admission);

#endif
