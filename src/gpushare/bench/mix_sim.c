/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the GPU did between the programs of a mix, and the same mix in the
 * simulator: with gpushared's own settings, its own idea of a hand-over and of each kernel, and
 * with hand-overs, evictions, launches and time on the GPU as they were seen.
 */
#define _GNU_SOURCE
#include "gpushare/bench/mix.h"

#include <stdlib.h>
#include <string.h>

#include "gpushare/metrics/metrics.h"

static int by_begin(const void *a, const void *b)
{
	const struct gs_span *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static void add(struct mix_gaps *gaps, enum mix_gap kind, uint64_t from_ns, uint64_t to_ns)
{
	if (gaps->count[kind] < MIX_GAPS_MAX)
		gaps->ns[kind][gaps->count[kind]++] =
			to_ns > from_ns ? (double)(to_ns - from_ns) : 0;
}

static enum mix_gap kind_of(int evicted, int back)
{
	if (back)
		return evicted ? MIX_EVICTED_BACK : MIX_ENDED_BACK;
	return evicted ? MIX_EVICTED : MIX_ENDED;
}

/*
 * The next program began while the last one was leaving. The time counts half for each, or the GPU
 * would seem to have had more of it than passed.
 */
static void share(struct mix_gaps *gaps, const struct gs_span *from, const struct gs_span *to,
		  int evicted)
{
	uint64_t end = from->to_ns < to->to_ns ? from->to_ns : to->to_ns;
	double half = end > to->from_ns ? (double)(end - to->from_ns) / 2 : 0;

	gaps->busy_ns[from->lane] -= half;
	gaps->busy_ns[to->lane] -= half;
	if (evicted) {
		gaps->beside_ns += half;
		gaps->evictions++;
	}
}

void mix_gaps_find(const struct mix *m, struct gs_span *span, size_t count, int exclusive,
		   struct mix_gaps *gaps)
{
	uint64_t end[BENCH_PROGRAMS_MAX] = { 0 }, began[BENCH_PROGRAMS_MAX] = { 0 };
	const struct bench_slot *slot = m->workers.page->slot;

	if (!count)
		return;
	qsort(span, count, sizeof(*span), by_begin);
	for (size_t i = 0; i < count; i++) {
		const struct gs_span *s = &span[i];

		gaps->busy_ns[s->lane] += (double)(s->to_ns - s->from_ns);
		if (!began[s->lane])
			began[s->lane] = s->from_ns;
		if (s->to_ns > end[s->lane])
			end[s->lane] = s->to_ns;
	}
	gaps->rounds++;
	add(gaps, MIX_FIRST, slot[span[0].lane].sample[0].release_ns, span[0].from_ns);
	for (size_t i = 1; i < count; i++) {
		const struct gs_span *from = &span[i - 1], *to = &span[i];

		if (from->lane == to->lane)
			continue;
		gaps->handovers++;
		if (exclusive)
			share(gaps, from, to, from->to_ns < end[from->lane]);
		if (slot[to->lane].sample[0].release_ns >= from->to_ns ||
		    (!exclusive && to->from_ns <= from->to_ns))
			continue;
		add(gaps, kind_of(from->to_ns < end[from->lane], began[to->lane] < to->from_ns),
		    from->to_ns, to->from_ns);
	}
}

/*
 * What an eviction costs the GPU: the time that gpushared says, less what the next program already
 * used of it.
 */
static uint64_t leave_ns(const struct mix_gaps *gaps)
{
	double beside = gaps->evictions ? gaps->beside_ns / (double)gaps->evictions : 0;

	return (double)gaps->leave_ns > beside ? (uint64_t)((double)gaps->leave_ns - beside) :
						 gaps->leave_ns != 0;
}

/* The median hand-over from one program to another, ns; 0: none was seen. */
static uint64_t median(const struct mix_gaps *gaps)
{
	double *all = malloc(MIX_FIRST * MIX_GAPS_MAX * sizeof(*all)), q;
	size_t n = 0;

	for (size_t kind = 0; all && kind < MIX_FIRST; kind++)
		for (size_t i = 0; i < gaps->count[kind]; i++)
			all[n++] = gaps->ns[kind][i];
	q = all ? gs_quantile(all, n, 0.5) : 0;
	free(all);
	return (uint64_t)q;
}

/*
 * The mean hand-over of this kind, for the simulator. Sums of times follow the mean, and one hand-
 * over in ten takes 1.7 times the median, so the median would be too short.
 */
static uint64_t mean(const struct mix_gaps *gaps, enum mix_gap kind)
{
	double sum = 0;

	for (size_t i = 0; i < gaps->count[kind]; i++)
		sum += gaps->ns[kind][i];
	return gaps->count[kind] ? (uint64_t)(sum / (double)gaps->count[kind]) : 0;
}

int mix_gaps_request(const struct mix *m, struct mix_gaps *gaps, struct gs_error *err)
{
	uint64_t alone_ns[BENCH_PROGRAMS_MAX];
	struct bench_status is;

	if (bench_status_request(&m->common.stage, &is, err) < 0 ||
	    bench_predicted_request(&m->workers, alone_ns, err) < 0)
		return -1;
	if (gaps->beliefs < MIX_REQUESTED_MAX) {
		struct mix_belief *b = &gaps->belief[gaps->beliefs++];

		b->handover_ns = is.handover_ns;
		memcpy(b->alone_ns, alone_ns, sizeof(b->alone_ns));
	}
	gaps->leave_ns = is.leave_ns;
	return 0;
}

static void keep_beliefs(const struct mix *m, const struct mix_gaps *gaps, struct mix_result *r)
{
	double ns[MIX_REQUESTED_MAX];

	memcpy(r->belief, gaps->belief, sizeof(r->belief));
	r->beliefs = gaps->beliefs;
	for (size_t b = 0; b < gaps->beliefs; b++)
		ns[b] = (double)gaps->belief[b].handover_ns;
	if (gaps->beliefs)
		r->taken_ns = (uint64_t)gs_quantile(ns, gaps->beliefs, 0.5);
	for (size_t i = 0; i < m->workload.count; i++) {
		uint64_t sum = 0, known = 0;

		for (size_t b = 0; b < gaps->beliefs; b++) {
			sum += gaps->belief[b].alone_ns[i];
			known += gaps->belief[b].alone_ns[i] != 0;
		}
		r->told_ns[i] = known ? sum / known : 0;
	}
}

void mix_gaps_result(const struct mix *m, struct mix_gaps *gaps, struct mix_result *r)
{
	r->handover_ns = median(gaps);
	r->costs = (struct sim_costs) {
		.ended_ns = mean(gaps, MIX_ENDED),
		.evicted_ns = mean(gaps, MIX_EVICTED),
		.first_ns = mean(gaps, MIX_FIRST),
		.apart = 1,
		.ended_back_ns = mean(gaps, MIX_ENDED_BACK),
		.evicted_back_ns = mean(gaps, MIX_EVICTED_BACK),
		.leave_ns = leave_ns(gaps),
	};
	keep_beliefs(m, gaps, r);
	/* A kind of hand-over that was not seen in these rounds counts as much as the others. */
	if (!gaps->count[MIX_ENDED])
		r->costs.ended_ns = r->handover_ns;
	if (!gaps->count[MIX_EVICTED])
		r->costs.evicted_ns = r->handover_ns;
	if (!gaps->count[MIX_ENDED_BACK])
		r->costs.ended_back_ns = r->costs.ended_ns;
	if (!gaps->count[MIX_EVICTED_BACK])
		r->costs.evicted_back_ns = r->costs.evicted_ns;
	for (size_t i = 0; i < m->workload.count && gaps->rounds; i++)
		r->gpu_ns[i] = (uint64_t)(gaps->busy_ns[i] / gaps->rounds);
}

/*
 * What gpushared believes changes from round to round, and with it which kernels are let finish:
 * with its beliefs in the mean a kernel would be let finish in all rounds or in none.
 */
int mix_simulate(struct mix *m, struct mix_result *r, struct gs_error *err)
{
	struct sim_belief belief[MIX_REQUESTED_MAX];
	struct sim_experiment x = {
		.workload = &m->workload,
		.order = m->order,
		.rounds = r->rounds,
		.costs = r->costs,
		.belief = belief,
		.beliefs = m->has_handover ? 0 : r->beliefs,
	};
	struct sim_row *row;

	for (size_t b = 0; b < r->beliefs; b++)
		belief[b] = (struct sim_belief) { r->belief[b].handover_ns, r->belief[b].alone_ns };
	if (bench_stage_sched_options(&m->common.stage, &x.options, err) < 0)
		return -1;
	/*
	 * The configuration says where learning begins; the shortest quanta follow what gpushared
	 * has learned since.
	 */
	x.options.handover_ns = r->taken_ns;
	if (m->has_handover)
		x.costs = sim_costs_of(m->handover_ns);
	for (size_t i = 0; i < m->workload.count; i++) {
		m->workload.kernel[i].gpu_ns = m->has_handover ? 0 : r->gpu_ns[i];
		m->workload.kernel[i].told_ns = m->has_handover ? 0 : r->told_ns[i];
	}
	if (sim_experiment_run(&x, r->way.policy, &row, &r->sim, err) < 0)
		return -1;
	free(row);
	r->has_sim = 1;
	return 0;
}
