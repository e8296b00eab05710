/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Round after round in simulated time; see experiment.h. */
#include "gpushare/sim/experiment.h"

#include <stdlib.h>

/* What a run's hooks know. */
struct play {
	const struct sim_experiment *x;
	struct sim_arrival *arrival; /* x->workload->count of them, in order of time */
	struct sim_outcome *outcome; /* by kernel number */
	size_t next;                 /* arrival to come */
	const struct sim_belief *belief;
	struct sim_kernel kernel; /* the last one that arrived, as the scheduler knows it */
};

static int next(void *arg, struct sim_arrival *arrival, const struct sim_kernel **kernel,
		struct gs_error *err)
{
	struct play *p = arg;

	(void)err;
	if (p->next == p->x->workload->count)
		return 0;
	*arrival = p->arrival[p->next++];
	p->kernel = p->x->workload->kernel[arrival->kernel];
	if (p->belief && p->belief->alone_ns[arrival->kernel])
		p->kernel.told_ns = p->belief->alone_ns[arrival->kernel];
	*kernel = &p->kernel;
	return 1;
}

static void finished(void *arg, uint32_t kernel, const struct sim_outcome *outcome)
{
	struct play *p = arg;

	p->outcome[kernel] = *outcome;
}

static void held(void *arg, uint32_t kernel, uint64_t from_ns, uint64_t to_ns)
{
	struct play *p = arg;

	p->x->held(p->x->arg, kernel, from_ns, to_ns);
}

static int run_rounds(struct play *p, const char *policy, struct sim_rounds *rounds,
		      struct gs_error *err)
{
	const struct sim_experiment *x = p->x;
	struct gs_sched_options options = x->options;
	struct sim_run run = {
		.policy = policy,
		.options = &options,
		.costs = &x->costs,
		.next = next,
		.finished = finished,
		.arg = p,
	};
	uint64_t state;

	sim_order_first(&x->order, x->workload, p->arrival, &state);
	for (unsigned round = 0; round < x->rounds; round++) {
		sim_order_next(&x->order, p->arrival, x->workload->count, &state);
		p->next = 0;
		if (x->beliefs) {
			p->belief = &x->belief[round * x->beliefs / x->rounds];
			options.handover_ns = p->belief->handover_ns;
		}
		run.held = round == 0 && x->held ? held : NULL;
		if (sim_engine_run(&run, err) < 0)
			return -1;
		sim_rounds_add(rounds, p->outcome, run.handovers, run.faults);
	}
	return 0;
}

int sim_experiment_run(const struct sim_experiment *x, const char *policy, struct sim_row **rows,
		       struct sim_summary *summary, struct gs_error *err)
{
	size_t n = x->workload->count;
	struct sim_rounds *rounds = sim_rounds_create(x->workload);
	struct play p = {
		.x = x,
		.arrival = malloc(n * sizeof(*p.arrival)),
		.outcome = malloc(n * sizeof(*p.outcome)),
	};
	int rc = -1;

	if (!p.arrival || !p.outcome || !rounds)
		gs_fail(err, "no memory");
	else if (sim_order_check(&x->order, n, err) == 0 &&
		 run_rounds(&p, policy, rounds, err) == 0)
		rc = sim_rounds_finish(rounds, policy, rows, summary) < 0 ?
			     gs_fail(err, "no memory") :
			     0;
	free(p.arrival);
	free(p.outcome);
	sim_rounds_destroy(rounds);
	return rc;
}
