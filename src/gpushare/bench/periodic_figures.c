/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How punctual the frames were, and how fast the low programs; see periodic.h. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>

#include "gpushare/bench/periodic.h"
#include "gpushare/metrics/metrics.h"

static size_t samples(const struct bench_slot *s)
{
	return s->answer.launched < BENCH_SAMPLES_MAX ? (size_t)s->answer.launched :
							BENCH_SAMPLES_MAX;
}

void periodic_judge(const struct periodic *p, const struct bench_slot *s, struct periodic_row *r)
{
	struct gs_timing timing = { 0 };

	for (size_t i = PERIODIC_WARM_UP; i < samples(s); i++)
		gs_timing_add(&timing, &(struct gs_timing_job) {
					       .arrival_ns = s->sample[i].release_ns,
					       .end_ns = s->sample[i].finish_ns,
					       .last_end_ns = s->sample[i - 1].finish_ns,
					       .occupying_ns = p->alone_ns,
					       .period_ns = p->period.every_ns,
					       .deadline_ns = p->period.deadline_ns,
				       });
	for (int i = 0; i < GS_TIMING_FIGURES; i++)
		r->is[i] = gs_timing_summary(&timing, (enum gs_timing_figure)i);
	r->frames = timing.jobs;
	r->missed = timing.missed;
}

double periodic_speed(const struct bench_slot *s, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t first = 0, last = 0, n = 0;

	for (size_t i = 0; i < samples(s); i++) {
		uint64_t end = s->sample[i].finish_ns;

		if (end < from_ns || end > to_ns)
			continue;
		first = first ? first : end;
		last = end;
		n++;
	}
	/* Fewer than two ends have no distance, so only their number can be used. */
	return n < 2 ? (double)n / (double)(to_ns - from_ns) :
		       (double)(n - 1) / (double)(last - first);
}

int periodic_usual_speed(const struct bench_slot *s, double *speed, struct gs_error *err)
{
	size_t n = samples(s);
	double *ns = malloc((n + 1) * sizeof(*ns));

	if (!ns || n < 2) {
		free(ns);
		return gs_fail(err, ns ? "too few frames" : "no memory");
	}
	for (size_t i = 1; i < n; i++)
		ns[i - 1] = (double)(s->sample[i].finish_ns - s->sample[i - 1].finish_ns);
	*speed = 1 / gs_quantile(ns, n - 1, 0.5);
	free(ns);
	return 0;
}

double periodic_ratio(const struct periodic_row *r, enum gs_timing_figure figure)
{
	return r->driver && r->driver[figure].p99_ms > 0 ?
		       r->is[figure].p99_ms / r->driver[figure].p99_ms :
		       NAN;
}
