/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench pair: two programs.  Beside: one with a short kernel every
 * few milliseconds at high priority, one with long kernels back to back at low;
 * how late the short ones get, and how much of what they leave the long ones
 * get.  Together: two of the long ones at equal priority, against the sum.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"
#include "gpushare/metrics/metrics.h"

#define ALONE 4
#define START_NS (30 * GS_NS_PER_MS)
#define RUN_S 500
#define PRIORITY_HIGH 10
#define PRIORITY_LOW 1

enum { SHORT, LONG };

struct pair {
	struct bench_common common;
	struct bench_ways ways;
	struct bench_yard yard;
	uint64_t short_ns, long_ns, period_ns, task_ns;
	uint32_t count, together;
	double short_alone; /* under the driver: p50, ns */
	double long_alone;  /* under the driver: ns */
};

/* Of one way of sharing; times in ns. */
struct figures {
	double alone_p50, alone_p99, p50, p90, p99;
	double kept;  /* part of what the short ones left */
	double total; /* of both together, over the sum */
};

/* Quantiles of release to finish. */
static int lateness(const struct bench_slot *s, double *p50, double *p90, double *p99,
		    struct gs_error *err)
{
	size_t n = s->answer.launched < BENCH_SAMPLES_MAX ? s->answer.launched : BENCH_SAMPLES_MAX;
	double *took = malloc((n + 1) * sizeof(*took));

	if (!took)
		return gs_fail(err, "no memory");
	for (size_t i = 0; i < n; i++)
		took[i] = (double)(s->sample[i].finish_ns - s->sample[i].release_ns);
	*p50 = gs_quantile(took, n, 0.5);
	if (p90)
		*p90 = gs_quantile(took, n, 0.9);
	*p99 = gs_quantile(took, n, 0.99);
	free(took);
	return 0;
}

static void start_short(const struct pair *p, struct bench_workers *workers)
{
	struct bench_slot *s = &workers->page->slot[SHORT];

	s->work.launches = p->count;
	s->work.period_ns = p->period_ns;
	s->work.release_ns = gs_clock_ns() + START_NS;
	bench_workers_order(workers, SHORT, BENCH_RUN);
}

/*
 * The sample of the last launch. Beyond BENCH_SAMPLES_MAX launches the last place of the page is
 * overwritten.
 */
static const struct bench_sample *last_sample(const struct bench_slot *s)
{
	return &s->sample[(s->answer.launched < BENCH_SAMPLES_MAX ? s->answer.launched :
								    BENCH_SAMPLES_MAX) -
			  1];
}

static int beside(struct pair *p, struct bench_workers *workers, struct figures *f,
		  struct gs_error *err)
{
	struct bench_slot *l = &workers->page->slot[LONG], *s = &workers->page->slot[SHORT];
	double busy, span;

	start_short(p, workers);
	if (bench_workers_wait(workers, SHORT, RUN_S, err) < 0 ||
	    lateness(s, &f->alone_p50, NULL, &f->alone_p99, err) < 0)
		return -1;
	l->work.launches = 0;
	l->work.release_ns = 0;
	bench_workers_order(workers, LONG, BENCH_RUN);
	start_short(p, workers);
	if (bench_workers_wait(workers, SHORT, RUN_S, err) < 0)
		return -1;
	atomic_store(&l->stop, 1);
	if (bench_workers_wait(workers, LONG, RUN_S, err) < 0 ||
	    lateness(s, &f->p50, &f->p90, &f->p99, err) < 0)
		return -1;
	atomic_store(&l->stop, 0);
	span = (double)(last_sample(l)->finish_ns - l->sample[0].launch_ns);
	busy = (double)s->answer.launched * p->short_alone;
	f->kept = span > busy ? (double)l->answer.launched * p->long_alone / (span - busy) : 0;
	return 0;
}

static int together(struct pair *p, struct bench_workers *workers, struct figures *f,
		    struct gs_error *err)
{
	uint64_t release = gs_clock_ns() + START_NS, end = 0;

	for (uint32_t i = 0; i < 2; i++) {
		struct bench_slot *s = &workers->page->slot[i];

		s->work.launches = p->together;
		s->work.period_ns = 0;
		s->work.release_ns = release;
		bench_workers_order(workers, i, BENCH_RUN);
	}
	if (bench_workers_wait_all(workers, RUN_S, err) < 0)
		return -1;
	for (uint32_t i = 0; i < 2; i++)
		if (last_sample(&workers->page->slot[i])->finish_ns > end)
			end = last_sample(&workers->page->slot[i])->finish_ns;
	f->total = (double)(end - release) / (2.0 * p->together * p->long_alone);
	return 0;
}

/* Both programs' kernels are set and have run once. */
static int warm_up(struct pair *p, struct bench_workers *workers, uint64_t first_ns,
		   uint64_t alone_ns[2], struct gs_error *err)
{
	bench_set_kernel(workers, 0, &p->yard, bench_waves(&p->yard, first_ns));
	bench_set_kernel(workers, 1, &p->yard, bench_waves(&p->yard, p->long_ns));
	for (uint32_t i = 0; i < 2; i++) {
		alone_ns[i] = bench_workers_alone(workers, i, ALONE, err);
		if (!alone_ns[i])
			return -1;
	}
	return 0;
}

static int run_way(struct pair *p, const struct bench_way *way, struct figures *f,
		   struct gs_error *err)
{
	static const struct bench_part unequal[] = { { .shares = 50, .priority = PRIORITY_HIGH },
						     { .shares = 50, .priority = PRIORITY_LOW } };
	static const struct bench_part equal[] = { { .shares = 50, .priority = PRIORITY_LOW },
						   { .shares = 50, .priority = PRIORITY_LOW } };
	struct bench_stage *stage = &p->common.stage;
	struct bench_workers workers;
	uint64_t alone[2];
	int rc;

	if (bench_enter(&workers, stage, way, unequal, 2, p->yard.memory, err) < 0)
		return -1;
	rc = warm_up(p, &workers, p->short_ns, alone, err);
	if (rc == 0)
		rc = beside(p, &workers, f, err);
	bench_leave(&workers, way, rc < 0);
	if (rc < 0 || bench_enter(&workers, stage, way, equal, 2, p->yard.memory, err) < 0)
		return -1;
	rc = warm_up(p, &workers, p->long_ns, alone, err);
	if (rc == 0)
		rc = together(p, &workers, f, err);
	bench_leave(&workers, way, rc < 0);
	return rc;
}

/* The device and what the two take alone without gpushare. */
static int measure_alone(struct pair *p, struct gs_error *err)
{
	static const struct bench_way driver = { BENCH_DRIVER, "driver" };
	static const struct bench_part part[] = { { .shares = 1 }, { .shares = 1 } };
	struct bench_workers workers;
	uint64_t alone[2];
	double p99;
	int rc;

	if (bench_enter(&workers, &p->common.stage, &driver, part, 2, 0, err) < 0)
		return -1;
	rc = bench_calibrate(&workers, p->task_ns, &p->yard, err);
	if (rc == 0)
		rc = warm_up(p, &workers, p->short_ns, alone, err);
	if (rc == 0) {
		p->long_alone = (double)alone[LONG];
		start_short(p, &workers);
		rc = bench_workers_wait(&workers, SHORT, RUN_S, err);
	}
	if (rc == 0)
		rc = lateness(&workers.page->slot[SHORT], &p->short_alone, NULL, &p99, err);
	bench_leave(&workers, &driver, rc < 0);
	return rc;
}

static void print(FILE *out, const struct pair *p, const struct bench_way *way,
		  const struct figures *f, int csv)
{
	fprintf(out,
		csv ? "%s,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f\n" :
		      "%-9s %-7s %10.3f %10.3f %9.3f %9.3f %9.3f %10.3f %9.3f %9.3f %10.3f\n",
		bench_way_isolation(way), way->policy, f->alone_p50 / 1e6, f->alone_p99 / 1e6,
		f->p50 / 1e6, f->p90 / 1e6, f->p99 / 1e6, f->p99 / p->short_alone,
		p->long_alone / 1e6, f->kept, f->total);
}

static int write_csv(const struct pair *p, const struct bench_way *way, const struct figures *f,
		     size_t count)
{
	FILE *out = bench_output(&p->common, ".csv");

	if (!out)
		return -1;
	bench_output_head(out, &p->common, p->yard.device, p->yard.driver);
	fprintf(out, "isolation,policy,short_alone_p50_ms,short_alone_p99_ms,short_p50_ms,"
		     "short_p90_ms,short_p99_ms,short_p99_per_alone,long_alone_ms,long_kept,"
		     "together_per_sum\n");
	for (size_t i = 0; i < count; i++)
		print(out, p, &way[i], &f[i], 1);
	return bench_output_close(out);
}

static int execute(struct pair *p)
{
	struct bench_way way[BENCH_WAYS_MAX];
	struct figures f[BENCH_WAYS_MAX] = { 0 };
	size_t count = bench_ways_plan(&p->ways, way);
	struct gs_error err;
	int rc = bench_stage_open(&p->common.stage, &err);

	if (rc == 0)
		rc = measure_alone(p, &err);
	if (rc == 0)
		printf("%s, CUDA driver %s: %.3f ms every %.3f ms beside %.1f ms; p99 against the "
		       "p50 alone under the driver\n\n%-9s %-7s %10s %10s %9s %9s %9s %10s %9s %9s "
		       "%10s\n",
		       p->yard.device, p->yard.driver, p->short_alone / 1e6,
		       (double)p->period_ns / 1e6, p->long_alone / 1e6, "isolation", "policy",
		       "alone p50", "alone p99", "p50 ms", "p90 ms", "p99 ms", "p99/alone",
		       "long ms", "long kept", "both / sum");
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = run_way(p, &way[i], &f[i], &err);
		if (rc == 0)
			print(stdout, p, &way[i], &f[i], 0);
		fflush(stdout);
	}
	if (rc < 0)
		bench_fail("%s", err.text);
	else if (p->common.output)
		rc = write_csv(p, way, f, count);
	bench_stage_close(&p->common.stage);
	return rc < 0;
}

static int run(int argc, char **argv)
{
	static struct pair p = {
		.ways = { .policy = "piv", .isolation = "none,contexts" },
		.short_ns = GS_NS_PER_MS,
		.long_ns = 100 * GS_NS_PER_MS,
		.period_ns = 5 * GS_NS_PER_MS,
		.task_ns = 50 * GS_NS_PER_US,
		.count = 400,
		.together = 10,
	};
	static const struct gs_option options[] = {
		{ "short", .duration = &p.short_ns },
		{ "long", .duration = &p.long_ns },
		{ "every", .duration = &p.period_ns },
		{ "task", .duration = &p.task_ns },
		{ "count", .number = &p.count, .least = 1, .most = BENCH_SAMPLES_MAX },
		{ "together", .number = &p.together, .least = 1, .most = 1000 },
		BENCH_WAYS_OPTIONS(p.ways),
		BENCH_COMMON_OPTIONS(p.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_pair, &p.common, options, 0, argc, argv, &status))
		return status;
	return execute(&p);
}

const struct bench_verb bench_verb_pair = {
	.name = "pair",
	.usage = "[OPTION]...",
	.words = "A short kernel at high priority beside long ones, and two long ones",
	.help = BENCH_WAYS_HELP(
		"piv") "      --short MS        the short kernel (default 1)\n"
		       "      --every MS        one is due so often (default 5)\n"
		       "      --count N         so many of them (default 400)\n"
		       "      --long MS         the long kernel (default 100)\n"
		       "      --together N      so many long ones by each of two (default 10)\n"
		       "      --task MS         length of a block-task (default 50us)\n",
	.run = run,
};
