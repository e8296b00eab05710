/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds, means and metrics; see experiment.h. */
#include "gpushare/sim/experiment.h"

#include <stdlib.h>
#include <string.h>

#include "gpushare/metrics/metrics.h"

#define NS_PER_MS 1e6

/* splitmix64: the same sequence on every machine, unlike rand(). */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static int by_time(const void *a, const void *b)
{
	const struct sim_arrival *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/* The file's order, by time; with a gap the i-th row arrives at i gaps. */
static void first_arrivals(const struct sim_experiment *x, struct sim_arrival *arrival)
{
	for (size_t i = 0; i < x->workload->count; i++)
		arrival[i] = (struct sim_arrival){
			.at_ns = x->has_gap ? i * x->gap_ns : x->workload->kernel[i].arrival_ns,
			.kernel = (uint32_t)i,
		};
	qsort(arrival, x->workload->count, sizeof(*arrival), by_time);
}

/* Fisher and Yates, over who arrives; the times stay. */
static void shuffle(struct sim_arrival *arrival, size_t n, uint64_t *state)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)(draw(state) % i);
		uint32_t kernel = arrival[i - 1].kernel;

		arrival[i - 1].kernel = arrival[j].kernel;
		arrival[j].kernel = kernel;
	}
}

/* What is gathered over the rounds. */
struct tally {
	struct sim_row *row;
	double *ntt;   /* of one round */
	double dntt, makespan, handovers;
	unsigned faults;
};

static void add_round(struct tally *t, const struct sim_run *run)
{
	const struct sim_workload *w = run->workload;
	uint64_t last = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct sim_outcome *o = &run->outcome[i];
		struct sim_row *r = &t->row[i];

		t->ntt[i] = gs_ntt((double)(o->finish_ns - o->arrival_ns),
				   (double)w->kernel[i].length_ns);
		r->arrival_ms += (double)o->arrival_ns / NS_PER_MS;
		r->start_ms += (double)o->start_ns / NS_PER_MS;
		r->finish_ms += (double)o->finish_ns / NS_PER_MS;
		r->waiting_ms += (double)o->waiting_ns / NS_PER_MS;
		r->preemptions += o->preemptions;
		r->ntt += t->ntt[i];
		if (o->finish_ns > last)
			last = o->finish_ns;
	}
	t->dntt += gs_dntt(t->ntt, w->count);
	t->makespan += (double)(last - run->arrival[0].at_ns) / NS_PER_MS;
	t->handovers += (double)run->handovers;
	t->faults += run->faults;
}

static int run_rounds(const struct sim_experiment *x, struct sim_run *run,
		      struct sim_arrival *arrival, struct tally *t, struct gs_error *err)
{
	uint64_t state = x->seed;

	for (unsigned round = 0; round < x->rounds; round++) {
		if (x->shuffle)
			shuffle(arrival, x->workload->count, &state);
		run->held = round == 0 ? x->held : NULL;
		if (sim_engine_run(run, err) < 0)
			return -1;
		add_round(t, run);
	}
	return 0;
}

static int summarize(const struct sim_experiment *x, const char *policy, struct tally *t,
		     struct sim_summary *s, struct gs_error *err)
{
	size_t n = x->workload->count;
	struct gs_sharing sharing;
	double *rate = malloc(n * sizeof(*rate)), *shares = malloc(n * sizeof(*shares));

	if (!rate || !shares) {
		free(rate);
		free(shares);
		return gs_fail(err, "no memory");
	}
	for (size_t i = 0; i < n; i++) {
		struct sim_row *r = &t->row[i];

		r->arrival_ms /= x->rounds;
		r->start_ms /= x->rounds;
		r->finish_ms /= x->rounds;
		r->waiting_ms /= x->rounds;
		r->preemptions /= x->rounds;
		r->ntt /= x->rounds;
		r->alone_ms = (double)x->workload->kernel[i].length_ns / NS_PER_MS;
		t->ntt[i] = r->ntt;
		shares[i] = x->workload->kernel[i].shares;
	}
	gs_sharing(t->ntt, shares, rate, n, &sharing);
	*s = (struct sim_summary){
		.policy = policy,
		.antt = sharing.antt,
		.dntt = t->dntt / x->rounds,
		.dntt_avg = sharing.dntt,
		.stp = sharing.stp,
		.jain = sharing.jain,
		.makespan_ms = t->makespan / x->rounds,
		.handovers = t->handovers / x->rounds,
		.faults = t->faults,
	};
	free(rate);
	free(shares);
	return 0;
}

int sim_experiment_run(const struct sim_experiment *x, const char *policy,
		       struct sim_row **rows, struct sim_summary *summary,
		       struct gs_error *err)
{
	size_t n = x->workload->count;
	struct sim_arrival *arrival = malloc(n * sizeof(*arrival));
	struct sim_outcome *outcome = malloc(n * sizeof(*outcome));
	struct tally t = { .row = calloc(n, sizeof(*t.row)), .ntt = malloc(n * sizeof(*t.ntt)) };
	struct sim_run run = {
		.workload = x->workload, .arrival = arrival, .policy = policy,
		.options = &x->options, .outcome = outcome, .arg = x->arg,
	};
	int rc = -1;

	if (!arrival || !outcome || !t.row || !t.ntt) {
		gs_fail(err, "no memory");
		goto out;
	}
	first_arrivals(x, arrival);
	if (run_rounds(x, &run, arrival, &t, err) < 0 ||
	    summarize(x, policy, &t, summary, err) < 0)
		goto out;
	*rows = t.row;
	t.row = NULL;
	rc = 0;
out:
	free(arrival);
	free(outcome);
	free(t.row);
	free(t.ntt);
	return rc;
}
