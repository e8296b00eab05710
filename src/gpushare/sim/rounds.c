/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over rounds; see rounds.h. */
#include "gpushare/sim/rounds.h"

#include <stdlib.h>

#include "gpushare/metrics/metrics.h"

#define NS_PER_MS 1e6

struct sim_rounds {
	const struct sim_workload *workload;
	struct sim_row *row;
	double *ntt; /* of one round */
	double dntt, makespan, handovers;
	unsigned rounds, faults;
};

struct sim_rounds *sim_rounds_create(const struct sim_workload *workload)
{
	struct sim_rounds *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->workload = workload;
	r->row = calloc(workload->count, sizeof(*r->row));
	r->ntt = malloc(workload->count * sizeof(*r->ntt));
	if (!r->row || !r->ntt) {
		sim_rounds_destroy(r);
		return NULL;
	}
	return r;
}

void sim_rounds_destroy(struct sim_rounds *rounds)
{
	if (!rounds)
		return;
	free(rounds->row);
	free(rounds->ntt);
	free(rounds);
}

/* One more round of a kernel that takes alone_ns alone: into the sums of its row.  Its NTT. */
static double add_round(struct sim_row *row, const struct sim_outcome *o, uint64_t alone_ns)
{
	double ntt = gs_ntt((double)(o->finish_ns - o->arrival_ns), (double)alone_ns);

	row->arrival_ms += (double)o->arrival_ns / NS_PER_MS;
	row->start_ms += (double)o->start_ns / NS_PER_MS;
	row->finish_ms += (double)o->finish_ns / NS_PER_MS;
	row->waiting_ms += (double)o->waiting_ns / NS_PER_MS;
	row->preemptions += o->preemptions;
	row->ntt += ntt;
	row->alone_ms = (double)alone_ns / NS_PER_MS;
	return ntt;
}

void sim_rounds_add(struct sim_rounds *r, const struct sim_outcome *outcome, uint64_t handovers,
		    unsigned faults)
{
	const struct sim_workload *w = r->workload;
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < w->count; i++) {
		const struct sim_outcome *o = &outcome[i];

		r->ntt[i] = add_round(&r->row[i], o, sim_kernel_original(&w->kernel[i]));
		if (o->finish_ns > last)
			last = o->finish_ns;
		if (o->arrival_ns < first)
			first = o->arrival_ns;
	}
	r->dntt += gs_dntt(r->ntt, w->count);
	r->makespan += (double)(last - first) / NS_PER_MS;
	r->handovers += (double)handovers;
	r->faults += faults;
	r->rounds++;
}

int sim_rounds_finish(struct sim_rounds *r, const char *policy, struct sim_row **rows,
		      struct sim_summary *s)
{
	size_t n = r->workload->count;
	struct gs_sharing sharing;
	double *shares = malloc(n * sizeof(*shares));

	if (!shares)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct sim_row *row = &r->row[i];

		row->arrival_ms /= r->rounds;
		row->start_ms /= r->rounds;
		row->finish_ms /= r->rounds;
		row->waiting_ms /= r->rounds;
		row->preemptions /= r->rounds;
		row->ntt /= r->rounds;
		r->ntt[i] = row->ntt;
		shares[i] = r->workload->kernel[i].shares;
	}
	gs_sharing(r->ntt, shares, n, &sharing);
	*s = (struct sim_summary) {
		.policy = policy,
		.antt = sharing.antt,
		.dntt = r->dntt / r->rounds,
		.dntt_avg = sharing.dntt,
		.stp = sharing.stp,
		.jain = sharing.jain,
		.makespan_ms = r->makespan / r->rounds,
		.handovers = r->handovers / r->rounds,
		.faults = r->faults,
	};
	free(shares);
	*rows = r->row;
	r->row = NULL;
	return 0;
}
