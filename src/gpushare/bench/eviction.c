/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench eviction: from gpushared's order to leave to its seeing the
 * client gone, for several lengths of block-tasks, as gpushared's own trace has
 * it, and where the time goes (stages.h).  A short kernel of high priority evicts
 * a long one of low priority, again and again.  And what the long one takes under
 * gpushare when nobody evicts it, of its time without.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "common/clock.h"
#include "gpushare/bench/bench.h"
#include "gpushare/bench/stages.h"

#define ROUNDS_MORE 3
#define RUN_S 500
#define ALONE 10 /* launches */
#define LONG_WAVES_MIN 64
/* A guarded one of many more blocks does not leave within 0.3 ms. */
#define LONG_WAVES_GUARDED_MIN 24

enum { SHORT, LONG };

struct eviction {
	struct bench_common common;
	struct bench_ways ways;
	struct bench_yard yard;
	struct bench_lengths task;
	uint32_t count;
	uint64_t short_ns, long_ns, period_ns;
};

struct figures {
	uint64_t wave_ns, clock_error_ns, alone_ns, native_ns; /* of the long one */
	struct bench_spread whole, stage[BENCH_STAGES];
};

/* The long one once, and the short one into it, again and again. */
static int round_of(struct eviction *e, struct bench_workers *workers, uint64_t alone_ns,
		    struct bench_stages *stages, struct gs_error *err)
{
	struct bench_slot *l = &workers->page->slot[LONG], *s = &workers->page->slot[SHORT];
	struct bench_clock before;
	uint64_t begin;

	bench_workers_order(workers, LONG, BENCH_CLOCK);
	if (bench_workers_wait(workers, LONG, RUN_S, err) < 0)
		return -1;
	before = l->answer.clock;
	begin = gs_clock_ns();
	l->work.launches = 1;
	l->work.release_ns = 0;
	bench_workers_order(workers, LONG, BENCH_RUN);
	s->work.launches = (uint32_t)(e->long_ns / e->period_ns) + 1;
	if (s->work.launches > BENCH_SAMPLES_MAX)
		s->work.launches = BENCH_SAMPLES_MAX;
	s->work.period_ns = e->period_ns;
	s->work.release_ns = begin + e->period_ns;
	bench_workers_order(workers, SHORT, BENCH_RUN);
	if (bench_workers_wait_all(workers, RUN_S, err) < 0)
		return -1;
	return bench_stages_add(stages, workers, LONG, SHORT, begin, alone_ns, &before, err);
}

/* What each takes alone, ns. */
static int take_alone(struct eviction *e, struct bench_workers *workers, uint64_t alone[2],
		      struct gs_error *err)
{
	uint64_t waves = bench_waves(&e->yard, e->long_ns);
	uint64_t least = e->common.stage.guarded ? LONG_WAVES_GUARDED_MIN : LONG_WAVES_MIN;

	bench_set_kernel(workers, SHORT, &e->yard, bench_waves(&e->yard, e->short_ns));
	bench_set_kernel(workers, LONG, &e->yard, waves < least ? least : waves);
	for (uint32_t i = 0; i < 2; i++)
		if (!(alone[i] = bench_workers_alone(workers, i, ALONE, err)))
			return -1;
	return 0;
}

static int provoke(struct eviction *e, struct bench_workers *workers, struct bench_stages *stages,
		   uint64_t *alone_ns, struct gs_error *err)
{
	uint64_t alone[2] = { 0, 0 };
	uint64_t rounds = ROUNDS_MORE + ROUNDS_MORE * e->count * e->period_ns / e->long_ns;

	if (take_alone(e, workers, alone, err) < 0)
		return -1;
	*alone_ns = alone[LONG];
	while (stages->count[BENCH_STAGES] < e->count && rounds--)
		if (round_of(e, workers, alone[SHORT], stages, err) < 0)
			return -1;
	return stages->count[BENCH_STAGES] ? 0 : gs_fail(err, "nobody was evicted");
}

/* Without gpushare. */
static int time_native(struct eviction *e, uint64_t *native_ns, struct gs_error *err)
{
	static const struct bench_way driver = { BENCH_DRIVER, "driver" };
	static const struct bench_part part[] = { { .shares = 1 }, { .shares = 1 } };
	struct bench_workers workers;
	uint64_t alone[2];
	int rc;

	if (bench_enter(&workers, &e->common.stage, &driver, part, 2, 0, err) < 0)
		return -1;
	rc = take_alone(e, &workers, alone, err);
	*native_ns = alone[LONG];
	bench_leave(&workers, &driver, rc < 0);
	return rc;
}

static int run_way(struct eviction *e, const struct bench_way *way, struct figures *f,
		   struct gs_error *err)
{
	static const struct bench_part part[] = { { .shares = 50, .priority = 10 },
						  { .shares = 50, .priority = 1 } };
	struct bench_stages stages;
	struct bench_workers workers;
	int rc = bench_stages_init(&stages, e->count, err);

	if (rc < 0 ||
	    bench_enter(&workers, &e->common.stage, way, part, 2, e->yard.memory, err) < 0) {
		bench_stages_fini(&stages);
		return -1;
	}
	rc = provoke(e, &workers, &stages, &f->alone_ns, err);
	f->wave_ns = e->yard.wave_ns;
	f->clock_error_ns = stages.clock_error_ns;
	f->whole = bench_stages_spread(&stages, BENCH_STAGES);
	for (unsigned i = 0; i < BENCH_STAGES; i++)
		f->stage[i] = bench_stages_spread(&stages, i);
	bench_stages_fini(&stages);
	bench_leave(&workers, way, rc < 0);
	return rc;
}

static void print(FILE *out, const struct bench_way *way, const struct figures *f, int csv)
{
	double task = (double)f->wave_ns;

	fprintf(out,
		csv ? "%s,%s,%.3f,%zu,%.3f,%.3f,%.3f,%.3f,%.3f,%.4f" :
		      "%-9s %-7s %9.1f %9zu %9.1f %9.1f %9.1f %10.1f %10.1f %7.4f\n",
		bench_way_isolation(way), way->policy, task / 1e3, f->whole.count,
		f->whole.p50 / 1e3, f->whole.p90 / 1e3, f->whole.p99 / 1e3,
		(f->whole.p50 - task) / 1e3, (f->whole.p99 - task) / 1e3,
		(double)f->alone_ns / (double)f->native_ns);
	for (unsigned i = 0; i < BENCH_STAGES; i++) {
		const struct bench_spread *s = &f->stage[i];

		if (csv)
			fprintf(out, ",%.3f,%.3f,%.3f", s->p50 / 1e3, s->p90 / 1e3, s->p99 / 1e3);
		else
			fprintf(out, "%18s %5s %9s %9zu %9.1f %9.1f %9.1f\n", "",
				bench_stage_name(i), "", s->count, s->p50 / 1e3, s->p90 / 1e3,
				s->p99 / 1e3);
	}
	if (csv)
		fprintf(out, ",%.3f\n", (double)f->clock_error_ns / 1e3);
	else
		printf("%18s the device's clock is known to %.1f us\n", "",
		       (double)f->clock_error_ns / 1e3);
}

static void print_head(FILE *csv, const struct eviction *e)
{
	bench_output_head(csv, &e->common, e->yard.device, e->yard.driver);
	fprintf(csv, "isolation,policy,task_us,evictions,p50_us,p90_us,p99_us,beyond_p50_us,"
		     "beyond_p99_us,alone_of_native");
	for (unsigned i = 0; i < BENCH_STAGES; i++)
		fprintf(csv, ",%s_p50_us,%s_p90_us,%s_p99_us", bench_stage_name(i),
			bench_stage_name(i), bench_stage_name(i));
	fprintf(csv, ",clock_error_us\n");
}

static int run_all(void *of, FILE *csv, struct gs_error *err)
{
	struct eviction *e = of;
	struct bench_way way[BENCH_WAYS_MAX];
	size_t count = bench_ways_plan(&e->ways, way);

	printf("from the order to leave to the client gone, us\n\n"
	       "%-9s %-7s %9s %9s %9s %9s %9s %10s %10s %7s\n",
	       "isolation", "policy", "task", "evictions", "p50", "p90", "p99", "p50 - task",
	       "p99 - task", "alone");
	for (size_t k = 0; k < e->task.count; k++) {
		uint64_t native_ns;

		if (bench_calibrate_device(&e->common.stage, e->task.ns[k], &e->yard, err) < 0 ||
		    time_native(e, &native_ns, err) < 0)
			return -1;
		if (csv && k == 0)
			print_head(csv, e);
		for (size_t i = 0; i < count; i++) {
			struct figures f = { .native_ns = native_ns };

			if (!bench_managed(way[i].share))
				continue;
			if (run_way(e, &way[i], &f, err) < 0)
				return -1;
			print(stdout, &way[i], &f, 0);
			fflush(stdout);
			if (csv)
				print(csv, &way[i], &f, 1);
		}
	}
	return 0;
}

static int run(int argc, char **argv)
{
	static struct eviction e = {
		.ways = { .policy = "piv", .isolation = "contexts" },
		.task = { { GS_NS_PER_US, 10 * GS_NS_PER_US, 100 * GS_NS_PER_US }, 3 },
		.count = 400,
		.short_ns = GS_NS_PER_MS / 2,
		.long_ns = 50 * GS_NS_PER_MS,
		.period_ns = 3 * GS_NS_PER_MS,
	};
	static const struct gs_option options[] = {
		{ "task", .take = bench_take_lengths, .of = &e.task },
		{ "short", .duration = &e.short_ns },
		{ "long", .duration = &e.long_ns },
		{ "every", .duration = &e.period_ns },
		{ "guarded", .given = &e.common.stage.guarded },
		{ "count", .number = &e.count, .least = 1, .most = BENCH_SAMPLES_MAX },
		BENCH_MANAGED_OPTIONS(e.ways),
		BENCH_COMMON_OPTIONS(e.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_eviction, &e.common, options, 0, argc, argv, &status))
		return status;
	return bench_on_stage(&e.common, run_all, &e);
}

const struct bench_verb bench_verb_eviction = {
	.name = "eviction",
	.usage = "[OPTION]...",
	.words = "From the order to leave to the client gone, by length of the block-tasks",
	.help = "  -p, --policy LIST     policies that evict for a priority (default: piv)\n"
		"  -i, --isolation LIST  contexts, mps (default: contexts)\n"
		"      --task LIST       lengths of block-tasks (default 1us,10us,100us)\n"
		"      --count N         evictions of each (default 400)\n"
		"      --short MS        the kernel that evicts (default 0.5)\n"
		"      --every MS        one is due so often (default 3)\n"
		"      --long MS         the kernel that is evicted (default 50)\n"
		"      --guarded         kernels that may be guarded, and no more\n",
	.run = run,
};
