/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measures of periodic programs; see timing.h. */
#include "gpushare/metrics/timing.h"

#include <math.h>
#include <stddef.h>

#include "gpushare/metrics/metrics.h"

#define NS_PER_US 1000
#define NS_PER_MS 1e6

static void add_sample(struct gs_timing_samples *of, uint64_t ns)
{
	uint64_t us = (ns + NS_PER_US / 2) / NS_PER_US;

	of->us[of->count++ % GS_TIMING_SAMPLES] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
	if (ns > of->most_ns)
		of->most_ns = ns;
}

void gs_timing_add(struct gs_timing *t, const struct gs_timing_job *job)
{
	uint64_t response = job->end_ns - job->arrival_ns, tardiness = 0;
	uint64_t occupying = job->occupying_ns < response ? job->occupying_ns : response;

	add_sample(&t->of[GS_TIMING_RESPONSE], response);
	add_sample(&t->of[GS_TIMING_OCCUPYING], occupying);
	add_sample(&t->of[GS_TIMING_PENDING], response - occupying);
	if (job->last_end_ns && job->period_ns) {
		uint64_t due = job->last_end_ns + job->period_ns;

		add_sample(&t->of[GS_TIMING_JITTER],
			   job->end_ns > due ? job->end_ns - due : due - job->end_ns);
	}
	if (job->deadline_ns) {
		tardiness = response > job->deadline_ns ? response - job->deadline_ns : 0;
		add_sample(&t->of[GS_TIMING_TARDINESS], tardiness);
	}
	t->jobs++;
	t->missed += tardiness > 0;
}

struct gs_timing_summary gs_timing_summary(const struct gs_timing *t, enum gs_timing_figure figure)
{
	const struct gs_timing_samples *of = &t->of[figure];
	size_t n = of->count < GS_TIMING_SAMPLES ? (size_t)of->count : GS_TIMING_SAMPLES;
	double us[GS_TIMING_SAMPLES];

	if (!n)
		return (struct gs_timing_summary) { NAN, NAN, NAN };
	for (size_t i = 0; i < n; i++)
		us[i] = of->us[i];
	return (struct gs_timing_summary) {
		.p50_ms = gs_quantile(us, n, 0.5) / 1e3,
		.p99_ms = gs_quantile(us, n, 0.99) / 1e3,
		.max_ms = (double)of->most_ns / NS_PER_MS,
	};
}
