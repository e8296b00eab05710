/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order in which the ways of a mix are measured, and measuring them; see mixes_run.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes_run.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "gpushare/bench/mixes_totals.h"

/* The programs of one way at one time, and so many windows. */
struct entry {
	enum mixes_way way;
	size_t policy;
	unsigned windows;
	enum mixes_when when;
	int alone; /* each program alone before that */
};

#define ENTRIES_MAX (2 * MIXES_WAYS + 2 * MIXES_POLICIES_MAX)

/* All windows of one way and policy; at MIXES_FIRST and MIXES_LAST those of its two entries. */
struct subject {
	struct mixes_totals totals[MIXES_WHENS];
};

struct plan {
	struct entry entry[ENTRIES_MAX];
	size_t entries;
	struct subject subject[MIXES_WAYS][MIXES_POLICIES_MAX];
};

static int gpushares(enum mixes_way way)
{
	return way == MIXES_CONTEXTS || way == MIXES_GS_MPS;
}

/* Is the way one that a bar of this mix compares with? */
static int is_reference(const struct mixes_mix *mix, enum mixes_way way)
{
	for (size_t i = 0; i < mixes_bars; i++)
		if (mixes_bar[i].reference == way && strcmp(mixes_bar[i].mix, mix->name) == 0)
			return 1;
	return 0;
}

static void add(struct plan *p, enum mixes_way way, size_t policy, unsigned windows,
		enum mixes_when when)
{
	if (p->entries < ENTRIES_MAX)
		p->entry[p->entries++] = (struct entry) { way, policy, windows, when, 0 };
}

/* References first and, in the other order, last; between them all else, whose programs stay for
 * all its windows. */
static void make_plan(struct plan *p, const struct mixes_run *run, const struct mixes_mix *mix)
{
	unsigned half = (run->rounds + 1) / 2;

	/* Under it each program is measured alone, too. */
	if (!run->way[MIXES_SLICING] || !is_reference(mix, MIXES_SLICING))
		add(p, MIXES_SLICING, 0, run->way[MIXES_SLICING] ? run->rounds : 0, MIXES_ALL);
	for (int way = MIXES_SLICING; way < MIXES_WAYS; way++)
		if (run->way[way] && is_reference(mix, (enum mixes_way)way))
			add(p, (enum mixes_way)way, 0, half, MIXES_FIRST);
	for (int way = MIXES_MPS; way < MIXES_WAYS; way++)
		for (size_t i = 0; run->way[way] && !is_reference(mix, (enum mixes_way)way) &&
				   i < (gpushares((enum mixes_way)way) ? run->policies : 1);
		     i++)
			add(p, (enum mixes_way)way, i, run->rounds, MIXES_ALL);
	for (int way = MIXES_WAYS - 1; way >= MIXES_SLICING; way--)
		if (run->way[way] && is_reference(mix, (enum mixes_way)way))
			add(p, (enum mixes_way)way, 0, half, MIXES_LAST);
	p->entry[0].alone = 1;
}

static void note_failure(struct plan *p, const struct entry *e, const struct gs_error *err)
{
	struct subject *s = &p->subject[e->way][e->policy];

	snprintf(s->totals[MIXES_ALL].row.why, MIXES_WHY_MAX, "%.*s", MIXES_WHY_MAX - 1, err->text);
	if (e->when != MIXES_ALL)
		snprintf(s->totals[e->when].row.why, MIXES_WHY_MAX, "%.*s", MIXES_WHY_MAX - 1,
			 err->text);
}

static int measure_alone(struct mixes_run *run, struct mixes_workers *workers, struct gs_error *err)
{
	for (uint32_t side = 0; side < 2; side++) {
		enum mixes_program program = workers->mix->side[side].program;
		struct mixes_window window;

		if (run->alone[program].value > 0)
			continue;
		if (mixes_workers_work(workers, mixes_workers_one(workers, side), run->skip_ns,
				       run->seconds_ns, &window, err) < 0)
			return -1;
		run->alone[program] = mixes_alone(workers, side, &window);
		if (run->alone[program].value <= 0)
			return gs_fail(err, "%s did nothing alone", mixes_kind[program].name);
	}
	return 0;
}

/* The windows of an entry whose programs are ready. */
static int windows(struct mixes_run *run, struct plan *p, const struct entry *e,
		   struct mixes_workers *workers, struct gs_error *err)
{
	struct subject *s = &p->subject[e->way][e->policy];

	if (e->alone && measure_alone(run, workers, err) < 0)
		return -1;
	for (unsigned i = 0; i < e->windows; i++) {
		const struct mixes_speed alone[2] = { run->alone[workers->mix->side[0].program],
						      run->alone[workers->mix->side[1].program] };
		struct mixes_window window;
		struct gs_error lost;
		int rc = mixes_workers_work(workers, MIXES_EVERYONE, run->skip_ns, run->seconds_ns,
					    &window, err);

		/* A program that did not stop in time has its window all the same. */
		if (window.over_ns &&
		    (mixes_totals_add(&s->totals[MIXES_ALL], workers, &window, alone, &lost) < 0 ||
		     (e->when != MIXES_ALL &&
		      mixes_totals_add(&s->totals[e->when], workers, &window, alone, &lost) < 0)))
			return gs_fail(err, "%s", lost.text);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int run_entry(struct mixes_run *run, struct plan *p, const struct entry *e,
		     const struct mixes_mix *mix, struct gs_error *err)
{
	const struct mixes_side *side = mix->side;
	const struct bench_gpu gpu = {
		.memory = run->setup.yard.memory,
		.priority_max = mix->urgent ? 2 : 1,
		.shares = side[0].count * side[0].shares + side[1].count * side[1].shares,
	};
	struct mixes_workers workers = { .setup = &run->setup, .mix = mix, .stage = run->stage };
	struct gs_error late;
	int rc = bench_stage_begin(run->stage, mixes_share[e->way],
				   e->policy ? run->policy[e->policy] : NULL, &gpu, err);

	if (rc == 0) {
		rc = mixes_workers_start(&workers, e->way, err);
		if (rc == 0)
			rc = windows(run, p, e, &workers, err);
		if (mixes_workers_stop(&workers, &late) < 0 && rc == 0)
			rc = gs_fail(err, "%s", late.text);
		if (rc < 0 && gpushares(e->way) && !bench_interrupted)
			bench_stage_show_log(run->stage);
	}
	bench_stage_end(run->stage);
	return rc;
}

/* Close the totals and add their rows. */
static int add_rows(struct mixes_run *run, struct plan *p, const struct mixes_mix *mix,
		    struct gs_error *err)
{
	for (int way = MIXES_SLICING; way < MIXES_WAYS; way++)
		for (size_t policy = 0; policy < MIXES_POLICIES_MAX; policy++)
			for (int when = 0; when < MIXES_WHENS; when++) {
				struct mixes_totals *t = &p->subject[way][policy].totals[when];
				struct mixes_row *more;

				if (!t->row.windows && !*t->row.why)
					continue;
				mixes_totals_close(t);
				more = realloc(run->row, (run->count + 1) * sizeof(*more));
				if (!more)
					return gs_fail(err, "no memory");
				run->row = more;
				more = &run->row[run->count++];
				*more = t->row;
				snprintf(more->mix, sizeof(more->mix), "%s", mix->name);
				snprintf(more->policy, sizeof(more->policy), "%s",
					 gpushares((enum mixes_way)way) ? run->policy[policy] :
									  "-");
				more->way = (enum mixes_way)way;
				more->when = (enum mixes_when)when;
				more->is_default = gpushares((enum mixes_way)way) && policy == 0;
				more->seconds = (double)run->seconds_ns / 1e9;
				more->skip = (double)run->skip_ns / 1e9;
				memcpy(more->device, run->setup.yard.device, sizeof(more->device));
				memcpy(more->driver, run->setup.yard.driver, sizeof(more->driver));
			}
	return 0;
}

int mixes_measure(struct mixes_run *run, const struct mixes_mix *mix, struct gs_error *err)
{
	struct plan *p = calloc(1, sizeof(*p));
	int rc = 0;

	if (!p)
		return gs_fail(err, "no memory");
	make_plan(p, run, mix);
	for (size_t i = 0; rc == 0 && i < p->entries; i++) {
		const struct entry *e = &p->entry[i];
		uint64_t began = gs_clock_ns();
		struct gs_error why;

		if (run_entry(run, p, e, mix, &why) < 0) {
			run->failures++;
			note_failure(p, e, &why);
			fprintf(stderr, "gpushare-bench: %s, %s: %s\n", mix->name,
				mixes_way_name(e->way), why.text);
		}
		fprintf(stderr, "gpushare-bench: %s, %s%s%s: %.0f s\n", mix->name,
			mixes_way_name(e->way), gpushares(e->way) ? " " : "",
			gpushares(e->way) ? run->policy[e->policy] : "",
			(double)(gs_clock_ns() - began) / 1e9);
		if (bench_interrupted)
			rc = gs_fail(err, "interrupted");
		/* Without what each does alone there are no parts. */
		if (run->alone[mix->side[0].program].value <= 0 ||
		    run->alone[mix->side[1].program].value <= 0)
			break;
	}
	if (add_rows(run, p, mix, bench_interrupted ? NULL : err) < 0)
		rc = -1;
	free(p);
	return rc;
}
