/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench overhead: the papers' kernels alone on the GPU, in a program
 * without gpushare and in one under it, taking turns; so both see the same
 * clocks.  Each kernel gets the size at which it takes long enough to be worth
 * evicting, and the shim's summary tells whether it could have been.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"
#include "gpushare/bench/suite.h"
#include "gpushare/metrics/metrics.h"

#define SUITE_MAX 64
#define ROUNDS_MAX 99
#define BATCH_NS (30 * GS_NS_PER_MS)
#define BATCH_MAX 64
#define RUN_S 300

enum { NATIVE, MANAGED };

struct overhead {
	struct bench_common common;
	struct bench_ways ways;
	struct bench_yard yard;
	const char *folder, *only;
	uint64_t target_ns, memory;
	uint32_t rounds;
};

struct row {
	const char *file, *kernel;
	uint64_t q, tasks;
	uint32_t batch;
	double native_ns, managed_ns; /* of one launch */
	long launches, evictable;     /* under gpushare; -1: not told */
};

/* One batch by a program; ns of one launch, 0 with the reason. */
static double batch(struct overhead *o, struct bench_workers *workers, uint32_t who, size_t i,
		    uint64_t q, uint32_t launches, struct gs_error *err)
{
	struct bench_slot *s = &workers->page->slot[who];

	snprintf(s->work.folder, sizeof(s->work.folder), "%s", o->folder);
	s->work.call = (uint32_t)i;
	s->work.tasks = q;
	s->work.launches = launches;
	bench_workers_order(workers, who, BENCH_SUITE);
	if (bench_workers_wait(workers, who, RUN_S, err) < 0)
		return 0;
	return (double)(s->sample[0].finish_ns - s->sample[0].launch_ns) / launches;
}

/* The one of the two programs that finds the size. */
struct sizer {
	struct overhead *o;
	struct bench_workers *workers;
};

static double size_batch(void *of, size_t i, uint64_t q, uint32_t launches, struct gs_error *err)
{
	struct sizer *s = of;

	return batch(s->o, s->workers, NATIVE, i, q, launches, err);
}

static int find_size(struct overhead *o, struct bench_workers *workers, size_t i, struct row *r,
		     struct gs_error *err)
{
	struct sizer s = { o, workers };
	/* Both programs hold the kernel's memory at once. */
	const struct bench_suite_growth growth = { o->target_ns, o->memory / 3, size_batch, &s };
	double ns;

	if (bench_suite_grow(&growth, i, &r->q, &ns, err) < 0)
		return -1;
	r->tasks = bench_suite_tasks(i, r->q);
	r->batch = (uint32_t)((double)BATCH_NS / ns);
	r->batch = r->batch < 2 ? 2 : r->batch > BATCH_MAX ? BATCH_MAX : r->batch;
	return 0;
}

/*
 * Medians of one launch by both programs, ns, with the kernel's memory allocated anew, by program
 * `first` first.
 */
static int measure(struct overhead *o, struct bench_workers *workers, size_t i, const struct row *r,
		   uint32_t first, double ns[2], struct gs_error *err)
{
	uint64_t small =
		r->q == BENCH_SUITE_Q_LEAST ? 2 * BENCH_SUITE_Q_LEAST : BENCH_SUITE_Q_LEAST;
	uint32_t rounds = (o->rounds + 1) / 2;
	double took[2][ROUNDS_MAX];

	/* Free the memory of both programs before either allocates. */
	for (uint32_t who = NATIVE; who <= MANAGED; who++)
		if (batch(o, workers, who, i, small, 1, err) <= 0)
			return -1;
	for (uint32_t k = 0; k < 2; k++)
		if (batch(o, workers, first ^ k, i, r->q, r->batch, err) <= 0)
			return -1;
	for (uint32_t round = 0; round < rounds; round++)
		for (uint32_t who = NATIVE; who <= MANAGED; who++) {
			took[who][round] = batch(o, workers, who, i, r->q, r->batch, err);
			if (took[who][round] <= 0)
				return -1;
		}
	for (uint32_t who = NATIVE; who <= MANAGED; who++)
		ns[who] = gs_quantile(took[who], rounds, 0.5);
	return 0;
}

/*
 * Where the memory lies matters, too: one kernel took 2 % more of either process's time, with
 * gpushare or without it, by the order in which they had allocated. So half of the turns use one
 * order, half the other.
 */
static int compare(struct overhead *o, struct bench_workers *workers, size_t i, struct row *r,
		   struct gs_error *err)
{
	double a[2], b[2];

	if (find_size(o, workers, i, r, err) < 0 || measure(o, workers, i, r, NATIVE, a, err) < 0 ||
	    measure(o, workers, i, r, MANAGED, b, err) < 0)
		return -1;
	r->native_ns = sqrt(a[NATIVE] * b[NATIVE]);
	r->managed_ns = sqrt(a[MANAGED] * b[MANAGED]);
	return 0;
}

/* Lines of "launches evictable evictions form reason name"; a kernel has one for each time that it
 * was loaded. */
static void read_summary(const struct bench_stage *stage, struct row *row, size_t count)
{
	char path[PATH_MAX], name[256];
	long launches, evictable;
	FILE *f;

	snprintf(path, sizeof(path), "%s/summary", stage->folder);
	f = fopen(path, "re");
	if (!f)
		return;
	while (fscanf(f, "%ld %ld %*d %*d %*d %255s", &launches, &evictable, name) == 3)
		for (size_t i = 0; i < count; i++)
			if (strcmp(row[i].kernel, name) == 0) {
				row[i].launches =
					(row[i].launches < 0 ? 0 : row[i].launches) + launches;
				row[i].evictable += evictable;
			}
	fclose(f);
}

static int run_way(struct overhead *o, const struct bench_way *way, struct row *row, size_t *count,
		   struct gs_error *err)
{
	static const struct bench_part part[] = { { .shares = 1, .native = 1 },
						  { .shares = 100, .priority = 1 } };
	struct bench_stage *stage = &o->common.stage;
	struct bench_workers workers;
	char path[PATH_MAX];
	int rc = 0;

	snprintf(path, sizeof(path), "%s/summary", stage->folder);
	remove(path);
	if (bench_enter(&workers, stage, way, part, 2, o->yard.memory, err) < 0)
		return -1;
	*count = 0;
	for (size_t i = 0; rc == 0 && i < SUITE_MAX && bench_suite_kernel(i); i++) {
		struct row *r = &row[*count];

		*r = (struct row) { .file = bench_suite_file(i),
				    .kernel = bench_suite_kernel(i),
				    .launches = -1 };
		if (o->only && !strstr(r->kernel, o->only))
			continue;
		rc = compare(o, &workers, i, r, err);
		++*count;
		if (rc == 0)
			fprintf(stderr, "gpushare-bench: %s %.3f\n", r->kernel,
				r->managed_ns / r->native_ns);
	}
	bench_leave(&workers, way, rc < 0);
	if (rc == 0)
		read_summary(stage, row, *count);
	return rc;
}

static void print(FILE *out, const struct bench_way *way, const struct row *r, int csv)
{
	fprintf(out,
		csv ? "%s,%s,%s,%s,%llu,%.4f,%.4f,%.4f,%ld,%ld\n" :
		      "%-9s %-7s %-5s %-30s %10llu %10.4f %10.4f %7.3f %9ld of %ld\n",
		bench_way_isolation(way), way->policy, r->file, r->kernel,
		(unsigned long long)r->tasks, r->native_ns / 1e6, r->managed_ns / 1e6,
		r->managed_ns / r->native_ns, r->evictable, r->launches);
}

static void print_means(FILE *out, const struct bench_way *way, const struct row *row, size_t count,
			int csv)
{
	double sum = 0, worst = 0;
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		double ratio = row[i].managed_ns / row[i].native_ns;

		sum += log(ratio);
		if (ratio > worst) {
			worst = ratio;
			at = i;
		}
	}
	fprintf(out,
		csv ? "# %s %s: geometric mean %.4f over %zu kernels, worst %.4f (%s)\n" :
		      "%s %s: geometric mean %.4f over %zu kernels, worst %.4f (%s)\n",
		bench_way_isolation(way), way->policy, exp(sum / (double)count), count, worst,
		row[at].kernel);
}

static int run_all(void *of, FILE *csv, struct gs_error *err)
{
	struct overhead *o = of;
	struct bench_way way[BENCH_WAYS_MAX];
	struct row row[SUITE_MAX];
	size_t ways = bench_ways_plan(&o->ways, way), count;

	if (bench_calibrate_device(&o->common.stage, 50 * GS_NS_PER_US, &o->yard, err) < 0)
		return -1;
	o->memory = o->yard.memory;
	printf("%s, CUDA driver %s: one launch of many, ms\n\n%-9s %-7s %-5s %-30s %10s %10s %10s "
	       "%7s %s\n",
	       o->yard.device, o->yard.driver, "isolation", "policy", "suite", "kernel", "tasks",
	       "original", "managed", "ratio", "evictable");
	if (csv) {
		bench_output_head(csv, &o->common, o->yard.device, o->yard.driver);
		fprintf(csv, "isolation,policy,suite,kernel,block_tasks,original_ms,managed_ms,"
			     "ratio,evictable,launches\n");
	}
	for (size_t i = 0; i < ways; i++) {
		if (!bench_managed(way[i].share))
			continue;
		if (run_way(o, &way[i], row, &count, err) < 0)
			return -1;
		if (count == 0)
			return gs_fail(err, "no kernel's name has '%.40s' in it", o->only);
		for (size_t k = 0; k < count; k++) {
			print(stdout, &way[i], &row[k], 0);
			if (csv)
				print(csv, &way[i], &row[k], 1);
		}
		print_means(stdout, &way[i], row, count, 0);
		if (csv)
			print_means(csv, &way[i], row, count, 1);
	}
	return 0;
}

static int run(int argc, char **argv)
{
	static struct overhead o = {
		.ways = { .policy = "piv", .isolation = "contexts" },
		.folder = GS_KERNELS_DIR,
		.target_ns = GS_NS_PER_MS,
		.rounds = 9,
	};
	static const struct gs_option options[] = {
		{ "kernels", .text = &o.folder },
		{ "only", .text = &o.only },
		{ "length", .duration = &o.target_ns },
		{ "turns", .number = &o.rounds, .least = 1, .most = ROUNDS_MAX },
		BENCH_MANAGED_OPTIONS(o.ways),
		BENCH_COMMON_OPTIONS(o.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_overhead, &o.common, options, 0, argc, argv, &status))
		return status;
	return bench_on_stage(&o.common, run_all, &o);
}

const struct bench_verb bench_verb_overhead = {
	.name = "overhead",
	.usage = "[OPTION]...",
	.words = "The papers' kernels, original and under gpushare, each alone",
	.help = "  -p, --policy LIST     (default: piv)\n"
		"  -i, --isolation LIST  contexts, mps (default: contexts)\n"
		"      --kernels DIR     folder of the suites' PTX (default: where it is installed)\n"
		"      --only TEXT       kernels with this in their name\n"
		"      --length MS       grow each kernel until it takes so long (default 1)\n"
		"      --turns N         batches of each, in turn (default 9), half of them\n"
		"                        with one's memory there first, half with the other's\n",
	.run = run,
};
