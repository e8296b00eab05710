/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench corun: what two kernels do at once, each launched again and again, as in SMK's
 * experiments (6.2). One program launches both in streams of one context, as clients of MPS would;
 * for the driver's time slices there is a second one. Neither has gpushare.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/ptx/ctl.h"
#include "device/ptx/kind.h"
#include "gpushare/bench/corun_verb.h"
#include "gpushare/bench/measure.h"
#include "gpushare/bench/suite.h"
#include "gpushare/corun/corun.h"

#define RUN_S 300
/* Each of the two programs keeps all kernels' memory. */
#define MEMORY_PART (4 * CORUN_KERNELS_MAX)
#define EIGHTHS 8
/* A span has room for so many launches of the longer kernel alone, at least. */
#define LAUNCHES_LEAST 12

/* ---- orders ------------------------------------------------------------------------- */

static void order(struct corun *c, uint32_t who, const struct bench_corun *of, uint32_t n)
{
	struct bench_slot *slot = &c->workers.page->slot[who];

	snprintf(slot->work.folder, sizeof(slot->work.folder), "%s", c->folder);
	slot->span_ns = c->span_ns;
	if (slot->span_ns < LAUNCHES_LEAST * c->longest_ns)
		slot->span_ns = LAUNCHES_LEAST * c->longest_ns;
	slot->coruns = n;
	memcpy(slot->corun, of, n * sizeof(*of));
	bench_workers_order(&c->workers, who, BENCH_CORUN);
}

/* Program 0 runs n kernels at once; their answers stand in `of`. */
static int run_at_once(struct corun *c, struct bench_corun *of, uint32_t n, struct gs_error *err)
{
	order(c, 0, of, n);
	if (bench_workers_wait(&c->workers, 0, RUN_S, err) < 0)
		return -1;
	memcpy(of, c->workers.page->slot[0].corun, n * sizeof(*of));
	return 0;
}

/* Two programs, a kernel each. What a program loads first would take from the other's time, so
 * neither has anything to load. */
static int run_in_slices(struct corun *c, struct bench_corun of[2], struct gs_error *err)
{
	for (uint32_t who = 0; who < 2; who++)
		order(c, who, &of[who], 1);
	if (bench_workers_wait_all(&c->workers, RUN_S, err) < 0)
		return -1;
	for (uint32_t who = 0; who < 2; who++)
		of[who] = c->workers.page->slot[who].corun[0];
	return 0;
}

static struct bench_corun as_written(const struct corun_kernel *k)
{
	return (struct bench_corun) { .call = (uint32_t)k->number, .size = k->q };
}

static struct bench_corun of_workers(const struct corun_kernel *k, uint32_t workers, uint32_t sms)
{
	struct bench_corun is = as_written(k);

	is.workers = workers;
	is.sms = sms;
	return is;
}

/* ---- a kernel alone ----------------------------------------------------------------- */

static double size_batch(void *of, size_t i, uint64_t q, uint32_t launches, struct gs_error *err)
{
	struct corun *c = of;
	struct bench_slot *s = &c->workers.page->slot[0];

	snprintf(s->work.folder, sizeof(s->work.folder), "%s", c->folder);
	s->work.call = (uint32_t)i;
	s->work.tasks = q;
	s->work.launches = launches;
	bench_workers_order(&c->workers, 0, BENCH_SUITE);
	if (bench_workers_wait(&c->workers, 0, RUN_S, err) < 0)
		return 0;
	return (double)(s->sample[0].finish_ns - s->sample[0].launch_ns) / launches;
}

static int alone(struct corun *c, struct bench_corun is, double *rate, struct gs_error *err)
{
	if (run_at_once(c, &is, 1, err) < 0)
		return -1;
	*rate = corun_rate(&is);
	return *rate > 0 ? 0 :
			   gs_fail(err, "%s does not end twice within the span",
				   bench_suite_kernel(is.call));
}

/* What it does alone: as written, as workers on all multiprocessors, and on half of them. */
static int measure_alone(struct corun *c, struct corun_kernel *k, struct gs_error *err)
{
	const struct bench_answer *answer = &c->workers.page->slot[0].answer;
	const struct bench_suite_growth growth = { c->length_ns, answer->memory / MEMORY_PART,
						   size_batch, c };
	struct bench_corun is;
	double ns;

	if (bench_suite_grow(&growth, k->number, &k->q, &ns, err) < 0)
		return -1;
	k->ns = (uint64_t)ns;
	c->longest_ns = k->ns;
	is = as_written(k);
	if (run_at_once(c, &is, 1, err) < 0) /* which loads it */
		return -1;
	k->refused = is.refused;
	k->fits = is.fits;
	k->registers = is.registers;
	k->shared = is.shared;
	k->threads = is.threads;
	c->sms = answer->size.sms;
	order(c, 1, &is, 1);
	if (bench_workers_wait(&c->workers, 1, RUN_S, err) < 0 ||
	    alone(c, as_written(k), &k->alone, err) < 0)
		return -1;
	if (k->refused)
		return 0;
	return alone(c, of_workers(k, k->fits, 0), &k->workers, err) < 0 ||
			       alone(c,
				     of_workers(k, k->fits,
						gs_ctl_sms(0, corun_border(c->sms, EIGHTHS / 2))),
				     &k->half, err) < 0 ?
		       -1 :
		       0;
}

/* ---- two kernels -------------------------------------------------------------------- */

static int add_row(struct corun *c, const struct corun_pair *pair, enum corun_way way,
		   const struct bench_corun of[2], struct gs_error *err)
{
	const double rate[2] = { corun_rate(&of[0]), corun_rate(&of[1]) };
	const double alone[2] = { pair->of[0]->alone, pair->of[1]->alone };
	struct corun_row *r;

	if (c->rows == CORUN_ROWS_MAX)
		return gs_fail(err, "more than %d rows", CORUN_ROWS_MAX);
	r = &c->row[c->rows++];
	*r = (struct corun_row) { .pair = *pair, .way = way };
	for (int i = 0; i < 2; i++) {
		r->sms[i] = of[i].sms ? (of[i].sms >> 16) - (of[i].sms & 0xffff) : c->sms;
		r->workers[i] = of[i].workers;
		r->empty += of[i].empty;
	}
	r->is = corun_figures(rate, alone);
	return 0;
}

static int try_at_once(struct corun *c, const struct corun_pair *pair, enum corun_way way,
		       struct bench_corun of[2], struct gs_error *err)
{
	return run_at_once(c, of, 2, err) < 0 ? -1 : add_row(c, pair, way, of, err);
}

/* Each on multiprocessors of its own, divided in so many ways. */
static int try_spart(struct corun *c, const struct corun_pair *pair, struct gs_error *err)
{
	uint32_t last = 0;

	for (uint32_t eighths = 1; eighths < EIGHTHS; eighths++) {
		uint32_t border = corun_border(c->sms, eighths);
		struct bench_corun of[2] = {
			of_workers(pair->of[0], pair->of[0]->fits, gs_ctl_sms(0, border)),
			of_workers(pair->of[1], pair->of[1]->fits, gs_ctl_sms(border, c->sms))
		};

		if (border == last) /* of a GPU with few multiprocessors */
			continue;
		last = border;
		if (try_at_once(c, pair, CORUN_SPART, of, err) < 0)
			return -1;
	}
	return 0;
}

/* Both on all multiprocessors, as many workers as SMK's partition gives each (5.3.2). */
static int try_blocks(struct corun *c, const struct corun_pair *pair, struct gs_error *err)
{
	const struct bench_size *has = &c->workers.page->slot[0].answer.size;
	const struct gs_corun_size sm = { has->registers, has->shared, has->threads, has->blocks };
	struct gs_corun_size block[2];
	uint32_t workers[2];

	for (int i = 0; i < 2; i++)
		block[i] = (struct gs_corun_size) { pair->of[i]->registers, pair->of[i]->shared,
						    pair->of[i]->threads, 1 };
	gs_corun_partition(block, 2, &sm, workers);
	if (!workers[0] || !workers[1])
		return 0; /* they do not fit beside each other */
	for (int i = 0; i < 2; i++)
		if (workers[i] > pair->of[i]->fits)
			workers[i] = pair->of[i]->fits;
	return try_at_once(c, pair, CORUN_BLOCKS,
			   (struct bench_corun[2]) { of_workers(pair->of[0], workers[0], 0),
						     of_workers(pair->of[1], workers[1], 0) },
			   err);
}

static int measure_pair(struct corun *c, const struct corun_pair *pair, struct gs_error *err)
{
	struct bench_corun of[2] = { as_written(pair->of[0]), as_written(pair->of[1]) };
	size_t first = c->rows;

	c->longest_ns = pair->of[0]->ns > pair->of[1]->ns ? pair->of[0]->ns : pair->of[1]->ns;
	if (run_in_slices(c, of, err) < 0 || add_row(c, pair, CORUN_SLICES, of, err) < 0 ||
	    try_at_once(c, pair, CORUN_LEFT_OVER, of, err) < 0)
		return -1;
	if (!pair->of[0]->refused && !pair->of[1]->refused &&
	    (try_spart(c, pair, err) < 0 || try_blocks(c, pair, err) < 0))
		return -1;
	corun_print_pair(c, first);
	return 0;
}

/* ---- all of them --------------------------------------------------------------------- */

/* Is it one of --only's? Without that: one of the paper's ten. */
static int is_wanted(const struct corun *c, size_t number)
{
	const char *name = bench_suite_kernel(number);

	if (c->only)
		return bench_listed(c->only, name);
	return strcmp(bench_suite_file(number), "parboil") == 0 || strcmp(name, "spmv_scalar") == 0;
}

static int choose(struct corun *c, struct gs_error *err)
{
	if (c->only && bench_check_list("kernel", c->only, bench_suite_kernel, err) < 0)
		return -1;
	for (size_t i = 0; bench_suite_kernel(i); i++) {
		if (!is_wanted(c, i))
			continue;
		if (c->kernels == CORUN_KERNELS_MAX)
			return gs_fail(err, "more than %d kernels", CORUN_KERNELS_MAX);
		c->kernel[c->kernels++] = (struct corun_kernel) { .number = i,
								  .name = bench_suite_kernel(i),
								  .q = BENCH_SUITE_Q_LEAST };
	}
	return c->kernels >= 2 ? 0 : gs_fail(err, "two kernels at least, not %zu", c->kernels);
}

static int measure_pairs(struct corun *c, uint64_t until_ns, struct gs_error *err)
{
	for (size_t i = 0; i < c->kernels; i++)
		for (size_t k = i + 1; k < c->kernels; k++) {
			const struct corun_pair pair = { { &c->kernel[i], &c->kernel[k] } };

			if (gs_clock_ns() >= until_ns)
				c->left_out++;
			else if (measure_pair(c, &pair, err) < 0)
				return -1;
		}
	return 0;
}

static int measure_all(struct corun *c, struct gs_error *err)
{
	uint64_t until_ns = gs_clock_ns() + c->limit_s * GS_NS_PER_S;

	if (choose(c, err) < 0)
		return -1;
	for (size_t i = 0; i < c->kernels; i++)
		if (measure_alone(c, &c->kernel[i], err) < 0)
			return -1;
	corun_print_kernels(c);
	if (measure_pairs(c, until_ns, err) < 0)
		return -1;
	corun_print_means(c);
	return 0;
}

static int run_all(void *of, FILE *csv, struct gs_error *err)
{
	static const struct bench_way driver = { BENCH_DRIVER, "driver" };
	static const struct bench_part part[2] = { { .shares = 1 }, { .shares = 1 } };
	struct corun *c = of;
	int rc;

	c->csv = csv;
	c->row = calloc(CORUN_ROWS_MAX, sizeof(*c->row));
	if (!c->row)
		return gs_fail(err, "no memory");
	rc = bench_enter(&c->workers, &c->common.stage, &driver, part, 2, 0, err);
	if (rc == 0) {
		rc = measure_all(c, err);
		bench_leave(&c->workers, &driver, rc < 0);
	}
	free(c->row);
	return rc;
}

static int run(int argc, char **argv)
{
	static struct corun c = {
		.folder = GS_KERNELS_DIR,
		.length_ns = 3 * GS_NS_PER_MS,
		.span_ns = 200 * GS_NS_PER_MS,
		.limit_s = 300,
	};
	static const struct gs_option options[] = {
		{ "kernels", .text = &c.folder },
		{ "only", .text = &c.only },
		{ "length", .duration = &c.length_ns },
		{ "span", .duration = &c.span_ns },
		{ "limit", .number = &c.limit_s, .least = 1, .most = 86400 },
		BENCH_COMMON_OPTIONS(c.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_corun, &c.common, options, 0, argc, argv, &status))
		return status;
	if (c.span_ns < 4 * c.length_ns)
		return bench_usage(&bench_verb_corun, "a span of less than four lengths");
	return bench_on_stage(&c.common, run_all, &c);
}

const struct bench_verb bench_verb_corun = {
	.name = "corun",
	.usage = "[OPTION]...",
	.words = "Two kernels at once, in the ways to divide a GPU (SMK), without gpushare",
	.help = "      --only LIST       pairs of these kernels (default: SMK's ten of Parboil)\n"
		"      --kernels DIR     folder of the suites' PTX (default: where it is installed)\n"
		"      --length MS       grow each kernel until it takes so long (default 3)\n"
		"      --span MS         launch each pair again and again for so long (default 200)\n"
		"      --limit SECONDS   leave out the pairs that would begin later (default 300)\n",
	.run = run,
};
