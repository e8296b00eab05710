/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Periodic kernels as CSV, JSON and a table; see periodic_output.h. */
#include "gpushare/sim/periodic_output.h"

#include <inttypes.h>
#include <math.h>

#define NS_PER_MS 1e6

static const char *const names[GS_TIMING_FIGURES] = GS_TIMING_NAMES;
static const char *const quantiles[] = { "p50", "p99", "max" };

/* A number, or what stands for none. */
static void number(FILE *out, const char *before, double ms, const char *none)
{
	if (isnan(ms))
		fprintf(out, "%s%s", before, none);
	else
		fprintf(out, "%s%.3f", before, ms);
}

static double value(const struct gs_timing_summary *s, int quantile)
{
	return quantile == 0 ? s->p50_ms : quantile == 1 ? s->p99_ms : s->max_ms;
}

void sim_periodic_csv(FILE *out, const struct sim_workload *w, const struct gs_timing *timing,
		      const struct sim_periodic_summary *s, size_t policy, size_t count)
{
	(void)policy;
	if (count > 1)
		fprintf(out, "# policy %s\n", s->policy);
	fprintf(out, "name,period_ms,deadline_ms,jobs,missed");
	for (int m = 0; m < GS_TIMING_FIGURES; m++)
		for (int q = 0; q < 3; q++)
			fprintf(out, ",%s_%s_ms", names[m], quantiles[q]);
	for (size_t i = 0; i < w->count; i++) {
		fprintf(out, "\n%s,%.6f,%.6f,%" PRIu64 ",%" PRIu64, w->kernel[i].name,
			(double)w->kernel[i].period_ns / NS_PER_MS,
			(double)w->kernel[i].deadline_ns / NS_PER_MS, timing[i].jobs,
			timing[i].missed);
		for (int m = 0; m < GS_TIMING_FIGURES; m++) {
			struct gs_timing_summary is =
				gs_timing_summary(&timing[i], (enum gs_timing_figure)m);

			for (int q = 0; q < 3; q++)
				number(out, ",", value(&is, q), "");
		}
	}
	fputc('\n', out);
}

void sim_periodic_csv_end(FILE *out, const struct sim_periodic_summary *s, size_t count)
{
	fprintf(out, "policy,jobs,missed,handovers\n");
	for (size_t p = 0; p < count; p++, s++)
		fprintf(out, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", s->policy, s->jobs,
			s->missed, s->handovers);
}

/* Names hold nothing that JSON would have to escape; see line.c. */
static void json_kernel(FILE *out, const struct sim_kernel *k, const struct gs_timing *timing)
{
	fprintf(out,
		"\n    {\"name\": \"%s\", \"period_ms\": %.6f, \"deadline_ms\": %.6f, "
		"\"jobs\": %" PRIu64 ", \"missed\": %" PRIu64,
		k->name, (double)k->period_ns / NS_PER_MS, (double)k->deadline_ns / NS_PER_MS,
		timing->jobs, timing->missed);
	for (int m = 0; m < GS_TIMING_FIGURES; m++) {
		struct gs_timing_summary is = gs_timing_summary(timing, (enum gs_timing_figure)m);

		for (int q = 0; q < 3; q++) {
			fprintf(out, ", \"%s_%s_ms\": ", names[m], quantiles[q]);
			number(out, "", value(&is, q), "null");
		}
	}
	fputc('}', out);
}

void sim_periodic_json(FILE *out, const struct sim_workload *w, const struct gs_timing *timing,
		       const struct sim_periodic_summary *s, size_t policy, size_t count)
{
	fprintf(out,
		"%s\n  {\"policy\": \"%s\", \"jobs\": %" PRIu64 ", \"missed\": %" PRIu64
		", \"handovers\": %" PRIu64 ", \"kernels\": [",
		policy ? "," : "{\"policies\": [", s->policy, s->jobs, s->missed, s->handovers);
	for (size_t i = 0; i < w->count; i++) {
		if (i)
			fputc(',', out);
		json_kernel(out, &w->kernel[i], &timing[i]);
	}
	fputs(policy + 1 < count ? "]}" : "]}]}\n", out);
}

/* For people: p50/p99/max of each figure. */
void sim_periodic_table(FILE *out, const struct sim_workload *w, const struct gs_timing *timing,
			const struct sim_periodic_summary *s, size_t policy, size_t count)
{
	(void)count;
	fprintf(out, "%s%s, p50/p99/max in ms\n%-16s %9s %9s %7s %7s", policy ? "\n" : "",
		s->policy, "kernel", "period", "deadline", "jobs", "missed");
	for (int m = 0; m < GS_TIMING_FIGURES; m++)
		fprintf(out, " %23s", names[m]);
	for (size_t i = 0; i < w->count; i++) {
		fprintf(out, "\n%-16s %9.3f %9.3f %7" PRIu64 " %7" PRIu64, w->kernel[i].name,
			(double)w->kernel[i].period_ns / NS_PER_MS,
			(double)w->kernel[i].deadline_ns / NS_PER_MS, timing[i].jobs,
			timing[i].missed);
		for (int m = 0; m < GS_TIMING_FIGURES; m++) {
			struct gs_timing_summary is =
				gs_timing_summary(&timing[i], (enum gs_timing_figure)m);
			char text[64] = "-";

			if (!isnan(is.max_ms))
				snprintf(text, sizeof(text), "%.2f/%.2f/%.2f", is.p50_ms, is.p99_ms,
					 is.max_ms);
			fprintf(out, " %23s", text);
		}
	}
	fputc('\n', out);
}

void sim_periodic_table_end(FILE *out, const struct sim_periodic_summary *s, size_t count)
{
	fprintf(out, "\n%-8s %10s %10s %10s\n", "policy", "jobs", "missed", "handovers");
	for (size_t p = 0; p < count; p++, s++)
		fprintf(out, "%-8s %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n", s->policy, s->jobs,
			s->missed, s->handovers);
}
