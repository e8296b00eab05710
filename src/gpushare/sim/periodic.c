/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Periodic kernels; see periodic.h. */
#include "gpushare/sim/periodic.h"

#include <stdlib.h>
#include <string.h>

#define NEVER UINT64_MAX

struct play {
	const struct sim_periodic *x;
	uint64_t *next_ns; /* of each kernel, when it arrives next; NEVER: not again */
	uint64_t *last_end_ns;
	struct gs_timing *timing;
};

/* Arrivals within the time, of which each kernel may have one already. */
static uint64_t jobs_of(const struct sim_kernel *k, uint64_t until_ns)
{
	if (k->arrival_ns >= until_ns)
		return 0;
	return k->period_ns ? (until_ns - 1 - k->arrival_ns) / k->period_ns + 1 : 1;
}

static int check(const struct sim_periodic *x, struct gs_error *err)
{
	uint64_t jobs = 0;

	if (x->workload->count > SIM_PERIODIC_KERNELS_MAX)
		return gs_fail(err, "%zu kernels: with --until at most %d", x->workload->count,
			       SIM_PERIODIC_KERNELS_MAX);
	for (size_t i = 0; i < x->workload->count; i++) {
		jobs += jobs_of(&x->workload->kernel[i], x->until_ns);
		if (jobs > SIM_PERIODIC_JOBS_MAX)
			return gs_fail(err,
				       "more than %d arrivals: --until is too late for such short "
				       "periods",
				       SIM_PERIODIC_JOBS_MAX);
	}
	return 0;
}

/* The kernel that arrives first; of several the first in the file. */
static int next(void *arg, struct sim_arrival *arrival, const struct sim_kernel **kernel,
		struct gs_error *err)
{
	struct play *p = arg;
	const struct sim_workload *w = p->x->workload;
	size_t first = 0;

	(void)err;
	for (size_t i = 1; i < w->count; i++)
		if (p->next_ns[i] < p->next_ns[first])
			first = i;
	if (p->next_ns[first] >= p->x->until_ns)
		return 0;
	*kernel = &w->kernel[first];
	*arrival = (struct sim_arrival) { p->next_ns[first], (uint32_t)first };
	p->next_ns[first] = (*kernel)->period_ns ? p->next_ns[first] + (*kernel)->period_ns : NEVER;
	return 1;
}

static void finished(void *arg, uint32_t kernel, const struct sim_outcome *outcome)
{
	struct play *p = arg;
	const struct sim_kernel *k = &p->x->workload->kernel[kernel];
	const struct gs_timing_job job = {
		.arrival_ns = outcome->arrival_ns,
		.end_ns = outcome->finish_ns,
		.last_end_ns = p->last_end_ns[kernel],
		.occupying_ns = outcome->finish_ns - outcome->arrival_ns - outcome->waiting_ns,
		.period_ns = k->period_ns,
		.deadline_ns = k->deadline_ns,
	};

	gs_timing_add(&p->timing[kernel], &job);
	p->last_end_ns[kernel] = outcome->finish_ns;
}

static void summarise(struct play *p, const struct sim_run *run, struct sim_periodic_summary *s)
{
	*s = (struct sim_periodic_summary) {
		.policy = run->policy,
		.handovers = run->handovers,
		.faults = run->faults,
	};
	for (size_t i = 0; i < p->x->workload->count; i++) {
		s->jobs += p->timing[i].jobs;
		s->missed += p->timing[i].missed;
	}
}

int sim_periodic_run(const struct sim_periodic *x, const char *policy, struct gs_timing *timing,
		     struct sim_periodic_summary *summary, struct gs_error *err)
{
	size_t n = x->workload->count;
	struct play p = { .x = x, .timing = timing };
	struct sim_run run = {
		.policy = policy,
		.options = &x->options,
		.costs = &x->costs,
		.next = next,
		.finished = finished,
		.arg = &p,
	};
	int rc;

	if (check(x, err) < 0)
		return -1;
	p.next_ns = calloc(2 * n, sizeof(*p.next_ns));
	if (!p.next_ns)
		return gs_fail(err, "no memory");
	p.last_end_ns = p.next_ns + n;
	for (size_t i = 0; i < n; i++)
		p.next_ns[i] = x->workload->kernel[i].arrival_ns;
	memset(timing, 0, n * sizeof(*timing));
	rc = sim_engine_run(&run, err);
	if (rc == 0)
		summarise(&p, &run, summary);
	free(p.next_ns);
	return rc;
}
