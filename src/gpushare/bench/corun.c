/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench corun: what two, three or four kernels do at once, each launched again and again,
 * as in SMK's experiments (6.2, 6.6). One program launches all in streams of one context, as
 * clients of MPS would; for the driver's time slices there is one for each. None has gpushare.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/ptx/ctl.h"
#include "device/ptx/kind.h"
#include "gpushare/bench/corun_groups.h"
#include "gpushare/bench/corun_verb.h"
#include "gpushare/bench/measure.h"
#include "gpushare/bench/suite.h"
#include "gpushare/corun/corun.h"

#define RUN_S 300
/* A span has room for so many launches of the longest kernel alone, at least. */
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

/* A program for each of the n kernels. What a program loads first would take from the others' time,
 * so none has anything to load. */
static int run_in_slices(struct corun *c, struct bench_corun *of, uint32_t n, struct gs_error *err)
{
	for (uint32_t who = 0; who < n; who++)
		order(c, who, &of[who], 1);
	if (bench_workers_wait_all(&c->workers, RUN_S, err) < 0)
		return -1;
	for (uint32_t who = 0; who < n; who++)
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
	/* Each of the programs keeps all kernels' memory, in half of the GPU's. */
	const struct bench_suite_growth growth = {
		c->length_ns, answer->memory / (2 * c->size * CORUN_KERNELS_MAX), size_batch, c
	};
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
	for (uint32_t who = 1; who < c->size; who++)
		order(c, who, &is, 1);
	if (bench_workers_wait_all(&c->workers, RUN_S, err) < 0 ||
	    alone(c, as_written(k), &k->alone, err) < 0)
		return -1;
	if (k->refused)
		return 0;
	return alone(c, of_workers(k, k->fits, 0), &k->workers, err) < 0 ||
			       alone(c,
				     of_workers(k, k->fits,
						gs_ctl_sms(0, corun_border(c->sms,
									   CORUN_EIGHTHS / 2))),
				     &k->half, err) < 0 ?
		       -1 :
		       0;
}

/* ---- a group of kernels --------------------------------------------------------------- */

static int add_row(struct corun *c, const struct corun_group *g, enum corun_way way,
		   const struct bench_corun *of, struct gs_error *err)
{
	double rate[BENCH_CORUN_MAX], alone[BENCH_CORUN_MAX];
	struct corun_row *r;

	if (c->rows == CORUN_ROWS_MAX)
		return gs_fail(err, "more than %d rows", CORUN_ROWS_MAX);
	r = &c->row[c->rows++];
	*r = (struct corun_row) { .group = (size_t)(g - c->group), .of = g, .way = way };
	for (uint32_t i = 0; i < g->n; i++) {
		rate[i] = corun_rate(&of[i]);
		alone[i] = g->of[i]->alone;
		r->sms[i] = of[i].sms ? (of[i].sms >> 16) - (of[i].sms & 0xffff) : c->sms;
		r->workers[i] = of[i].workers;
		r->empty += of[i].empty;
	}
	r->is = corun_figures(rate, alone, g->n);
	return 0;
}

static int try_at_once(struct corun *c, const struct corun_group *g, enum corun_way way,
		       struct bench_corun *of, struct gs_error *err)
{
	return run_at_once(c, of, g->n, err) < 0 ? -1 : add_row(c, g, way, of, err);
}

/* Each on multiprocessors of its own: border[i] is the first one behind those of kernel i. */
static int try_borders(struct corun *c, const struct corun_group *g, const uint32_t *border,
		       int equal, struct gs_error *err)
{
	struct bench_corun of[BENCH_CORUN_MAX];
	uint32_t from = 0;

	for (uint32_t i = 0; i < g->n; from = border[i++]) {
		if (border[i] <= from) /* of a GPU with few multiprocessors */
			return 0;
		of[i] = of_workers(g->of[i], g->of[i]->fits, gs_ctl_sms(from, border[i]));
	}
	if (try_at_once(c, g, CORUN_SPART, of, err) < 0)
		return -1;
	c->row[c->rows - 1].equal = equal;
	return 0;
}

/* The multiprocessors divided equally, and in all other ways by eighths. */
static int try_spart(struct corun *c, const struct corun_group *g, struct gs_error *err)
{
	uint32_t equal[BENCH_CORUN_MAX], last[BENCH_CORUN_MAX], eighths[BENCH_CORUN_MAX];
	size_t size = g->n * sizeof(*equal);

	for (uint32_t i = 0; i < g->n; i++)
		equal[i] = c->sms * (i + 1) / g->n;
	memcpy(last, equal, size);
	if (try_borders(c, g, equal, 1, err) < 0)
		return -1;
	corun_first_split(eighths, g->n);
	do {
		uint32_t border[BENCH_CORUN_MAX], sum = 0;

		for (uint32_t i = 0; i + 1 < g->n; i++)
			border[i] = corun_border(c->sms, sum += eighths[i]);
		border[g->n - 1] = c->sms;
		if (memcmp(border, equal, size) == 0 || memcmp(border, last, size) == 0)
			continue;
		memcpy(last, border, size);
		if (try_borders(c, g, border, 0, err) < 0)
			return -1;
	} while (corun_next_split(eighths, g->n));
	return 0;
}

/* All of them on all multiprocessors, as many workers as SMK's partition gives each (5.3.2). */
static int try_blocks(struct corun *c, const struct corun_group *g, struct gs_error *err)
{
	const struct bench_size *has = &c->workers.page->slot[0].answer.size;
	const struct gs_corun_size sm = { has->registers, has->shared, has->threads, has->blocks };
	struct gs_corun_size block[BENCH_CORUN_MAX];
	struct bench_corun of[BENCH_CORUN_MAX];
	uint32_t workers[BENCH_CORUN_MAX];

	for (uint32_t i = 0; i < g->n; i++)
		block[i] = (struct gs_corun_size) { g->of[i]->registers, g->of[i]->shared,
						    g->of[i]->threads, 1 };
	gs_corun_partition(block, g->n, &sm, workers);
	for (uint32_t i = 0; i < g->n; i++) {
		if (!workers[i])
			return 0; /* they do not fit beside each other */
		if (workers[i] > g->of[i]->fits)
			workers[i] = g->of[i]->fits;
		of[i] = of_workers(g->of[i], workers[i], 0);
	}
	return try_at_once(c, g, CORUN_BLOCKS, of, err);
}

static int measure_group(struct corun *c, const struct corun_group *g, struct gs_error *err)
{
	struct bench_corun of[BENCH_CORUN_MAX];
	size_t first = c->rows;
	uint32_t refused = 0;

	c->longest_ns = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		of[i] = as_written(g->of[i]);
		refused |= g->of[i]->refused;
		if (g->of[i]->ns > c->longest_ns)
			c->longest_ns = g->of[i]->ns;
	}
	if (run_in_slices(c, of, g->n, err) < 0 || add_row(c, g, CORUN_SLICES, of, err) < 0 ||
	    try_at_once(c, g, CORUN_LEFT_OVER, of, err) < 0)
		return -1;
	if (!refused && (try_spart(c, g, err) < 0 || try_blocks(c, g, err) < 0))
		return -1;
	corun_print_group(c, first);
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

static int choose_groups(struct corun *c, struct gs_error *err)
{
	uint16_t set[CORUN_GROUPS_MAX];
	size_t count = c->count ? c->count : c->size == 2 ? CORUN_GROUPS_MAX : CORUN_GROUPS_USUAL;

	c->groups = corun_choose_groups((uint32_t)c->kernels, c->size, c->seed, set, count);
	if (!c->groups)
		return gs_fail(err, "no group of %u of %zu kernels", c->size, c->kernels);
	for (size_t g = 0; g < c->groups; g++)
		for (size_t k = 0; k < c->kernels; k++)
			if (set[g] >> k & 1)
				c->group[g].of[c->group[g].n++] = &c->kernel[k];
	return 0;
}

static int measure_groups(struct corun *c, uint64_t until_ns, struct gs_error *err)
{
	for (size_t g = 0; g < c->groups; g++)
		if (gs_clock_ns() >= until_ns)
			c->left_out++;
		else if (measure_group(c, &c->group[g], err) < 0)
			return -1;
	return 0;
}

static int measure_all(struct corun *c, struct gs_error *err)
{
	uint64_t until_ns = gs_clock_ns() + c->limit_s * GS_NS_PER_S;

	if (choose(c, err) < 0 || choose_groups(c, err) < 0)
		return -1;
	for (size_t i = 0; i < c->kernels; i++)
		if (measure_alone(c, &c->kernel[i], err) < 0)
			return -1;
	corun_print_kernels(c);
	if (measure_groups(c, until_ns, err) < 0)
		return -1;
	corun_print_means(c);
	return 0;
}

static int run_all(void *of, FILE *csv, struct gs_error *err)
{
	static const struct bench_way driver = { BENCH_DRIVER, "driver" };
	static const struct bench_part part[BENCH_CORUN_MAX] = {
		{ .shares = 1 }, { .shares = 1 }, { .shares = 1 }, { .shares = 1 }
	};
	struct corun *c = of;
	int rc;

	c->csv = csv;
	c->row = calloc(CORUN_ROWS_MAX, sizeof(*c->row));
	if (!c->row)
		return gs_fail(err, "no memory");
	rc = bench_enter(&c->workers, &c->common.stage, &driver, part, c->size, 0, err);
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
		.size = 2,
		.seed = 1,
	};
	static const struct gs_option options[] = {
		{ "kernels", .text = &c.folder },
		{ "only", .text = &c.only },
		{ "size", .number = &c.size, .least = 2, .most = BENCH_CORUN_MAX },
		{ "groups", .number = &c.count, .least = 1, .most = CORUN_GROUPS_MAX },
		{ "seed", .number = &c.seed, .most = UINT32_MAX },
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
	.words = "Kernels at once, in the ways to divide a GPU (SMK), without gpushare",
	.help = "      --only LIST       of these kernels (default: SMK's ten of Parboil)\n"
		"      --size N          two, three or four kernels at once (default 2)\n"
		"      --groups N        so many groups of them, chosen by chance (default: all\n"
		"                        pairs, 20 triples or quadruples)\n"
		"      --seed N          which ones (default 1)\n"
		"      --kernels DIR     folder of the suites' PTX (default: where it is installed)\n"
		"      --length MS       grow each kernel until it takes so long (default 3)\n"
		"      --span MS         launch each group again and again for so long (default 200)\n"
		"      --limit SECONDS   leave out the groups that would begin later (default 300)\n",
	.run = run,
};
