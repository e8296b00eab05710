/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench slices: what it costs to cut the papers' kernels into slices, each no longer than
 * a latency, as GPES and PKM do to be able to preempt (slice.h has what they are then). One
 * program, which has neither a daemon nor the shim, launches a kernel as written, its sliced
 * variant in one launch, and its slices with and without a look of the host in between; the four
 * take turns, so that all see the same clocks.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/ptx/kind.h"
#include "gpushare/bench/measure.h"
#include "gpushare/bench/slices_verb.h"
#include "gpushare/bench/suite.h"
#include "gpushare/metrics/metrics.h"

#define RUN_S 300
#define PROBES 15 /* slices of which the median is how long one takes */
/* A row that takes more than this part of the limit would take too much from the others. */
#define ROW_PART 10
/* A kernel keeps copies of its memory as loaded and as the kernel as written leaves it. */
#define MEMORY_PART 4

/* The kernel that is measured. */
struct subject {
	size_t number;
	const char *name;
	uint64_t q, grid, wave;
	double written_ns, block_ns;
};

static double took_ns(const struct bench_sample *sample)
{
	return (double)(sample->finish_ns - sample->launch_ns);
}

/* Launch in that way; -1 with the reason. */
static int launch(struct slices *s, const struct subject *is, uint32_t way, uint64_t blocks,
		  uint32_t launches, struct gs_error *err)
{
	struct bench_slot *slot = &s->workers.page->slot[0];
	struct bench_work *work = &slot->work;

	snprintf(work->folder, sizeof(work->folder), "%s", s->folder);
	work->call = (uint32_t)is->number;
	work->tasks = is->q;
	work->way = way;
	work->slice = blocks;
	work->launches = launches;
	bench_workers_order(&s->workers, 0, BENCH_SLICES);
	return bench_workers_wait(&s->workers, 0, RUN_S, err);
}

/* The median of the slices that were waited for, ns. */
static double slice_ns(const struct slices *s, const struct slices_row *row)
{
	const struct bench_slot *slot = &s->workers.page->slot[0];
	uint64_t n = slot->answer.launched;
	double *took = malloc((n + 1) * sizeof(*took)), ns;

	if (!took)
		return 0;
	for (uint64_t k = 0; k < n; k++)
		took[k] = took_ns(&slot->sample[k + 1]);
	ns = slices_median(took, n, row);
	free(took);
	return ns;
}

/* What a slice of so many blocks takes; 0 with the reason. */
static double probe(struct slices *s, const struct subject *is, uint64_t blocks,
		    struct gs_error *err)
{
	static const struct slices_row any;

	if (launch(s, is, BENCH_SOME_SLICES, blocks, PROBES, err) < 0)
		return 0;
	return slice_ns(s, &any);
}

/* ---- a row ------------------------------------------------------------------------- */

/* Blocks and the length of a slice. */
static int find_slice(struct slices *s, const struct subject *is, struct slices_row *r,
		      struct gs_error *err)
{
	struct slices_search search = { .grid = is->grid,
					.wave = is->wave,
					.target_ns = r->target_ns };
	int more = slices_begin(&search, is->written_ns, is->block_ns);

	r->unreachable = !more;
	while (more) {
		double ns = probe(s, is, search.blocks, err);

		if (ns <= 0)
			return -1;
		more = slices_tried(&search, ns);
	}
	r->blocks = r->unreachable ? search.blocks : search.met;
	r->slices = slices_count(is->grid, r->blocks);
	r->slice_ns = r->unreachable ? probe(s, is, r->blocks, err) : search.met_ns;
	return r->slice_ns > 0 ? 0 : -1;
}

/* All results of the three ways, from the same memory. */
static int check(struct slices *s, const struct subject *is, struct slices_row *r,
		 struct gs_error *err)
{
	r->right = 1;
	for (uint32_t way = BENCH_ONE_SLICE; way < BENCH_SLICES_WAYS; way++) {
		if (launch(s, is, way | BENCH_SLICES_COMPARE, r->blocks, 1, err) < 0)
			return -1;
		if (s->workers.page->slot[0].answer.wrong)
			r->right = 0;
	}
	return 0;
}

static int time_ways(struct slices *s, const struct subject *is, struct slices_row *r,
		     struct gs_error *err)
{
	double took[BENCH_SLICES_WAYS][SLICES_RUNS_MAX], slice[SLICES_RUNS_MAX];

	for (uint32_t round = 0; round < s->runs; round++)
		for (uint32_t place = 0; place < BENCH_SLICES_WAYS; place++) {
			enum bench_slices_way way = slices_way_in(round, place);

			if (launch(s, is, way, r->blocks, 1, err) < 0)
				return -1;
			took[way][round] = took_ns(&s->workers.page->slot[0].sample[0]);
			if (way == BENCH_WITH_CHECK)
				slice[round] = slice_ns(s, r);
		}
	for (int way = 0; way < BENCH_SLICES_WAYS; way++)
		r->way_ns[way] = gs_quantile(took[way], s->runs, 0.5);
	r->slice_ns = gs_quantile(slice, s->runs, 0.5);
	r->measured = 1;
	return 0;
}

/* What a row will take: the rounds, and one more for the results. */
static double estimate_s(const struct slices *s, const struct subject *is,
			 const struct slices_row *r)
{
	double cut = (double)r->slices * r->slice_ns;

	if (cut < is->written_ns)
		cut = is->written_ns;
	return 2 * (is->written_ns + cut) * (s->runs + 1) / 1e9;
}

/* Leave a row out that does not fit. */
static int fits(struct slices *s, struct slices_row *r, double seconds)
{
	if (seconds <= (double)s->limit_s / ROW_PART &&
	    (double)gs_clock_ns() + seconds * 1e9 <= (double)s->until_ns)
		return 1;
	s->left_out++;
	snprintf(r->note, sizeof(r->note), "left out: it would take %.1f s", seconds);
	return 0;
}

static void explain(const struct subject *is, struct slices_row *r)
{
	if (r->unreachable)
		snprintf(r->note, sizeof(r->note),
			 "target not reachable: one block takes %.4f ms; slices of a wave",
			 is->block_ns / 1e6);
	else if (r->measured && r->slice_ns > r->target_ns * (1 + SLICES_TOLERANCE))
		snprintf(r->note, sizeof(r->note), "over the target");
	else if (r->measured && r->slices == 1)
		snprintf(r->note, sizeof(r->note), "the kernel is no longer than the target");
}

static int measure_row(struct slices *s, const struct subject *is, struct slices_row *r,
		       struct gs_error *err)
{
	/* Without more knowledge: slices cost nothing. */
	if (!fits(s, r, 4 * is->written_ns * (s->runs + 1) / 1e9))
		return 0;
	if (find_slice(s, is, r, err) < 0)
		return -1;
	if (!fits(s, r, estimate_s(s, is, r)))
		return 0;
	if (check(s, is, r, err) < 0 || time_ways(s, is, r, err) < 0)
		return -1;
	s->wrong += !r->right;
	explain(is, r);
	return 0;
}

/* ---- a kernel ---------------------------------------------------------------------- */

struct sizer {
	struct slices *s;
	struct subject *is;
};

static double size_batch(void *of, size_t i, uint64_t q, uint32_t launches, struct gs_error *err)
{
	struct sizer *z = of;

	(void)i;
	z->is->q = q;
	if (launch(z->s, z->is, BENCH_AS_WRITTEN, 0, launches, err) < 0)
		return 0;
	return took_ns(&z->s->workers.page->slot[0].sample[0]) / launches;
}

static struct slices_row *new_row(struct slices *s, const struct subject *is, size_t target)
{
	struct slices_row *r = &s->row[s->rows++];

	*r = (struct slices_row) { .kernel = is->name, .target_ns = (double)s->target.ns[target] };
	return r;
}

/* Has the kernel a sliced variant?  1, 0, or -1 with the reason. */
static int has_variant(struct slices *s, const struct subject *is, struct gs_error *err)
{
	const struct bench_answer *answer = &s->workers.page->slot[0].answer;

	if (launch(s, is, BENCH_AS_WRITTEN, 0, 1, err) < 0)
		return -1;
	return !answer->refused;
}

/* Its size, and what it and a block of it take. */
static int prepare(struct slices *s, struct subject *is, struct gs_error *err)
{
	const struct bench_answer *answer = &s->workers.page->slot[0].answer;
	struct sizer z = { s, is };
	const struct bench_suite_growth growth = { s->length_ns, answer->memory / MEMORY_PART,
						   size_batch, &z };

	if (bench_suite_grow(&growth, is->number, &is->q, &is->written_ns, err) < 0)
		return -1;
	is->grid = bench_suite_tasks(is->number, is->q);
	is->wave = answer->wave;
	is->block_ns = probe(s, is, 1, err);
	return is->block_ns > 0 ? 0 : -1;
}

static int measure_kernel(struct slices *s, struct subject *is, struct gs_error *err)
{
	int in_time = gs_clock_ns() < s->until_ns;
	int variant = in_time ? has_variant(s, is, err) : 1;

	if (variant < 0 || (variant && in_time && prepare(s, is, err) < 0))
		return -1;
	for (size_t i = 0; i < s->target.count; i++) {
		struct slices_row *r = new_row(s, is, i);
		int rc = 0;

		if (!variant) {
			snprintf(r->note, sizeof(r->note), "no sliced variant: it %s",
				 ptx_reason_words(
					 (enum ptx_reason)s->workers.page->slot[0].answer.refused));
		} else if (!in_time) {
			snprintf(r->note, sizeof(r->note), "left out: no time was left");
			s->left_out++;
		} else {
			rc = measure_row(s, is, r, err);
		}
		if (rc < 0)
			return -1;
		slices_print(s, r);
	}
	return 0;
}

static int measure_all(struct slices *s, struct gs_error *err)
{
	slices_head(s);
	for (size_t i = 0; bench_suite_kernel(i); i++) {
		struct subject is = { .number = i,
				      .name = bench_suite_kernel(i),
				      .q = BENCH_SUITE_Q_LEAST };

		if (s->only && !strstr(is.name, s->only))
			continue;
		if (s->rows + s->target.count > SLICES_ROWS_MAX)
			return gs_fail(err, "more than %d rows", SLICES_ROWS_MAX);
		if (measure_kernel(s, &is, err) < 0)
			return -1;
	}
	if (!s->rows)
		return gs_fail(err, "no kernel's name has '%.40s' in it", s->only);
	slices_summary(s);
	if (s->wrong)
		return gs_fail(err, "%zu of %zu rows have wrong results", s->wrong, s->rows);
	return 0;
}

static int run_all(void *of, FILE *csv, struct gs_error *err)
{
	static const struct bench_way driver = { BENCH_DRIVER, "driver" };
	static const struct bench_part part = { .shares = 1 };
	struct slices *s = of;
	int rc;

	s->csv = csv;
	s->until_ns = gs_clock_ns() + s->limit_s * GS_NS_PER_S;
	s->row = calloc(SLICES_ROWS_MAX, sizeof(*s->row));
	if (!s->row)
		return gs_fail(err, "no memory");
	rc = bench_enter(&s->workers, &s->common.stage, &driver, &part, 1, 0, err);
	if (rc == 0) {
		rc = measure_all(s, err);
		bench_leave(&s->workers, &driver, rc < 0);
	}
	free(s->row);
	return rc;
}

static int run(int argc, char **argv)
{
	static struct slices s = {
		.folder = GS_KERNELS_DIR,
		.target = { { 62500, 125000, 250000, 500000, 1000000, 2000000 }, 6 },
		.length_ns = 6 * GS_NS_PER_MS,
		.runs = 8,
		.limit_s = 110,
	};
	static const struct gs_option options[] = {
		{ "kernels", .text = &s.folder },
		{ "only", .text = &s.only },
		{ "targets", .take = bench_take_lengths, .of = &s.target },
		{ "length", .duration = &s.length_ns },
		{ "runs", .number = &s.runs, .least = 1, .most = SLICES_RUNS_MAX },
		{ "limit", .number = &s.limit_s, .least = 1, .most = 86400 },
		BENCH_COMMON_OPTIONS(s.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_slices, &s.common, options, 0, argc, argv, &status))
		return status;
	for (size_t i = 0; i < s.target.count; i++)
		if (!s.target.ns[i])
			return bench_usage(&bench_verb_slices, "a target of nothing");
	return bench_on_stage(&s.common, run_all, &s);
}

const struct bench_verb bench_verb_slices = {
	.name = "slices",
	.usage = "[OPTION]...",
	.words = "The papers' kernels cut into slices (GPES, PKM), without gpushare",
	.help = "      --targets LIST    no slice is longer than that, 16 at most (default\n"
		"                        62.5us,125us,250us,500us,1ms,2ms)\n"
		"      --kernels DIR     folder of the suites' PTX (default: where it is installed)\n"
		"      --only TEXT       kernels with this in their name\n"
		"      --length MS       grow each kernel until it takes so long (default 6)\n"
		"      --runs N          launches in each way, in turn; a multiple of 4 gives each\n"
		"                        way each place as often (default 8)\n"
		"      --limit SECONDS   leave out what would end later (default 110)\n",
	.run = run,
};
