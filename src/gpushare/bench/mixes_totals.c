/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates, latencies and longest steps of windows; see mixes_totals.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes_totals.h"

#include <math.h>
#include <stdlib.h>

#include "common/clock.h"
#include "gpushare/metrics/metrics.h"

/* What one program did in a window. */
struct deed {
	double rate;    /* units a second; of requests: the part of those due that ended within the
			   window */
	double longest; /* ns */
	size_t latencies;
};

static size_t room(const struct mixes_window *w, uint64_t period_ns)
{
	return (size_t)((w->to_ns - w->from_ns) / period_ns) + 2;
}

/* latency: NULL, or with room for its requests. */
static struct deed did(const struct mixes_workers *workers, const struct mixes_member *m,
		       const struct mixes_window *w, double *latency)
{
	uint64_t period_ns = mixes_period(workers->setup, workers->mix->side[m->side].program);
	const struct mixes_record *record = m->board->record;
	size_t count = atomic_load(&m->board->records), in_time = 0;
	double seconds = (double)(w->to_ns - w->from_ns) / 1e9;
	struct deed d = { .longest = mixes_longest(record, count, w->from_ns, w->to_ns) };

	if (!period_ns) {
		d.rate = mixes_units(record, count, w->begin_ns, w->from_ns, w->to_ns) / seconds;
		return d;
	}
	d.latencies = mixes_latencies(record, count, w->begin_ns, period_ns, w->from_ns, w->to_ns,
				      w->over_ns, latency, room(w, period_ns));
	for (size_t i = 0; i < count; i++)
		in_time += record[i].value >= w->from_ns && record[i].value < w->to_ns &&
			   record[i].end_ns <= w->to_ns;
	d.rate = d.latencies ? (double)in_time / (double)d.latencies : 0;
	return d;
}

static const struct mixes_member *first_of(const struct mixes_workers *workers, uint32_t side)
{
	const struct mixes_member *m = workers->member;

	while (m->side != side)
		m++;
	return m;
}

struct mixes_speed mixes_alone(const struct mixes_workers *workers, uint32_t side,
			       const struct mixes_window *window)
{
	uint64_t period_ns = mixes_period(workers->setup, workers->mix->side[side].program);
	double *latency = period_ns ? malloc(room(window, period_ns) * sizeof(*latency)) : NULL;
	struct mixes_speed speed = { 0 };
	struct deed d;

	if (period_ns && !latency)
		return speed;
	d = did(workers, first_of(workers, side), window, latency);
	speed.value = period_ns ? gs_quantile(latency, d.latencies, 0.5) / 1e6 : d.rate;
	speed.p99 = period_ns ? gs_quantile(latency, d.latencies, 0.99) / 1e6 : 0;
	free(latency);
	return speed;
}

/* Room for the latencies of one more program, if it has any; -1: no memory. */
static int make_room(struct mixes_totals *t, const struct mixes_workers *workers,
		     const struct mixes_member *m, const struct mixes_window *w)
{
	uint64_t period_ns = mixes_period(workers->setup, workers->mix->side[m->side].program);
	double *more;

	if (!period_ns)
		return 0;
	more = realloc(t->latency, (t->latencies + room(w, period_ns)) * sizeof(*more));
	if (!more)
		return -1;
	t->latency = more;
	return 0;
}

int mixes_totals_add(struct mixes_totals *t, const struct mixes_workers *workers,
		     const struct mixes_window *w, const struct mixes_speed alone[2],
		     struct gs_error *err)
{
	double part[2] = { 0, 0 }, least = INFINITY, sum = 0, apart, larger;
	uint32_t programs = 0;

	for (uint32_t i = 0; i < workers->count; i++) {
		const struct mixes_member *m = &workers->member[i];
		const struct mixes_side *side = &workers->mix->side[m->side];
		double per = mixes_kind[side->program].period_ms ? 1 : alone[m->side].value;
		struct deed d;

		if (make_room(t, workers, m, w) < 0)
			return gs_fail(err, "no memory");
		d = did(workers, m, w, t->latency ? t->latency + t->latencies : NULL);
		t->latencies += d.latencies;
		t->row.longest[m->side] = fmax(t->row.longest[m->side], d.longest / 1e6);
		/* Of a job of several processes the first counts for all. */
		if (m->rank > 0 || per <= 0)
			continue;
		part[m->side] += d.rate / per / side->count;
		least = fmin(least, d.rate / per);
		sum += d.rate / per;
		programs++;
	}
	least = sum > 0 ? least * programs / sum : 0;
	t->row.least = t->row.windows ? fmin(t->row.least, least) : least;
	larger = fmax(part[0], part[1]);
	apart = larger > 0 ? fabs(part[0] - part[1]) / larger : 0;
	t->row.apart = fmax(t->row.apart, apart);
	for (int side = 0; side < 2; side++) {
		t->row.alone[side] = alone[side].value;
		t->row.part[side] += part[side];
	}
	t->row.p99[1] = alone[0].p99;
	t->row.windows++;
	return 0;
}

void mixes_totals_close(struct mixes_totals *t)
{
	for (int side = 0; side < 2 && t->row.windows; side++)
		t->row.part[side] /= t->row.windows;
	t->row.requests = (unsigned)t->latencies;
	t->row.p50 = gs_quantile(t->latency, t->latencies, 0.5) / 1e6;
	t->row.p99[0] = gs_quantile(t->latency, t->latencies, 0.99) / 1e6;
	free(t->latency);
	t->latency = NULL;
	t->latencies = 0;
}
