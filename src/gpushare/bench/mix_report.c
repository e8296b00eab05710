/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-bench mix found: a table, CSV, SVG and trace events; see mix.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mix.h"

#include <stdlib.h>

static const struct gs_span_kind computes = { .colour = "#4f81bd", .owns = 1 };

static double makespan_per_sum(const struct mix *m, const struct mix_result *r)
{
	return r->live.makespan_ms * 1e6 / (double)m->sum_ns;
}

/* How far live is from the simulator, in percent of the latter. */
static double off(double live, double sim)
{
	return sim > 0 ? (live / sim - 1) * 100 : 0;
}

void mix_print(const struct mix *m, const struct mix_result *result, size_t count)
{
	printf("%s, CUDA driver %s: %zu programs, %.2f ms in all, %u rounds; block-tasks of %.1f us\n\n"
	       "%-9s %-7s %7s %7s %7s %7s %7s %9s %7s %9s   against the simulator, %%\n"
	       "%-9s %-7s %7s %7s %7s %7s %7s %9s %7s %9s %6s %6s %6s %8s\n",
	       m->yard.device, m->yard.driver, m->workload.count, (double)m->sum_ns / 1e6,
	       m->rounds, (double)m->yard.wave_ns / 1e3, "", "", "", "DNTT", "DNTT", "", "",
	       "makespan", "alone/", "hand-over", "isolation", "policy", "ANTT", "of avg", "round",
	       "STP", "Jain", "/ sum", "native", "us", "ANTT", "DNTT", "STP", "makespan");
	for (size_t i = 0; i < count; i++) {
		const struct mix_result *r = &result[i];
		const struct sim_summary *l = &r->live, *s = &r->sim;

		printf("%-9s %-7s %7.2f %7.2f %7.2f %7.2f %7.3f %9.3f %7.3f %9.1f",
		       bench_way_isolation(&r->way), r->way.policy, l->antt, l->dntt_avg, l->dntt,
		       l->stp, l->jain, makespan_per_sum(m, r), r->alone_ratio,
		       (double)r->handover_ns / 1e3);
		if (r->has_sim)
			printf(" %+6.1f %+6.1f %+6.1f %+8.1f", off(l->antt, s->antt),
			       off(l->dntt_avg, s->dntt_avg), off(l->stp, s->stp),
			       off(l->makespan_ms, s->makespan_ms));
		printf("\n");
	}
	for (size_t i = 0; i < count; i++)
		if (result[i].rounds < m->rounds)
			printf("%s %s: only %u rounds\n", bench_way_isolation(&result[i].way),
			       result[i].way.policy, result[i].rounds);
}

static void write_summary(FILE *f, const struct mix *m, const struct mix_result *result,
			  size_t count)
{
	fprintf(f,
		"isolation,policy,rounds,programs,antt,dntt,dntt_avg,stp,jain,makespan_ms,sum_ms,"
		"makespan_per_sum,alone_per_native,handover_us,wrong,sim_antt,sim_dntt,sim_dntt_avg,"
		"sim_stp,sim_makespan_ms,ended_us,evicted_us,first_us,taken_us,ended_back_us,"
		"evicted_back_us,leave_us\n");
	for (size_t i = 0; i < count; i++) {
		const struct mix_result *r = &result[i];
		const struct sim_summary *l = &r->live, *s = &r->sim;

		fprintf(f, "%s,%s,%u,%zu,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.2f,%llu,",
			bench_way_isolation(&r->way), r->way.policy, r->rounds, m->workload.count,
			l->antt, l->dntt, l->dntt_avg, l->stp, l->jain, l->makespan_ms,
			(double)m->sum_ns / 1e6, makespan_per_sum(m, r), r->alone_ratio,
			(double)r->handover_ns / 1e3, (unsigned long long)r->wrong);
		if (r->has_sim)
			fprintf(f, "%.4f,%.4f,%.4f,%.4f,%.4f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f\n",
				s->antt, s->dntt, s->dntt_avg, s->stp, s->makespan_ms,
				(double)r->costs.ended_ns / 1e3, (double)r->costs.evicted_ns / 1e3,
				(double)r->costs.first_ns / 1e3, (double)r->taken_ns / 1e3,
				(double)r->costs.ended_back_ns / 1e3,
				(double)r->costs.evicted_back_ns / 1e3,
				(double)r->costs.leave_ns / 1e3);
		else
			fprintf(f, ",,,,,,,,,,,\n");
	}
}

static void write_kernels(FILE *f, const struct mix *m, const struct mix_result *result,
			  size_t count)
{
	fprintf(f, "isolation,policy,name,alone_ms,gpu_ms,turnaround_ms,ntt,waiting_ms,told_ms\n");
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < m->workload.count; k++) {
			const struct sim_row *row = &result[i].row[k];

			fprintf(f, "%s,%s,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n",
				bench_way_isolation(&result[i].way), result[i].way.policy,
				m->workload.kernel[k].name, row->alone_ms,
				(double)result[i].gpu_ns[k] / 1e6, row->finish_ms - row->arrival_ms,
				row->ntt, row->waiting_ms, (double)result[i].told_ns[k] / 1e6);
		}
}

struct picture {
	struct gs_panel *panel;
	struct gs_lane *lane;
	char (*words)[2][96];
};

static void picture_free(struct picture *p)
{
	free(p->panel);
	free(p->lane);
	free(p->words);
}

/* The first round of each, from its first arrival on. */
static int picture_of(struct picture *p, const struct mix *m, const struct mix_result *result,
		      size_t count)
{
	size_t n = m->workload.count;

	p->panel = calloc(count, sizeof(*p->panel));
	p->lane = calloc(count * n, sizeof(*p->lane));
	p->words = calloc(count, sizeof(*p->words));
	if (!p->panel || !p->lane || !p->words) {
		picture_free(p);
		return bench_fail("no memory"), -1;
	}
	for (size_t i = 0; i < count; i++) {
		const struct mix_result *r = &result[i];
		char(*words)[96] = p->words[i];

		for (size_t k = 0; k < n; k++)
			p->lane[i * n + k] =
				(struct gs_lane) { m->workload.kernel[k].name, r->row[k].ntt, 1,
						   m->workload.kernel[k].arrival_ns };
		for (size_t k = 0; k < r->spans; k++) {
			struct gs_span *s = &r->span[k];

			s->from_ns = s->from_ns > r->origin_ns ? s->from_ns - r->origin_ns : 0;
			s->to_ns = s->to_ns > r->origin_ns ? s->to_ns - r->origin_ns : 0;
		}
		snprintf(words[0], sizeof(words[0]), "%s, %s", bench_way_isolation(&r->way),
			 r->way.policy);
		snprintf(words[1], sizeof(words[1]),
			 "ANTT %.2f, DNTT %.2f, STP %.2f, makespan "
			 "%.2f ms",
			 r->live.antt, r->live.dntt_avg, r->live.stp, r->live.makespan_ms);
		p->panel[i] = (struct gs_panel) { words[0], words[1], &p->lane[i * n], n,
						  r->span,  r->spans, &computes,       1 };
	}
	return 0;
}

static int write_pictures(const struct mix *m, const struct mix_result *result, size_t count)
{
	struct picture p;
	FILE *svg, *trace;
	int rc = -1;

	if (picture_of(&p, m, result, count) < 0)
		return -1;
	svg = bench_output(&m->common, ".svg");
	if (svg) {
		static const struct gs_svg how = {
			.title = "Who had the GPU in the first round; slowdowns of all rounds"
		};

		rc = gs_timeline_svg(svg, p.panel, count, &how);
		rc |= bench_output_close(svg);
	}
	trace = bench_output(&m->common, "-trace.json");
	if (trace) {
		gs_timeline_trace(trace, p.panel, count);
		rc |= bench_output_close(trace);
	}
	picture_free(&p);
	return trace ? rc : -1;
}

int mix_write(const struct mix *m, const struct mix_result *result, size_t count)
{
	FILE *f = bench_output(&m->common, ".csv");

	if (!f)
		return -1;
	bench_output_head(f, &m->common, m->yard.device, m->yard.driver);
	write_summary(f, m, result, count);
	if (bench_output_close(f) < 0 || !(f = bench_output(&m->common, "-kernels.csv")))
		return -1;
	bench_output_head(f, &m->common, m->yard.device, m->yard.driver);
	write_kernels(f, m, result, count);
	if (bench_output_close(f) < 0)
		return -1;
	return write_pictures(m, result, count);
}
