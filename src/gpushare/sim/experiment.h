/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One workload under one policy, for one or more rounds, and its metrics.
 * With a seed the rounds are the same for every policy.
 */
#ifndef GPUSHARE_SIM_EXPERIMENT_H
#define GPUSHARE_SIM_EXPERIMENT_H

#include "gpushare/sim/engine.h"
#include "gpushare/sim/rounds.h"

/* What the scheduler believed in one round. */
struct sim_belief {
	uint64_t handover_ns;     /* of a hand-over */
	const uint64_t *alone_ns; /* of each kernel alone, by its number; 0: as the workload says */
};

struct sim_experiment {
	const struct sim_workload *workload;
	struct gs_sched_options options;
	struct sim_costs costs;
	struct sim_order order;
	unsigned rounds; /* at least 1 */
	/* Each for as many rounds in turn. None: always options.handover_ns and what the workload
	 * says. */
	const struct sim_belief *belief;
	size_t beliefs;
	/* Told of the first round's stretches; may be NULL. */
	void (*held)(void *arg, uint32_t kernel, uint64_t from_ns, uint64_t to_ns);
	void *arg;
};

/*
 * Run it.  *rows gets one row per kernel in the file's order (free() it).
 * Returns 0, or -1 with the reason.
 */
int sim_experiment_run(const struct sim_experiment *experiment, const char *policy,
		       struct sim_row **rows, struct sim_summary *summary, struct gs_error *err);

#endif
