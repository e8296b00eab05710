/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mixes, the bars, and holding them against rows; pure code, see mixes.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes.h"

#include <math.h>
#include <string.h>

/* What counts, and how far the first and the last run of a reference may be from each other. */
#define REQUESTS_MIN 1000
#define SECONDS_MIN 10
#define APART_SECONDS 20
#define APART_SKIP 10
#define DRIFT 0.10
#define DRIFT_P99 0.25

const struct mixes_kind mixes_kind[MIXES_PROGRAMS] = {
#define PROGRAM(id, name, torch, period_ms, gpus) [MIXES_##id] = { name, torch, period_ms, gpus },
#include "gpushare/bench/mixes.def"
#undef PROGRAM
};

const struct mixes_mix mixes_mix[] = {
#define MIX(name, first, n, second, m, shares, others, urgent) \
	{ name, { { MIXES_##first, n, shares }, { MIXES_##second, m, others } }, urgent },
#include "gpushare/bench/mixes.def"
#undef MIX
};
const size_t mixes_count = sizeof(mixes_mix) / sizeof(mixes_mix[0]);

const struct mixes_bar mixes_bar[] = {
#define BAR(mix, way, measure, relation, factor, reference, or_met_by) \
	{ \
		mix,    MIXES_##way,       MIXES_##measure, MIXES_##relation, \
		factor, MIXES_##reference, or_met_by \
	},
#include "gpushare/bench/mixes_bars.def"
#undef BAR
};
const size_t mixes_bars = sizeof(mixes_bar) / sizeof(mixes_bar[0]);

int mixes_torch(const struct mixes_mix *mix)
{
	return mixes_kind[mix->side[0].program].torch || mixes_kind[mix->side[1].program].torch;
}

uint32_t mixes_gpus(const struct mixes_mix *mix)
{
	return mixes_kind[mix->side[0].program].gpus;
}

const char *mixes_way_name(enum mixes_way way)
{
	static const char *const name[MIXES_WAYS] = {
		[MIXES_SLICING] = "time-slicing",          [MIXES_MPS] = "mps",
		[MIXES_MPS_PRIORITIES] = "mps-priorities", [MIXES_CONTEXTS] = "contexts",
		[MIXES_GS_MPS] = "gpushare-mps",
	};

	return way < MIXES_WAYS ? name[way] : NULL;
}

const char *mixes_when_name(enum mixes_when when)
{
	static const char *const name[MIXES_WHENS] = { "all", "first", "last" };

	return name[when];
}

const char *mixes_measure_name(enum mixes_measure measure)
{
	static const char *const name[MIXES_MEASURES] = {
		"sum",         "smaller part",    "p50 ms",      "p99 ms",
		"other keeps", "longest step ms", "parts apart", "least of all",
		"p99 / alone", "off the shares",
	};

	return name[measure];
}

static double off_shares(const struct mixes_row *r)
{
	const struct mixes_mix *mix = mixes_mix;

	while (mix < mixes_mix + mixes_count && strcmp(mix->name, r->mix) != 0)
		mix++;
	if (mix == mixes_mix + mixes_count || r->part[1] <= 0)
		return INFINITY;
	return fabs(r->part[0] / r->part[1] * mix->side[1].shares / mix->side[0].shares - 1);
}

static double value_of(const struct mixes_row *r, enum mixes_measure measure)
{
	switch (measure) {
	case MIXES_SUM:
		return r->part[0] + r->part[1];
	case MIXES_SMALLER:
		return fmin(r->part[0], r->part[1]);
	case MIXES_P50:
		return r->p50;
	case MIXES_P99:
		return r->p99[0];
	case MIXES_KEPT:
		return r->part[1];
	case MIXES_LONGEST:
		return fmax(r->longest[0], r->longest[1]);
	case MIXES_LEAST:
		return r->least;
	case MIXES_P99_TIMES:
		return r->p99[1] > 0 ? r->p99[0] / r->p99[1] : INFINITY;
	case MIXES_OFF_SHARES:
		return off_shares(r);
	default:
		return r->apart;
	}
}

int mixes_concerns(const struct mixes_bar *bar, const struct mixes_row *row)
{
	return row->when == MIXES_ALL && row->way == bar->way && strcmp(row->mix, bar->mix) == 0 &&
	       (bar->measure != MIXES_APART || row->is_default);
}

/* Is enough measured for this? */
static int enough(const struct mixes_row *row, enum mixes_measure measure,
		  struct mixes_result *result)
{
	double seconds = row->seconds * row->windows;

	if ((measure == MIXES_P99 || measure == MIXES_P99_TIMES) && row->requests < REQUESTS_MIN)
		snprintf(result->words, sizeof(result->words), "%u requests, of %d", row->requests,
			 REQUESTS_MIN);
	else if (measure == MIXES_APART && (row->seconds < APART_SECONDS || row->skip < APART_SKIP))
		snprintf(result->words, sizeof(result->words), "needs --skip %d --seconds %d",
			 APART_SKIP, APART_SECONDS);
	else if (seconds < SECONDS_MIN)
		snprintf(result->words, sizeof(result->words), "%.1f s, of %d", seconds,
			 SECONDS_MIN);
	else
		return 1;
	return 0;
}

static const struct mixes_row *find(const struct mixes_row *like, enum mixes_way way,
				    enum mixes_when when, const struct mixes_row *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (all[i].run == like->run && all[i].way == way && all[i].when == when &&
		    !*all[i].why && strcmp(all[i].mix, like->mix) == 0)
			return &all[i];
	return NULL;
}

/*
 * The worse of the reference's two runs in *worse. -1: they differ too much or one is missing;
 * result->words says so.
 */
static int reference(const struct mixes_bar *bar, const struct mixes_row *row,
		     const struct mixes_row *all, size_t count, double *worse,
		     struct mixes_result *result)
{
	const struct mixes_row *first = find(row, bar->reference, MIXES_FIRST, all, count);
	const struct mixes_row *last = find(row, bar->reference, MIXES_LAST, all, count);
	double may = bar->measure == MIXES_P99 ? DRIFT_P99 : DRIFT, a, b;

	if (!first || !last) {
		snprintf(result->words, sizeof(result->words), "%s was not measured first and last",
			 mixes_way_name(bar->reference));
		return -1;
	}
	a = value_of(first, bar->measure);
	b = value_of(last, bar->measure);
	*worse = bar->relation == MIXES_AT_LEAST ? fmin(a, b) : fmax(a, b);
	/*
	 * The longest of many steps differs from run to run, so the two need not agree; its bar
	 * leaves room for that.
	 */
	if (bar->measure != MIXES_LONGEST && fabs(a - b) > may * fmin(a, b)) {
		result->verdict = MIXES_VOID;
		snprintf(result->words, sizeof(result->words), "%s: %.3f first, %.3f last",
			 mixes_way_name(bar->reference), a, b);
		return -1;
	}
	return 0;
}

void mixes_judge(const struct mixes_bar *bar, const struct mixes_row *row,
		 const struct mixes_row *all, size_t count, struct mixes_result *result)
{
	double worse = 1;
	int met;

	*result = (struct mixes_result) { .verdict = MIXES_UNKNOWN,
					  .value = value_of(row, bar->measure) };
	/* What gpushare could not do falls short. */
	if (*row->why) {
		result->verdict = MIXES_SHORT;
		snprintf(result->words, sizeof(result->words), "failed: %.180s", row->why);
		return;
	}
	if (!enough(row, bar->measure, result))
		return;
	result->limit = bar->or_met_by;
	met = bar->or_met_by > 0 && result->value >= bar->or_met_by;
	if (!met && bar->reference != MIXES_NONE) {
		if (reference(bar, row, all, count, &worse, result) < 0)
			return;
		result->reference = worse;
	}
	if (!met) {
		result->limit = bar->factor * worse;
		if (bar->or_met_by > 0)
			result->limit = fmin(result->limit, bar->or_met_by);
		met = bar->relation == MIXES_AT_LEAST ? result->value >= result->limit :
							result->value <= result->limit;
	}
	result->verdict = met ? MIXES_MET : MIXES_SHORT;
}
