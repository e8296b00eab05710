/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpushare-bench periodic: GPES's case study (sections III and VI). A program has a frame every
 * few milliseconds: a copy to the device, a kernel and a copy back. Others work beside it without
 * pause. It measures how punctual the frames are under each way of sharing, and how much of their
 * speed the others keep.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/units.h"
#include "gpushare/bench/periodic.h"
#include "gpushare/sched/core.h"

#define RUN_S 500
#define START_NS (30 * GS_NS_PER_MS)
/* How long a low program is timed alone, and how many frames it has then at least and at most. */
#define ALONE_NS (500 * GS_NS_PER_MS)
#define ALONE_LEAST 3
#define ALONE_MOST 1000
#define PRIORITY_HIGH 10
#define PRIORITY_LOW 1
#define LOWS_MAX 16

enum { HIGH, LOW }; /* programs from LOW on are the low ones */

enum { KERNELS, SHORT, COPIES, BOTH };
static const char *const kinds[PERIODIC_KINDS] = { "kernels", "short", "copies", "both" };

/* ---- orders ---------------------------------------------------------------------- */

static struct periodic_frame low_frame(const struct periodic *p, int kind)
{
	struct periodic_frame f = { .kernels = kind != COPIES, .kernel_ns = p->low_kernel_ns };

	if (kind == COPIES || kind == BOTH)
		f.bytes = p->low_bytes;
	if (kind == SHORT) {
		f.kernel_ns = p->low_short_ns;
		f.kernels = (uint32_t)((p->low_kernel_ns + f.kernel_ns - 1) / f.kernel_ns);
	}
	return f;
}

/* Lets program i do `count` frames, or frames until it is told to stop if that is 0; one every
 * period_ns, or without pause if that is 0. */
static void order(const struct periodic *p, struct bench_workers *w, uint32_t i,
		  struct periodic_frame f, uint32_t count, uint64_t period_ns)
{
	struct bench_slot *s = &w->page->slot[i];

	bench_set_kernel(w, i, &p->yard, bench_waves(&p->yard, f.kernel_ns));
	atomic_store(&s->stop, 0);
	s->work.bytes = f.bytes;
	s->work.kernels = f.kernels;
	s->work.launches = count;
	s->work.period_ns = period_ns;
	s->work.release_ns = period_ns ? gs_clock_ns() + START_NS : 0;
	bench_workers_order(w, i, BENCH_FRAMES);
}

/* Lets program i do a few frames that do not count. */
static int warm_up(const struct periodic *p, struct bench_workers *w, uint32_t i,
		   struct periodic_frame f, struct gs_error *err)
{
	order(p, w, i, f, ALONE_LEAST, 0);
	return bench_workers_wait(w, i, RUN_S, err);
}

/* ---- measuring ------------------------------------------------------------------- */

static int beside(const struct periodic *p, struct bench_workers *w, int kind,
		  struct periodic_row *r, struct gs_error *err)
{
	const struct bench_slot *s = &w->page->slot[HIGH];
	double sum = 0;

	for (uint32_t i = LOW; i < w->count; i++)
		if (warm_up(p, w, i, low_frame(p, kind), err) < 0)
			return -1;
	if (warm_up(p, w, HIGH, p->frame, err) < 0)
		return -1;
	for (uint32_t i = LOW; i < w->count; i++)
		order(p, w, i, low_frame(p, kind), 0, 0);
	order(p, w, HIGH, p->frame, p->count + PERIODIC_WARM_UP, p->period.every_ns);
	if (bench_workers_wait(w, HIGH, RUN_S, err) < 0)
		return -1;
	for (uint32_t i = LOW; i < w->count; i++)
		atomic_store(&w->page->slot[i].stop, 1);
	if (bench_workers_wait_all(w, RUN_S, err) < 0)
		return -1;
	periodic_judge(p, s, r);
	for (uint32_t i = LOW; i < w->count; i++)
		sum += periodic_speed(&w->page->slot[i], s->sample[PERIODIC_WARM_UP].release_ns,
				      s->sample[s->answer.launched - 1].finish_ns);
	r->kept = sum / p->low_alone[kind];
	return 0;
}

static int has_deadlines(const struct bench_way *way)
{
	struct gs_error err;
	const struct gs_policy *policy =
		bench_managed(way->share) ? gs_policy_find(way->policy, &err) : NULL;

	return policy && policy->by_deadline;
}

/* Under a policy that goes by deadlines, only a deadline tells the programs apart. */
static void set_parts(const struct periodic *p, const struct bench_way *way,
		      struct bench_part part[LOWS_MAX + 1])
{
	part[HIGH] = (struct bench_part) { .shares = 50, .priority = PRIORITY_HIGH };
	if (has_deadlines(way)) {
		part[HIGH].priority = PRIORITY_LOW;
		part[HIGH].period = p->period;
	}
	for (uint32_t i = LOW; i <= p->lows; i++)
		part[i] = (struct bench_part) { .shares = 50, .priority = PRIORITY_LOW };
}

static int run_way(struct periodic *p, const struct bench_way *way, struct gs_error *err)
{
	struct bench_part part[LOWS_MAX + 1];
	struct bench_workers w;
	int rc = 0;

	set_parts(p, way, part);
	if (bench_enter(&w, &p->common.stage, way, part, p->lows + 1, p->yard.memory, err) < 0)
		return -1;
	for (int kind = 0; rc == 0 && kind < PERIODIC_KINDS; kind++) {
		struct periodic_row r = { .low = kinds[kind],
					  .isolation = bench_way_isolation(way),
					  .policy = way->policy };

		if (!bench_listed(p->low, kinds[kind]))
			continue;
		rc = beside(p, &w, kind, &r, err);
		if (rc < 0)
			break;
		if (way->share == BENCH_DRIVER)
			memcpy(p->driver[kind], r.is, sizeof(r.is));
		p->has_driver |= way->share == BENCH_DRIVER;
		r.driver = p->has_driver ? p->driver[kind] : NULL;
		periodic_print(p, &r);
	}
	bench_leave(&w, way, rc < 0);
	return rc;
}

static int time_low(struct periodic *p, struct bench_workers *w, int kind, struct gs_error *err)
{
	const struct bench_slot *s = &w->page->slot[LOW];
	uint64_t took, count;

	if (warm_up(p, w, LOW, low_frame(p, kind), err) < 0)
		return -1;
	took = s->sample[ALONE_LEAST - 1].finish_ns - s->sample[ALONE_LEAST - 1].launch_ns;
	count = ALONE_NS / (took ? took : 1);
	count = count < ALONE_LEAST ? ALONE_LEAST : count > ALONE_MOST ? ALONE_MOST : count;
	order(p, w, LOW, low_frame(p, kind), (uint32_t)count, 0);
	if (bench_workers_wait(w, LOW, RUN_S, err) < 0)
		return -1;
	return periodic_usual_speed(s, &p->low_alone[kind], err);
}

/* Times the frames alone, under the driver. The occupying time is their median response, so the
 * first judgement finds that and the second one uses it. */
static int time_frames(struct periodic *p, struct bench_workers *w, struct periodic_row *r,
		       struct gs_error *err)
{
	const struct bench_slot *s = &w->page->slot[HIGH];

	if (warm_up(p, w, HIGH, p->frame, err) < 0)
		return -1;
	order(p, w, HIGH, p->frame, p->count + PERIODIC_WARM_UP, p->period.every_ns);
	if (bench_workers_wait(w, HIGH, RUN_S, err) < 0)
		return -1;
	periodic_judge(p, s, r);
	p->alone_ns = (uint64_t)(r->is[GS_TIMING_RESPONSE].p50_ms * 1e6);
	periodic_judge(p, s, r);
	return 0;
}

/* Calibrates the device, and times each program alone without gpushare. */
static int measure_alone(struct periodic *p, struct periodic_row *r, struct gs_error *err)
{
	static const struct bench_way driver = { BENCH_DRIVER, "driver" };
	static const struct bench_part part[] = { { .shares = 1 }, { .shares = 1 } };
	struct bench_workers w;
	int rc;

	if (bench_enter(&w, &p->common.stage, &driver, part, 2, 0, err) < 0)
		return -1;
	rc = bench_calibrate(&w, p->task_ns, &p->yard, err);
	for (int kind = 0; rc == 0 && kind < PERIODIC_KINDS; kind++)
		if (bench_listed(p->low, kinds[kind]))
			rc = time_low(p, &w, kind, err);
	if (rc == 0)
		rc = time_frames(p, &w, r, err);
	bench_leave(&w, &driver, rc < 0);
	return rc;
}

/* Lets the frames' copies go first, unless the command line has a CopyPolicy. */
static int set_copy_policy(struct bench_stage *stage, struct gs_error *err)
{
	static const char line[] = "CopyPolicy=priority";

	for (size_t i = 0; i < stage->nconf; i++)
		if (strncmp(stage->conf[i], line, strcspn(line, "=") + 1) == 0)
			return 0;
	return bench_take_conf(stage, line, err);
}

static int measure(void *of, FILE *csv, struct gs_error *err)
{
	struct periodic_row r = { .low = "-", .isolation = "none", .policy = "alone", .kept = NAN };
	struct bench_way way[BENCH_WAYS_MAX];
	struct periodic *p = of;
	size_t count = bench_ways_plan(&p->ways, way);

	p->csv = csv;
	if (set_copy_policy(&p->common.stage, err) < 0 || measure_alone(p, &r, err) < 0)
		return -1;
	periodic_head(p);
	periodic_print(p, &r);
	for (size_t i = 0; i < count; i++)
		if (run_way(p, &way[i], err) < 0)
			return -1;
	return 0;
}

static const char *kind_name(size_t i)
{
	return i < PERIODIC_KINDS ? kinds[i] : NULL;
}

static int take_kinds(void *of, const char *list, struct gs_error *err)
{
	*(const char **)of = list;
	return bench_check_list("low program", list, kind_name, err);
}

static int take_size(void *of, const char *text, struct gs_error *err)
{
	return gs_parse_size(text, of, err);
}

/* 0: the frames have none. */
static int take_copy(void *of, const char *text, struct gs_error *err)
{
	*(uint64_t *)of = 0;
	return strcmp(text, "0") == 0 ? 0 : gs_parse_size(text, of, err);
}

static int take_period(void *of, const char *text, struct gs_error *err)
{
	return gs_period_parse(text, of, err);
}

static int run(int argc, char **argv)
{
	static struct periodic p = {
		.ways = { .policy = "frs,edf", .isolation = "none,contexts" },
		.low = "all",
		.frame = { UINT64_C(64) << 20, 7500 * GS_NS_PER_US, 1 },
		.period = { .every_ns = 50 * GS_NS_PER_MS },
		.low_kernel_ns = 100 * GS_NS_PER_MS,
		.low_short_ns = GS_NS_PER_MS,
		.low_bytes = UINT64_C(256) << 20,
		.task_ns = 50 * GS_NS_PER_US,
		.count = 100,
		.lows = 1,
	};
	static const struct gs_option options[] = {
		{ "every", .take = take_period, .of = &p.period.every_ns },
		{ "deadline", .take = take_period, .of = &p.period.deadline_ns },
		{ "copy", .take = take_copy, .of = &p.frame.bytes },
		{ "kernel", .duration = &p.frame.kernel_ns },
		{ "count", .number = &p.count, .least = 2, .most = GS_TIMING_SAMPLES },
		{ "low", .take = take_kinds, .of = &p.low },
		{ "low-programs", .number = &p.lows, .least = 1, .most = LOWS_MAX },
		{ "low-kernel", .duration = &p.low_kernel_ns },
		{ "low-short", .duration = &p.low_short_ns },
		{ "low-copy", .take = take_size, .of = &p.low_bytes },
		{ "task", .duration = &p.task_ns },
		BENCH_WAYS_OPTIONS(p.ways),
		BENCH_COMMON_OPTIONS(p.common),
		{ NULL },
	};
	struct gs_error err;
	int status = 0;

	if (!bench_options(&bench_verb_periodic, &p.common, options, 0, argc, argv, &status))
		return status;
	if (!p.low_kernel_ns || !p.low_short_ns)
		return bench_usage(&bench_verb_periodic, "a low program of nothing");
	if (gs_period_complete(&p.period, &err) < 0)
		return bench_usage(&bench_verb_periodic, "%s", err.text);
	return bench_on_stage(&p.common, measure, &p);
}

const struct bench_verb bench_verb_periodic = {
	.name = "periodic",
	.usage = "[OPTION]...",
	.words = "A frame every period at high priority beside work without pause (GPES)",
	.help = BENCH_WAYS_HELP(
		"frs,edf") "      --every MS        a frame is due so often (default 50)\n"
			   "      --deadline MS     a frame must end so long after it is due (default:\n"
			   "                        --every)\n"
			   "      --copy SIZE       of a frame's copies to the GPU and back; 0: it has none\n"
			   "                        (default 64M)\n"
			   "      --kernel MS       length of a frame's kernel (default 7.5)\n"
			   "      --count N         number of frames (default 100)\n"
			   "      --low LIST        the low programs: kernels, short, copies, both\n"
			   "                        (default: all)\n"
			   "      --low-programs N  how many of a kind run at once (default 1)\n"
			   "      --low-kernel MS   length of their long kernels (default 100)\n"
			   "      --low-short MS    length of a kernel of short (default 1)\n"
			   "      --low-copy SIZE   size of their copies (default 256M)\n"
			   "      --task MS         length of a block-task (default 50us)\n",
	.run = run,
};
