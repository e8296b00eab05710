/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench copies: a program with a small copy every few milliseconds at high priority
 * beside one with large copies back to back at low: how late the small ones get, and how much of
 * what they leave the large ones get.  Then copies alone, of many sizes (copies_alone.c): what they
 * keep of the speed without gpushare.  Then how much longer the call of a small one takes.
 */
#define _GNU_SOURCE
#include "gpushare/bench/copies.h"

#include <math.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/metrics/metrics.h"

/* So long copies of one size are repeated, and so often at least and at most. */
#define ALONE_NS (100 * GS_NS_PER_MS)
#define ALONE_LEAST 5
#define ALONE_MOST 500
#define CALLS 8000
/* Longer than gpushared remembers a copy. */
#define FORGOTTEN_NS (1500 * GS_NS_PER_MS)

enum { SHORT, LONG };

static const struct bench_copies_sharing sharings[] = {
	{ "driver", { BENCH_DRIVER, "driver" }, NULL },
	{ "no", { BENCH_CONTEXTS, NULL }, "CopyPolicy=no" },
	{ "priority", { BENCH_CONTEXTS, NULL }, "CopyPolicy=priority" },
	{ "fair", { BENCH_CONTEXTS, NULL }, "CopyPolicy=fair" },
};
static const char *const kinds[] = { "pinned", "pageable", "plane" };

/* ---- the table ------------------------------------------------------------------- */

struct bench_copies_row bench_copies_row(const char *measure, uint32_t kind, int back,
					 const struct bench_copies_sharing *sharing, uint64_t bytes)
{
	return (struct bench_copies_row) {
		.measure = measure,
		.kind = kinds[kind],
		.direction = back ? "to-host" : "to-device",
		.sharing = sharing->name,
		.bytes = bytes,
		.alone_p50 = NAN,
		.p50 = NAN,
		.p90 = NAN,
		.p99 = NAN,
		.gib_s = NAN,
		.kept = NAN,
		.added_ns = NAN,
	};
}

static void print_figure(FILE *out, double value, int csv)
{
	if (isnan(value))
		fprintf(out, csv ? "," : " %9s", "-");
	else
		fprintf(out, csv ? ",%.4f" : " %9.4f", value);
}

static void print_to(FILE *out, const struct bench_copies_row *r, int csv)
{
	const double figure[] = { r->alone_p50, r->p50,  r->p90,     r->p99,
				  r->gib_s,     r->kept, r->added_ns };

	fprintf(out, csv ? "%s,%s,%s,%s,%llu" : "%-7s %-8s %-9s %-8s %10llu", r->measure, r->kind,
		r->direction, r->sharing, (unsigned long long)r->bytes);
	for (size_t i = 0; i < sizeof(figure) / sizeof(figure[0]); i++)
		print_figure(out, figure[i], csv);
	fputc('\n', out);
	fflush(out);
}

void bench_copies_print(const struct bench_copies *c, const struct bench_copies_row *r)
{
	print_to(stdout, r, 0);
	if (c->csv)
		print_to(c->csv, r, 1);
}

/* ---- orders --------------------------------------------------------------------- */

void bench_copies_order(struct bench_workers *w, uint32_t i, uint32_t kind, uint64_t bytes,
			uint32_t count, uint64_t period_ns)
{
	struct bench_slot *s = &w->page->slot[i];

	atomic_store(&s->stop, 0);
	s->work.call = kind;
	s->work.tasks = bytes;
	s->work.launches = count;
	s->work.period_ns = period_ns;
	s->work.release_ns = period_ns ? gs_clock_ns() + BENCH_COPIES_START_NS : 0;
	bench_workers_order(w, i, BENCH_COPY);
}

size_t bench_copies_samples(const struct bench_slot *s)
{
	return s->answer.launched < BENCH_SAMPLES_MAX ? (size_t)s->answer.launched :
							BENCH_SAMPLES_MAX;
}

int bench_copies_lateness(const struct bench_slot *s, struct bench_copies_row *r,
			  struct gs_error *err)
{
	size_t n = bench_copies_samples(s);
	double *ms = malloc((n + 1) * sizeof(*ms));

	if (!ms || n < 2) {
		free(ms);
		return gs_fail(err, ms ? "too few copies" : "no memory");
	}
	for (size_t i = 1; i < n; i++)
		ms[i - 1] = (double)(s->sample[i].finish_ns - s->sample[i].release_ns) / 1e6;
	r->p50 = gs_quantile(ms, n - 1, 0.5);
	r->p90 = gs_quantile(ms, n - 1, 0.9);
	r->p99 = gs_quantile(ms, n - 1, 0.99);
	free(ms);
	return 0;
}

/* What program i takes for one copy alone, ms: the median of some. */
static int alone(struct bench_workers *w, uint32_t i, uint32_t kind, uint64_t bytes, double *ms,
		 struct gs_error *err)
{
	struct bench_copies_row r;

	bench_copies_order(w, i, kind, bytes, ALONE_LEAST, 0);
	if (bench_workers_wait(w, i, BENCH_COPIES_RUN_S, err) < 0 ||
	    bench_copies_lateness(&w->page->slot[i], &r, err) < 0)
		return -1;
	*ms = r.p50;
	if (r.p50 * ALONE_LEAST * 1e6 > ALONE_NS)
		return 0;
	bench_copies_order(w, i, kind, bytes,
			   r.p50 * ALONE_MOST * 1e6 < ALONE_NS ? ALONE_MOST :
								 (uint32_t)(ALONE_NS / 1e6 / r.p50),
			   0);
	if (bench_workers_wait(w, i, BENCH_COPIES_RUN_S, err) < 0 ||
	    bench_copies_lateness(&w->page->slot[i], &r, err) < 0)
		return -1;
	*ms = r.p50;
	return 0;
}

/* ---- beside each other ------------------------------------------------------- */

static int beside(struct bench_copies *c, struct bench_workers *w,
		  const struct bench_copies_sharing *sharing, uint32_t kind, int back,
		  struct gs_error *err)
{
	uint32_t what = kind | (back ? (uint32_t)BENCH_COPY_BACK : 0);
	struct bench_slot *s = &w->page->slot[SHORT], *l = &w->page->slot[LONG];
	struct bench_copies_row r = bench_copies_row("beside", kind, back, sharing, c->small);
	double small_ms, large_ms, span;

	if (alone(w, SHORT, what, c->small, &small_ms, err) < 0 ||
	    alone(w, LONG, what, c->large, &large_ms, err) < 0)
		return -1;
	/* The small ones first: a large copy that began before anybody else copied stays whole. */
	bench_copies_order(w, SHORT, what, c->small, c->count, c->period_ns);
	bench_sleep_until(gs_clock_ns() + BENCH_COPIES_START_NS + 2 * c->period_ns, 0);
	bench_copies_order(w, LONG, what, c->large, 0, 0);
	if (bench_workers_wait(w, SHORT, BENCH_COPIES_RUN_S, err) < 0)
		return -1;
	atomic_store(&l->stop, 1);
	if (bench_workers_wait(w, LONG, BENCH_COPIES_RUN_S, err) < 0 ||
	    bench_copies_lateness(s, &r, err) < 0)
		return -1;
	span = (double)(l->sample[bench_copies_samples(l) - 1].finish_ns - l->sample[0].launch_ns) /
		       1e6 -
	       small_ms * (double)s->answer.launched;
	r.alone_p50 = small_ms;
	r.gib_s = (double)c->large / BENCH_GIB / (large_ms / 1e3);
	r.kept = span > 0 ? (double)bench_copies_samples(l) * large_ms / span : NAN;
	bench_copies_print(c, &r);
	return 0;
}

/* ---- calls --------------------------------------------------------------------- */

/* Every second call goes past the shim. */
static int calls(struct bench_copies *c, struct bench_workers *w,
		 const struct bench_copies_sharing *sharing, struct gs_error *err)
{
	struct bench_slot *s = &w->page->slot[SHORT];
	struct bench_copies_row r = bench_copies_row("call", BENCH_COPY_PINNED, 0, sharing, 4);
	double *ns[2], p50[2];
	size_t n = 0;

	s->work.call = BENCH_CALL_COPY;
	s->work.launches = CALLS;
	s->work.tasks = 1;
	bench_workers_order(w, SHORT, BENCH_CALLS);
	if (bench_workers_wait(w, SHORT, BENCH_COPIES_RUN_S, err) < 0)
		return -1;
	ns[0] = malloc(2 * CALLS * sizeof(double));
	if (!ns[0])
		return gs_fail(err, "no memory");
	ns[1] = ns[0] + CALLS;
	for (size_t i = CALLS / 10 / 2 * 2; i + 1 < CALLS; i += 2, n++)
		for (size_t k = 0; k < 2; k++)
			ns[k][n] =
				(double)(s->sample[i + k].finish_ns - s->sample[i + k].launch_ns);
	for (size_t k = 0; k < 2; k++)
		p50[k] = gs_quantile(ns[k], n, 0.5);
	free(ns[0]);
	r.p50 = p50[0] / 1e6;
	r.added_ns = p50[0] - p50[1];
	bench_copies_print(c, &r);
	return 0;
}

/* ---- the verb ------------------------------------------------------------------ */

/* gpushared takes a program that has copied in the last second for one that is about to again; so
 * the copies that follow are alone in its eyes, too. */
static void forget_copies(const struct bench_copies *c, const struct bench_copies_sharing *sharing,
			  int back)
{
	if (sharing->line && c->last_ns[back])
		bench_sleep_until(c->last_ns[back] + FORGOTTEN_NS, 0);
}

static int measure_all(struct bench_copies *c, struct bench_workers *w,
		       const struct bench_copies_sharing *sharing, struct gs_error *err)
{
	c->last_ns[0] = c->last_ns[1] = 0;
	for (uint32_t kind = 0; kind < BENCH_COPY_KINDS; kind++) {
		if (!bench_listed(c->kind, kinds[kind]))
			continue;
		for (int back = 0; back < 2; back++) {
			forget_copies(c, sharing, back);
			if (beside(c, w, sharing, kind, back, err) < 0)
				return -1;
			c->last_ns[back] = gs_clock_ns();
		}
	}
	return calls(c, w, sharing, err);
}

static int run_stages(struct bench_copies *c, const struct bench_copies_sharing *sharing,
		      struct gs_error *err)
{
	static const struct bench_part part[] = { { .shares = 50, .priority = 10 },
						  { .shares = 50, .priority = 1 } };
	struct bench_stage *stage = &c->common.stage;
	struct bench_workers workers;
	int rc;

	if (sharing->line && bench_listed(c->kind, kinds[BENCH_COPY_PINNED]) &&
	    bench_copies_alone(c, sharing, err) < 0)
		return -1;
	if (bench_enter(&workers, stage, &sharing->way, part, 2, c->memory, err) < 0)
		return -1;
	rc = measure_all(c, &workers, sharing, err);
	bench_leave(&workers, &sharing->way, rc < 0);
	return rc;
}

static int run_sharing(struct bench_copies *c, const struct bench_copies_sharing *sharing,
		       struct gs_error *err)
{
	struct bench_stage *stage = &c->common.stage;
	size_t lines = stage->nconf;
	int rc;

	if (sharing->line) {
		if (stage->nconf == BENCH_CONF_MAX)
			return gs_fail(err, "too many --conf");
		stage->conf[stage->nconf++] = sharing->line;
	}
	rc = run_stages(c, sharing, err);
	stage->nconf = lines;
	return rc;
}

static int measure(void *of, FILE *csv, struct gs_error *err)
{
	static const char *const heads[] = { "alone_p50_ms", "p50_ms", "p90_ms",  "p99_ms",
					     "gib_s",        "kept",   "added_ns" };
	struct bench_copies *c = of;
	struct bench_yard yard;

	c->csv = csv;
	if (bench_calibrate_device(&c->common.stage, GS_NS_PER_MS, &yard, err) < 0)
		return -1;
	c->memory = yard.memory;
	/* Each program has half of it. */
	if (c->largest > c->memory / 4)
		c->largest = c->memory / 4;
	if (csv) {
		bench_output_head(csv, &c->common, yard.device, yard.driver);
		fputs("measure,kind,direction,sharing,bytes", csv);
		for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
			fprintf(csv, ",%s", heads[i]);
		fputc('\n', csv);
	}
	printf("%s, CUDA driver %s\n\n%-7s %-8s %-9s %-8s %10s %9s %9s %9s %9s %9s %9s %9s\n",
	       yard.device, yard.driver, "measure", "kind", "direction", "sharing", "bytes",
	       "alone ms", "p50 ms", "p90 ms", "p99 ms", "GiB/s", "kept", "added ns");
	for (size_t i = 0; i < sizeof(sharings) / sizeof(sharings[0]); i++)
		if (bench_listed(c->sharing, sharings[i].name) &&
		    run_sharing(c, &sharings[i], err) < 0)
			return -1;
	return 0;
}

static int take_size(void *of, const char *text, struct gs_error *err)
{
	return gs_parse_size(text, of, err);
}

static int run(int argc, char **argv)
{
	static struct bench_copies c = {
		.sharing = "driver,priority",
		.kind = "all",
		.small = UINT64_C(1) << 20,
		.large = UINT64_C(512) << 20,
		.largest = UINT64_C(4) << 30,
		.period_ns = 5 * GS_NS_PER_MS,
		.count = 400,
		.pairs = 6,
	};
	static const struct gs_option options[] = {
		{ "sharing", .text = &c.sharing },
		{ "kind", .text = &c.kind },
		{ "small", .take = take_size, .of = &c.small },
		{ "large", .take = take_size, .of = &c.large },
		{ "largest", .take = take_size, .of = &c.largest },
		{ "every", .duration = &c.period_ns },
		{ "count", .number = &c.count, .least = 2, .most = BENCH_SAMPLES_MAX },
		{ "pairs", .number = &c.pairs, .least = 1, .most = BENCH_COPIES_PAIRS_MAX },
		BENCH_COMMON_OPTIONS(c.common),
		{ NULL },
	};
	int status = 0;

	if (!bench_options(&bench_verb_copies, &c.common, options, 0, argc, argv, &status))
		return status;
	return bench_on_stage(&c.common, measure, &c);
}

const struct bench_verb bench_verb_copies = {
	.name = "copies",
	.usage = "[OPTION]...",
	.words = "A small copy at high priority beside large ones, and copies alone",
	.help = "      --sharing LIST    driver: without gpushare; no, priority, fair: with that\n"
		"                        CopyPolicy (default: driver,priority)\n"
		"      --kind LIST       of memory: pinned, pageable, plane (2D) (default: all)\n"
		"      --small SIZE      the small copy (default 1M)\n"
		"      --every MS        one is due so often (default 5)\n"
		"      --count N         so many of them (default 400)\n"
		"      --large SIZE      the large copy (default 512M)\n"
		"      --largest SIZE    copies alone are of 4K, 16 times that and so on up to this\n"
		"                        (default 4G, and a quarter of the GPU's memory at most)\n"
		"      --pairs N         pairs of programs that copy alone in turns, one without\n"
		"                        gpushare and one with it (default 6)\n",
	.run = run,
};
