/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table and the bars of gpushare-bench mixes; see mixes.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes.h"

#include <string.h>

static const char *const verdict_name[] = { "met", "SHORT", "void", "not known" };

static void print_row(FILE *out, const struct mixes_row *r)
{
	fprintf(out, "%-18s %-14s %-7s %-5s ", r->mix, mixes_way_name(r->way), r->policy,
		r->when == MIXES_ALL ? "" : mixes_when_name(r->when));
	if (*r->why && !r->windows) {
		fprintf(out, "failed: %s\n", r->why);
		return;
	}
	fprintf(out, "%6.3f %6.3f %6.3f", r->part[0], r->part[1], r->part[0] + r->part[1]);
	if (r->requests)
		fprintf(out, " %9.2f %9.2f %5u", r->p50, r->p99[0], r->requests);
	else
		fprintf(out, " %9s %9s %5s", "-", "-", "-");
	fprintf(out, " %9.1f %9.1f %6.3f %6.3f  %s%s%s\n", r->longest[0], r->longest[1], r->apart,
		r->least, r->device, *r->why ? "; failed: " : "", r->why);
}

static unsigned print_bars(FILE *out, const struct mixes_row *row, size_t count)
{
	unsigned totals[MIXES_UNKNOWN + 1] = { 0 };

	fprintf(out, "\n%-18s %-13s %-7s %-16s %10s %13s %7s\n", "mix", "way", "policy", "bar",
		"is", "must be", "ratio");
	for (size_t b = 0; b < mixes_bars; b++)
		for (size_t i = 0; i < count; i++) {
			const struct mixes_bar *bar = &mixes_bar[b];
			struct mixes_result result;

			if (!mixes_concerns(bar, &row[i]))
				continue;
			mixes_judge(bar, &row[i], row, count, &result);
			totals[result.verdict]++;
			fprintf(out, "%-18s %-13s %-7s %-16s %10.3f ", bar->mix,
				mixes_way_name(bar->way), row[i].policy,
				mixes_measure_name(bar->measure), result.value);
			if (result.limit > 0)
				fprintf(out, "%s %10.3f",
					bar->relation == MIXES_AT_LEAST ? ">=" : "<=",
					result.limit);
			else
				fprintf(out, "%13s", "-");
			if (result.reference > 0)
				fprintf(out, " %7.3f", result.value / result.reference);
			else
				fprintf(out, " %7s", "-");
			fprintf(out, "  %s%s%s\n", verdict_name[result.verdict],
				*result.words ? ": " : "", result.words);
		}
	fprintf(out, "%u met, %u short, %u void, %u not known\n", totals[MIXES_MET],
		totals[MIXES_SHORT], totals[MIXES_VOID], totals[MIXES_UNKNOWN]);
	return totals[MIXES_SHORT];
}

unsigned mixes_print(FILE *out, const struct mixes_row *row, size_t count)
{
	const char *mix = "";

	fprintf(out, "%-18s %-14s %-7s %-5s %6s %6s %6s %9s %9s %5s %9s %9s %6s %6s  %s\n", "", "",
		"", "", "part", "part", "", "", "", "", "longest", "step ms", "parts", "", "");
	fprintf(out, "%-18s %-14s %-7s %-5s %6s %6s %6s %9s %9s %5s %9s %9s %6s %6s  %s\n", "mix",
		"way", "policy", "run", "first", "second", "sum", "p50 ms", "p99 ms", "of", "first",
		"second", "apart", "least", "card");
	for (size_t i = 0; i < count; i++) {
		/* What each does alone goes before its mix. */
		if (strcmp(mix, row[i].mix) != 0 && !*row[i].why)
			fprintf(out, "%-18s alone: %.4g and %.4g (a second; of requests p50, ms)\n",
				row[i].mix, row[i].alone[0], row[i].alone[1]);
		mix = row[i].mix;
		print_row(out, &row[i]);
	}
	return print_bars(out, row, count);
}
