/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench handover: what giving the GPU to another process costs.
 * In turn: two programs launch one kernel each, one after the other; what a
 * launch takes beyond the program's own time alone.  Kept: the same of a second
 * launch right behind, for which nothing is handed over.  Evicted: both compute at
 * once; the median gap between one's last block-task and the other's next, by the
 * device's clock.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"
#include "gpushare/metrics/metrics.h"

#define LENGTHS_MAX 8
#define ALONE 24
#define RUN_S 300
#define CONTEST_NS (60 * GS_NS_PER_MS)

struct handover {
	struct bench_common common;
	struct bench_ways ways;
	struct bench_yard yard;
	uint64_t length_ns[LENGTHS_MAX], task_ns;
	size_t lengths;
	uint32_t count;
};

struct figures {
	size_t count;
	double p50, p90, p99; /* ns */
};

static void quantiles(struct figures *f, double *ns, size_t n)
{
	*f = (struct figures) { n, gs_quantile(ns, n, 0.5), gs_quantile(ns, n, 0.9),
				gs_quantile(ns, n, 0.99) };
}

/* Of the `which`-th launch of each turn. */
static int alternately(struct handover *h, struct bench_workers *workers, uint32_t which,
		       struct figures *f, struct gs_error *err)
{
	double *extra = malloc(2 * h->count * sizeof(*extra)), alone[2];
	size_t n = 0;
	int rc = 0;

	if (!extra)
		return gs_fail(err, "no memory");
	for (uint32_t i = 0; rc == 0 && i < 2; i++) {
		alone[i] = (double)bench_workers_alone(workers, i, ALONE, err);
		rc = alone[i] > 0 ? 0 : -1;
	}
	for (uint32_t k = 0; rc == 0 && k < 2 * h->count; k++) {
		struct bench_slot *s = &workers->page->slot[k % 2];

		s->work.launches = which + 1;
		s->work.release_ns = 0;
		bench_workers_order(workers, k % 2, BENCH_RUN);
		rc = bench_workers_wait(workers, k % 2, RUN_S, err);
		extra[n++] = (double)(s->sample[which].finish_ns - s->sample[which].launch_ns) -
			     alone[k % 2];
	}
	if (rc == 0)
		quantiles(f, extra, n);
	free(extra);
	return rc;
}

static int by_begin(const void *a, const void *b)
{
	const struct bench_stretch *x = a, *y = b;

	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/*
 * The gaps of one contest. `all` has the stretches of both programs, with the program's number in
 * the lowest bit of from_ns. Only stretches count that began while both still computed: the last
 * stretch of the program that ends first is the limit. A gap is negative where one program's block-
 * tasks begin before the last ones of the other have ended, as under MPS. A stretch within another
 * one is no hand-over.
 */
static size_t find_gaps(struct bench_workers *workers, struct bench_stretch *all, double *gap,
			size_t room)
{
	size_t n = 0, gaps = 0;

	for (uint32_t i = 0; i < 2; i++) {
		const struct bench_slot *s = &workers->page->slot[i];

		for (uint32_t k = 0; k < s->stretches; k++) {
			all[n] = s->stretch[k];
			all[n].from_ns = (all[n].from_ns & ~UINT64_C(1)) | i;
			n++;
		}
	}
	qsort(all, n, sizeof(*all), by_begin);
	for (size_t k = 1; k < n && gaps < room; k++)
		if (((all[k].from_ns ^ all[k - 1].from_ns) & 1) && all[k].to_ns > all[k - 1].to_ns)
			gap[gaps++] = (double)all[k].from_ns - (double)all[k - 1].to_ns;
	return gaps;
}

static int evicted(struct handover *h, struct bench_workers *workers, struct figures *f,
		   struct gs_error *err)
{
	struct bench_stretch *all = malloc(2 * BENCH_STRETCHES_MAX * sizeof(*all));
	size_t room = 2 * (size_t)h->count, n = 0;
	double *gap = malloc(room * sizeof(*gap));
	int rc = all && gap ? 0 : gs_fail(err, "no memory");

	for (uint32_t i = 0; rc == 0 && i < 2; i++) {
		bench_set_kernel(workers, i, &h->yard, bench_waves(&h->yard, CONTEST_NS));
		rc = bench_workers_alone(workers, i, 2, err) ? 0 : -1;
	}
	for (int contest = 0; rc == 0 && contest < 8 && n < room; contest++) {
		uint64_t release = gs_clock_ns() + 20 * GS_NS_PER_MS;

		for (uint32_t i = 0; i < 2; i++) {
			workers->page->slot[i].work.launches = 1;
			workers->page->slot[i].work.release_ns = release;
			bench_workers_order(workers, i, BENCH_RUN);
		}
		rc = bench_workers_wait_all(workers, RUN_S, err);
		for (uint32_t i = 0; rc == 0 && i < 2; i++)
			bench_workers_order(workers, i, BENCH_COLLECT);
		if (rc == 0)
			rc = bench_workers_wait_all(workers, RUN_S, err);
		if (rc == 0)
			n += find_gaps(workers, all, gap + n, room - n);
	}
	if (rc == 0)
		quantiles(f, gap, n);
	free(all);
	free(gap);
	return rc;
}

static void print(FILE *out, const struct bench_way *way, const char *how, uint64_t length_ns,
		  const struct figures *f, int csv)
{
	fprintf(out,
		csv ? "%s,%s,%s,%.3f,%zu,%.3f,%.3f,%.3f\n" :
		      "%-9s %-7s %-8s %9.3f %9zu %9.1f %9.1f %9.1f\n",
		bench_way_isolation(way), way->policy, how, (double)length_ns / 1e6, f->count,
		f->p50 / 1e3, f->p90 / 1e3, f->p99 / 1e3);
	fflush(out);
}

static void tell(FILE *csv, const struct bench_way *way, const char *how, uint64_t length_ns,
		 const struct figures *f)
{
	print(stdout, way, how, length_ns, f, 0);
	if (csv)
		print(csv, way, how, length_ns, f, 1);
}

static int run_way(struct handover *h, const struct bench_way *way, FILE *csv, struct gs_error *err)
{
	static const struct bench_part part[] = { { .shares = 50, .priority = 1 },
						  { .shares = 50, .priority = 1 } };
	struct bench_workers workers;
	struct figures f = { 0 };
	int rc = 0;

	if (bench_enter(&workers, &h->common.stage, way, part, 2, h->yard.memory, err) < 0)
		return -1;
	for (size_t k = 0; rc == 0 && k < h->lengths; k++) {
		for (uint32_t i = 0; i < 2; i++)
			bench_set_kernel(&workers, i, &h->yard,
					 bench_waves(&h->yard, h->length_ns[k]));
		for (uint32_t which = 0; rc == 0 && which < 2; which++) {
			rc = alternately(h, &workers, which, &f, err);
			if (rc == 0)
				tell(csv, way, which ? "kept" : "in-turn", h->length_ns[k], &f);
		}
	}
	if (rc == 0)
		rc = evicted(h, &workers, &f, err);
	if (rc == 0)
		tell(csv, way, "evicted", CONTEST_NS, &f);
	bench_leave(&workers, way, rc < 0);
	return rc;
}

static int run_all(void *of, FILE *csv, struct gs_error *err)
{
	struct handover *h = of;
	struct bench_way way[BENCH_WAYS_MAX];
	size_t count = bench_ways_plan(&h->ways, way);

	if (bench_calibrate_device(&h->common.stage, h->task_ns, &h->yard, err) < 0)
		return -1;
	printf("%s, CUDA driver %s: hand-over between two processes, us\n\n"
	       "%-9s %-7s %-8s %9s %9s %9s %9s %9s\n",
	       h->yard.device, h->yard.driver, "isolation", "policy", "how", "kernel ms",
	       "handovers", "p50", "p90", "p99");
	if (csv) {
		bench_output_head(csv, &h->common, h->yard.device, h->yard.driver);
		fprintf(csv, "isolation,policy,how,kernel_ms,handovers,p50_us,p90_us,p99_us\n");
	}
	for (size_t i = 0; i < count; i++)
		if (run_way(h, &way[i], csv, err) < 0)
			return -1;
	return 0;
}

static int take_length(void *of, const char *value, struct gs_error *err)
{
	struct handover *h = of;

	if (h->lengths == LENGTHS_MAX)
		return gs_fail(err, "at most %d lengths", LENGTHS_MAX);
	return gs_parse_duration(value, &h->length_ns[h->lengths++], err);
}

static int run(int argc, char **argv)
{
	static struct handover h = {
		.ways = { .policy = "rr", .isolation = "none,contexts" },
		.task_ns = 50 * GS_NS_PER_US,
		.count = 200,
	};
	static const struct gs_option options[] = {
		{ "length", .take = take_length, .of = &h },
		{ "count", .number = &h.count, .least = 1, .most = 100000 },
		{ "task", .duration = &h.task_ns },
		BENCH_WAYS_OPTIONS(h.ways),
		BENCH_COMMON_OPTIONS(h.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_handover, &h.common, options, 0, argc, argv, &status))
		return status;
	if (!h.lengths) {
		h.lengths = 3;
		h.length_ns[0] = GS_NS_PER_MS / 5;
		h.length_ns[1] = GS_NS_PER_MS;
		h.length_ns[2] = 4 * GS_NS_PER_MS;
	}
	return bench_on_stage(&h.common, run_all, &h);
}

const struct bench_verb bench_verb_handover = {
	.name = "handover",
	.usage = "[OPTION]...",
	.words = "What giving the GPU to another process costs",
	.help = BENCH_WAYS_HELP(
		"rr") "      --length MS       of kernels in turn; may be repeated (default 0.2, 1, 4)\n"
		      "      --count N         launches of each (default 200)\n"
		      "      --task MS         length of a block-task (default 50us)\n",
	.run = run,
};
