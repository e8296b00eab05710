/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table, the bars and the CSV of gpushare-bench mixes; see mixes.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS \
	"mix,way,policy,default,when,seconds,skip,windows,alone_0,alone_1,part_0,part_1,p50_ms,p99_ms,requests," \
	"longest_0_ms,longest_1_ms,apart,device,driver,failed"
#define FIELDS 21
#define LINE_MAX_BYTES 1024

static const char *const when_name[MIXES_WHENS] = { "all", "first", "last" };
static const char *const verdict_name[] = { "met", "SHORT", "void", "not known" };

void mixes_csv_head(FILE *out)
{
	fprintf(out, COLUMNS "\n");
}

void mixes_csv_row(FILE *out, const struct mixes_row *r)
{
	char why[MIXES_WHY_MAX], device[96];

	snprintf(why, sizeof(why), "%s", r->why);
	snprintf(device, sizeof(device), "%s", r->device);
	for (char *at = why; *at; at++)
		if (*at == ',' || *at == '\n')
			*at = ';';
	for (char *at = device; *at; at++)
		if (*at == ',')
			*at = ';';
	fprintf(out,
		"%s,%s,%s,%d,%s,%.3f,%.3f,%u,%.5f,%.5f,%.5f,%.5f,%.4f,%.4f,%u,%.3f,%.3f,%.5f,%s,%s,%s\n",
		r->mix, mixes_way_name(r->way), r->policy, r->is_default, when_name[r->when],
		r->seconds, r->skip, r->windows, r->alone[0], r->alone[1], r->part[0], r->part[1],
		r->p50, r->p99, r->requests, r->longest[0], r->longest[1], r->apart, device,
		r->driver, why);
}

/* One line's fields, in place; their number. */
static size_t fields(char *line, char *field[FIELDS])
{
	size_t n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *rest = line; rest && n < FIELDS;)
		field[n++] = strsep(&rest, ",");
	return n;
}

static int parse_row(char *line, struct mixes_row *r)
{
	char *f[FIELDS];
	int way = 1, when = 0;

	if (fields(line, f) != FIELDS)
		return -1;
	while (way < MIXES_WAYS && strcmp(mixes_way_name((enum mixes_way)way), f[1]) != 0)
		way++;
	while (when < MIXES_WHENS && strcmp(when_name[when], f[4]) != 0)
		when++;
	if (way == MIXES_WAYS || when == MIXES_WHENS)
		return -1;
	*r = (struct mixes_row) {
		.way = (enum mixes_way)way,
		.when = (enum mixes_when)when,
		.is_default = atoi(f[3]),
		.seconds = atof(f[5]),
		.skip = atof(f[6]),
		.windows = (unsigned)atoi(f[7]),
		.alone = { atof(f[8]), atof(f[9]) },
		.part = { atof(f[10]), atof(f[11]) },
		.p50 = atof(f[12]),
		.p99 = atof(f[13]),
		.requests = (unsigned)atoi(f[14]),
		.longest = { atof(f[15]), atof(f[16]) },
		.apart = atof(f[17]),
	};
	snprintf(r->mix, sizeof(r->mix), "%s", f[0]);
	snprintf(r->policy, sizeof(r->policy), "%s", f[2]);
	snprintf(r->device, sizeof(r->device), "%s", f[18]);
	snprintf(r->driver, sizeof(r->driver), "%s", f[19]);
	snprintf(r->why, sizeof(r->why), "%s", f[20]);
	return 0;
}

int mixes_csv_read(const char *path, unsigned run, struct mixes_row **row, size_t *count,
		   struct gs_error *err)
{
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(path, "re");
	unsigned number = 0;
	int rc = 0;

	if (!f)
		return gs_fail_errno(err, "cannot read %.150s", path);
	while (rc == 0 && fgets(line, sizeof(line), f)) {
		struct mixes_row *more;

		number++;
		if (line[0] == '#' || strncmp(line, "mix,", 4) == 0)
			continue;
		more = realloc(*row, (*count + 1) * sizeof(**row));
		if (more)
			*row = more;
		if (!more || parse_row(line, &more[*count]) < 0)
			rc = gs_fail(err, "%.150s:%u: no row of gpushare-bench mixes", path,
				     number);
		else
			(*row)[(*count)++].run = run;
	}
	fclose(f);
	return rc;
}

static void print_row(FILE *out, const struct mixes_row *r)
{
	fprintf(out, "%-18s %-14s %-7s %-5s ", r->mix, mixes_way_name(r->way), r->policy,
		r->when == MIXES_ALL ? "" : when_name[r->when]);
	if (*r->why && !r->windows) {
		fprintf(out, "failed: %s\n", r->why);
		return;
	}
	fprintf(out, "%6.3f %6.3f %6.3f", r->part[0], r->part[1], r->part[0] + r->part[1]);
	if (r->requests)
		fprintf(out, " %9.2f %9.2f %5u", r->p50, r->p99, r->requests);
	else
		fprintf(out, " %9s %9s %5s", "-", "-", "-");
	fprintf(out, " %9.1f %9.1f %6.3f  %s%s%s\n", r->longest[0], r->longest[1], r->apart,
		r->device, *r->why ? "; failed: " : "", r->why);
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

	fprintf(out, "%-18s %-14s %-7s %-5s %6s %6s %6s %9s %9s %5s %9s %9s %6s  %s\n", "", "", "",
		"", "part", "part", "", "", "", "", "longest", "step ms", "parts", "");
	fprintf(out, "%-18s %-14s %-7s %-5s %6s %6s %6s %9s %9s %5s %9s %9s %6s  %s\n", "mix",
		"way", "policy", "run", "first", "second", "sum", "p50 ms", "p99 ms", "of", "first",
		"second", "apart", "card");
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
