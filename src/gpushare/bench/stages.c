/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushared's trace, the programs' samples and the device's clock, put together; see stages.h. */
#define _GNU_SOURCE
#include "gpushare/bench/stages.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "gpushare/metrics/metrics.h"

/* How far a window reaches beyond what gpushared saw, ns. */
#define MARGIN_NS (100 * GS_NS_PER_US)
#define CLOCK_S 30

const char *bench_stage_name(enum bench_stage_of stage)
{
	static const char *const names[BENCH_STAGES] = { "asked", "told", "left", "seen", "begun" };

	return names[stage];
}

int bench_stages_init(struct bench_stages *st, size_t room, struct gs_error *err)
{
	memset(st, 0, sizeof(*st));
	st->room = room;
	for (unsigned i = 0; i <= BENCH_STAGES; i++) {
		st->ns[i] = malloc(room * sizeof(*st->ns[i]));
		if (!st->ns[i])
			return gs_fail(err, "no memory");
	}
	return 0;
}

void bench_stages_fini(struct bench_stages *st)
{
	for (unsigned i = 0; i <= BENCH_STAGES; i++)
		free(st->ns[i]);
}

static void add(struct bench_stages *st, unsigned stage, double from_ns, double to_ns)
{
	if (st->count[stage] < st->room)
		st->ns[stage][st->count[stage]++] = to_ns - from_ns;
}

/* The clocks' difference at a time: a straight line through two readings of both. */
struct line {
	struct bench_clock at;
	double device_per_host;
};

static struct line line_through(const struct bench_clock *a, const struct bench_clock *b)
{
	return (struct line) { *a, (double)(b->device_ns - a->device_ns) /
					   (double)(b->host_ns - a->host_ns) };
}

static double to_device(const struct line *l, double host_ns)
{
	return (double)l->at.device_ns + (host_ns - (double)l->at.host_ns) * l->device_per_host;
}

static double to_host(const struct line *l, double device_ns)
{
	return (double)l->at.host_ns + (device_ns - (double)l->at.device_ns) / l->device_per_host;
}

/* The launch of the other program that this eviction was for; NULL: none that is known. */
static const struct bench_sample *cause(const struct bench_slot *other,
					const struct bench_eviction *e)
{
	uint64_t n = other->answer.launched < BENCH_SAMPLES_MAX ? other->answer.launched :
								  BENCH_SAMPLES_MAX;

	for (uint64_t i = 0; i < n; i++)
		if (other->sample[i].launch_ns <= e->from_ns &&
		    other->sample[i].finish_ns >= e->to_ns)
			return &other->sample[i];
	return NULL;
}

/* When the last block-task ended, of each eviction; they stand in order of time. */
static int find_ends(struct bench_workers *workers, uint32_t evicted, const struct line *line,
		     const struct bench_eviction *e, uint32_t n, struct gs_error *err)
{
	struct bench_slot *s = &workers->page->slot[evicted];

	s->windows = n;
	for (uint32_t i = 0; i < n; i++) {
		struct bench_window *w = &s->window[i];

		w->from = (uint64_t)to_device(line, (double)e[i].from_ns);
		w->to = (uint64_t)to_device(line, (double)(e[i].to_ns + MARGIN_NS));
		if (i && w->from <= w[-1].to)
			w->from = w[-1].to + 1;
	}
	bench_workers_order(workers, evicted, BENCH_WINDOWS);
	return bench_workers_wait(workers, evicted, CLOCK_S, err);
}

static void add_one(struct bench_stages *st, const struct bench_eviction *e,
		    const struct bench_sample *s, uint64_t alone_ns, const struct line *line,
		    const struct bench_window *w)
{
	add(st, BENCH_STAGES, (double)e->from_ns, (double)e->to_ns);
	add(st, BENCH_TOLD, (double)e->from_ns, (double)e->told_ns);
	if (w->last) {
		double last = to_host(line, (double)w->last);

		add(st, BENCH_LEFT, (double)e->told_ns, last);
		add(st, BENCH_SEEN, last, (double)e->to_ns);
	}
	if (s) {
		add(st, BENCH_REQUESTED, (double)s->launch_ns, (double)e->from_ns);
		add(st, BENCH_BEGUN, (double)(e->to_ns + alone_ns), (double)s->finish_ns);
	}
}

int bench_stages_add(struct bench_stages *st, struct bench_workers *workers, uint32_t evicted,
		     uint32_t other, uint64_t since_ns, uint64_t alone_ns,
		     const struct bench_clock *before, struct gs_error *err)
{
	struct bench_slot *slot = &workers->page->slot[evicted];
	struct bench_eviction *e = NULL;
	struct line line;
	long n;

	bench_workers_order(workers, evicted, BENCH_CLOCK);
	if (bench_workers_wait(workers, evicted, CLOCK_S, err) < 0)
		return -1;
	if (slot->answer.clock.error_ns > st->clock_error_ns)
		st->clock_error_ns = slot->answer.clock.error_ns;
	line = line_through(before, &slot->answer.clock);
	n = bench_evictions(workers->stage, since_ns, &e, err);
	if (n > BENCH_WINDOWS_MAX)
		n = BENCH_WINDOWS_MAX;
	if (n < 0 || find_ends(workers, evicted, &line, e, (uint32_t)n, err) < 0) {
		free(e);
		return -1;
	}
	for (long i = 0; i < n; i++)
		add_one(st, &e[i], cause(&workers->page->slot[other], &e[i]), alone_ns, &line,
			&slot->window[i]);
	free(e);
	return 0;
}

struct bench_spread bench_stages_spread(struct bench_stages *st, unsigned stage)
{
	double *ns = st->ns[stage];
	size_t n = st->count[stage];

	if (!n)
		return (struct bench_spread) { 0 };
	return (struct bench_spread) { gs_quantile(ns, n, 0.5), gs_quantile(ns, n, 0.9),
				       gs_quantile(ns, n, 0.99), n };
}
