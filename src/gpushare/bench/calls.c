/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench launch, gpushare-bench memory: what a launch and an allocation
 * cost the program on the host, without gpushare and with it, in one run.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"
#include "gpushare/metrics/metrics.h"

#define RUN_S 300
#define ROWS_MOST 4 /* per way */
#define ROWS_MAX (ROWS_MOST * BENCH_WAYS_MAX)
#define EVICTABLE_WAVES 4
#define RUNS_MAX 99

struct calls {
	struct bench_common common;
	struct bench_ways ways;
	struct bench_yard yard;
	enum bench_call call;
	uint32_t count, runs;
};

/* One kind of call under one way, ns. */
struct row {
	const struct bench_way *way;
	const char *what;
	size_t count;
	double p50, p99;
	int beside;   /* the next row has the same calls past the shim, in the same process */
	double added; /* to its p50, or else to that under the first way */
};

/*
 * Median and 99th percentile of every `step`-th sample from `first` on. The first tenth is left
 * out, as it warms up.
 */
static int quantiles(const struct bench_slot *s, size_t first, size_t step, struct row *r,
		     struct gs_error *err)
{
	double *ns = malloc((s->answer.launched + 1) * sizeof(*ns));
	size_t n = 0;

	if (!ns)
		return gs_fail(err, "no memory");
	for (size_t i = first + s->answer.launched / 10 / step * step; i < s->answer.launched;
	     i += step)
		ns[n++] = (double)(s->sample[i].finish_ns - s->sample[i].launch_ns);
	r->count = n;
	r->p50 = gs_quantile(ns, n, 0.5);
	r->p99 = gs_quantile(ns, n, 0.99);
	free(ns);
	return 0;
}

static int order(struct bench_workers *workers, enum bench_call call, uint32_t count,
		 struct gs_error *err)
{
	struct bench_slot *s = &workers->page->slot[0];

	s->work.call = call;
	s->work.launches = count;
	bench_workers_order(workers, 0, BENCH_CALLS);
	return bench_workers_wait(workers, 0, RUN_S, err);
}

/*
 * A grid of half a wave goes out as written, one of several waves is preemptible. A cost of 100 ns
 * can only be seen within one process: in another the driver's own part may take 1 us more or less.
 */
static int launches(struct calls *c, struct bench_workers *workers, struct row *r,
		    struct gs_error *err)
{
	struct bench_slot *s = &workers->page->slot[0];

	bench_set_kernel(workers, 0, &c->yard, EVICTABLE_WAVES);
	r[2].what = "evictable";
	if (!bench_workers_alone(workers, 0, 4, err) ||
	    order(workers, BENCH_CALL_LAUNCH, c->count, err) < 0 ||
	    quantiles(s, 0, 1, &r[2], err) < 0)
		return -1;
	s->work.tasks = c->yard.resident / 2 ? c->yard.resident / 2 : 1;
	s->work.iterations = 1;
	r[0].what = "as-is";
	r[1].what = "as-is-past";
	if (order(workers, BENCH_CALL_BESIDE, c->count, err) < 0 ||
	    quantiles(s, 0, 2, &r[0], err) < 0 || quantiles(s, 1, 2, &r[1], err) < 0)
		return -1;
	r[0].beside = 1;
	return 0;
}

static int memory(struct calls *c, struct bench_workers *workers, struct row *r,
		  struct gs_error *err)
{
	struct bench_slot *s = &workers->page->slot[0];

	bench_set_kernel(workers, 0, &c->yard, 1);
	if (order(workers, BENCH_CALL_MEMORY, c->count, err) < 0)
		return -1;
	r[0].what = "alloc";
	r[1].what = "alloc-past";
	r[2].what = "free";
	r[3].what = "free-past";
	r[0].beside = r[2].beside = 1;
	if (quantiles(s, 0, 4, &r[0], err) < 0 || quantiles(s, 2, 4, &r[1], err) < 0 ||
	    quantiles(s, 1, 4, &r[2], err) < 0)
		return -1;
	return quantiles(s, 3, 4, &r[3], err);
}

static int run_way(struct calls *c, const struct bench_way *way, struct row *r,
		   struct gs_error *err)
{
	static const struct bench_part part = { .shares = 100, .priority = 1 };
	struct bench_workers workers;
	int rc;

	if (bench_enter(&workers, &c->common.stage, way, &part, 1, c->yard.memory, err) < 0)
		return -1;
	for (size_t k = 0; k < ROWS_MOST; k++)
		r[k].way = way;
	rc = c->call == BENCH_CALL_LAUNCH ? launches(c, &workers, r, err) :
					    memory(c, &workers, r, err);
	bench_leave(&workers, way, rc < 0);
	return rc;
}

/* The medians of several programs: in one a call may take 50 ns more than in the next (H200). */
static int run_often(struct calls *c, const struct bench_way *way, size_t rows, struct row *r,
		     struct gs_error *err)
{
	double p50[ROWS_MOST][RUNS_MAX], p99[ROWS_MOST][RUNS_MAX], added[ROWS_MOST][RUNS_MAX];
	size_t count[ROWS_MOST] = { 0 };

	for (uint32_t n = 0; n < c->runs; n++) {
		if (run_way(c, way, r, err) < 0)
			return -1;
		for (size_t k = 0; k < rows; k++) {
			p50[k][n] = r[k].p50;
			p99[k][n] = r[k].p99;
			added[k][n] = r[k].beside ? r[k].p50 - r[k + 1].p50 : 0;
			count[k] += r[k].count;
		}
	}
	for (size_t k = 0; k < rows; k++) {
		r[k].count = count[k];
		r[k].p50 = gs_quantile(p50[k], c->runs, 0.5);
		r[k].p99 = gs_quantile(p99[k], c->runs, 0.5);
		r[k].added = gs_quantile(added[k], c->runs, 0.5);
	}
	return 0;
}

static void print(FILE *out, const struct row *r, int csv)
{
	fprintf(out,
		csv ? "%s,%s,%s,%zu,%.0f,%.0f,%.0f\n" : "%-9s %-7s %-10s %8zu %9.0f %9.0f %+9.0f\n",
		bench_way_isolation(r->way), r->way->policy, r->what, r->count, r->p50, r->p99,
		r->added);
	fflush(out);
}

static int run_all(void *of, FILE *csv, struct gs_error *err)
{
	struct calls *c = of;
	struct bench_way way[BENCH_WAYS_MAX];
	struct row row[ROWS_MAX] = { 0 };
	size_t count = bench_ways_plan(&c->ways, way), rows = c->call == BENCH_CALL_LAUNCH ? 3 : 4;

	if (bench_calibrate_device(&c->common.stage, 50 * GS_NS_PER_US, &c->yard, err) < 0)
		return -1;
	printf("%s, CUDA driver %s: one call on the host, ns; added: to the p50 of the same calls past the\n"
	       "shim in the same process, or else (past, evictable) without gpushare\n\n"
	       "%-9s %-7s %-10s %8s %9s %9s %9s\n",
	       c->yard.device, c->yard.driver, "isolation", "policy", "call", "calls", "p50", "p99",
	       "added");
	if (csv) {
		bench_output_head(csv, &c->common, c->yard.device, c->yard.driver);
		fprintf(csv, "isolation,policy,call,calls,p50_ns,p99_ns,added_p50_ns\n");
	}
	for (size_t i = 0; i < count; i++) {
		struct row *r = &row[rows * i];

		if (run_often(c, &way[i], rows, r, err) < 0)
			return -1;
		for (size_t k = 0; k < rows; k++) {
			if (!r[k].beside)
				r[k].added = r[k].p50 - row[k].p50;
			print(stdout, &r[k], 0);
			if (csv)
				print(csv, &r[k], 1);
		}
	}
	return 0;
}

static int run_verb(const struct bench_verb *verb, enum bench_call call, int argc, char **argv)
{
	static struct calls c = {
		.ways = { .policy = "piv", .isolation = "none,contexts" },
		.count = 4000,
	};
	static const struct gs_option options[] = {
		{ "count", .number = &c.count, .least = 20, .most = BENCH_SAMPLES_MAX },
		{ "runs", .number = &c.runs, .least = 1, .most = RUNS_MAX },
		BENCH_WAYS_OPTIONS(c.ways),
		BENCH_COMMON_OPTIONS(c.common),
		{ NULL },
	};
	int status = 0;

	c.call = call;
	c.runs = call == BENCH_CALL_LAUNCH ? 5 : 1;
	if (!bench_options(verb, &c.common, options, 0, argc, argv, &status))
		return status;
	return bench_on_stage(&c.common, run_all, &c);
}

static int run_launch(int argc, char **argv)
{
	return run_verb(&bench_verb_launch, BENCH_CALL_LAUNCH, argc, argv);
}

static int run_memory(int argc, char **argv)
{
	return run_verb(&bench_verb_memory, BENCH_CALL_MEMORY, argc, argv);
}

const struct bench_verb bench_verb_launch = {
	.name = "launch",
	.usage = "[OPTION]...",
	.words = "What a launch costs on the host, left as it is and evictable",
	.help = BENCH_WAYS_HELP(
		"piv") "      --count N         calls of each (default 4000)\n"
		       "      --runs N          programs one after the other, of which the medians count (default 5)\n",
	.run = run_launch,
};

const struct bench_verb bench_verb_memory = {
	.name = "memory",
	.usage = "[OPTION]...",
	.words = "What an allocation and its release cost on the host",
	.help = BENCH_WAYS_HELP(
		"piv") "      --count N         calls in all (default 4000)\n"
		       "      --runs N          programs one after the other, of which the medians count (default 1)\n",
	.run = run_memory,
};
