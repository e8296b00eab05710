/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Round after round in simulated time; see experiment.h. */
#include "gpushare/sim/experiment.h"

#include <stdlib.h>

static int run_rounds(const struct sim_experiment *x, struct sim_run *run,
		      struct sim_arrival *arrival, struct sim_rounds *rounds,
		      struct gs_error *err)
{
	uint64_t state;

	sim_order_first(&x->order, x->workload, arrival, &state);
	for (unsigned round = 0; round < x->rounds; round++) {
		sim_order_next(&x->order, arrival, x->workload->count, &state);
		run->held = round == 0 ? x->held : NULL;
		if (sim_engine_run(run, err) < 0)
			return -1;
		sim_rounds_add(rounds, run->outcome, run->handovers, run->faults);
	}
	return 0;
}

int sim_experiment_run(const struct sim_experiment *x, const char *policy,
		       struct sim_row **rows, struct sim_summary *summary,
		       struct gs_error *err)
{
	size_t n = x->workload->count;
	struct sim_arrival *arrival = malloc(n * sizeof(*arrival));
	struct sim_outcome *outcome = malloc(n * sizeof(*outcome));
	struct sim_rounds *rounds = sim_rounds_create(x->workload);
	struct sim_run run = {
		.workload = x->workload, .arrival = arrival, .policy = policy,
		.options = &x->options, .costs = &x->costs, .outcome = outcome, .arg = x->arg,
	};
	int rc = -1;

	if (!arrival || !outcome || !rounds)
		gs_fail(err, "no memory");
	else if (run_rounds(x, &run, arrival, rounds, err) == 0)
		rc = sim_rounds_finish(rounds, policy, rows, summary) < 0
			? gs_fail(err, "no memory") : 0;
	free(arrival);
	free(outcome);
	sim_rounds_destroy(rounds);
	return rc;
}
