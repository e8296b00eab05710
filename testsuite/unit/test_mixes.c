/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bars of gpushare-bench mixes on made-up rows, and figures from made-up records. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpushare/bench/mixes.h"

static struct mixes_row row(const char *mix, enum mixes_way way, enum mixes_when when, double first,
			    double second)
{
	struct mixes_row r = { .way = way,
			       .when = when,
			       .is_default = 1,
			       .seconds = 10,
			       .windows = 2,
			       .part = { first, second },
			       .policy = "frs",
			       .device = "card",
			       .driver = "13.0" };

	snprintf(r.mix, sizeof(r.mix), "%s", mix);
	return r;
}

/* The bar of that measure; there must be one. */
static const struct mixes_bar *bar_of(const char *mix, enum mixes_way way,
				      enum mixes_measure measure)
{
	for (size_t i = 0; i < mixes_bars; i++)
		if (strcmp(mixes_bar[i].mix, mix) == 0 && mixes_bar[i].way == way &&
		    mixes_bar[i].measure == measure)
			return &mixes_bar[i];
	fail_msg("%s has no such bar", mix);
	return NULL;
}

static enum mixes_verdict judge(const struct mixes_row *r, size_t count, enum mixes_measure measure)
{
	struct mixes_result result;

	mixes_judge(bar_of(r->mix, r->way, measure), r, r, count, &result);
	return result.verdict;
}

/* r[0] is gpushare's, r[1] and r[2] the reference's first and last. */
static void three(struct mixes_row r[3], const char *mix, enum mixes_way way,
		  enum mixes_way reference)
{
	r[0] = row(mix, way, MIXES_ALL, 0.5, 0.5);
	r[1] = row(mix, reference, MIXES_FIRST, 0.5, 0.5);
	r[2] = row(mix, reference, MIXES_LAST, 0.5, 0.5);
}

static void sum_and_smaller_part(void **state)
{
	struct mixes_row r[3];

	(void)state;
	three(r, "gpt+big", MIXES_CONTEXTS, MIXES_SLICING);
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_MET);
	assert_int_equal(judge(r, 3, MIXES_SMALLER), MIXES_MET);
	r[0].part[0] = 0.46; /* 0.96 of 1.0; 0.46 of 0.5 */
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_MET);
	assert_int_equal(judge(r, 3, MIXES_SMALLER), MIXES_MET);
	r[0].part[0] = 0.44;
	r[0].part[1] = 0.52;
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_MET);
	assert_int_equal(judge(r, 3, MIXES_SMALLER), MIXES_SHORT);
	r[0].part[1] = 0.5;
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_SHORT);
}

static void the_worse_of_two_references_and_void(void **state)
{
	struct mixes_row r[3];

	(void)state;
	three(r, "gpt+gpt", MIXES_GS_MPS, MIXES_MPS);
	r[0].part[0] = 0.44; /* sum 0.94 */
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_MET);
	r[1].part[0] = 0.58; /* first 1.08 */
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_MET);
	r[2].part[0] = 0.53; /* last 1.03: 0.93 of it is 0.958 */
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_SHORT);
	r[1].part[0] = 0.64; /* 1.14 and 1.03 are more than 10 % apart */
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_VOID);
	r[2].run = 1; /* another run's is none */
	assert_int_equal(judge(r, 3, MIXES_SUM), MIXES_UNKNOWN);
	assert_int_equal(judge(r, 1, MIXES_SUM), MIXES_UNKNOWN);
}

static void latencies(void **state)
{
	struct mixes_row r[3];

	(void)state;
	three(r, "request-graph+big", MIXES_CONTEXTS, MIXES_SLICING);
	for (int i = 0; i < 3; i++) {
		r[i].p50 = 2;
		r[i].p99[0] = 4;
		r[i].requests = 1000;
	}
	assert_int_equal(judge(r, 3, MIXES_P50), MIXES_MET);
	r[0].p99[0] = 4.5;
	assert_int_equal(judge(r, 3, MIXES_P99), MIXES_SHORT);
	r[2].p99[0] = 4.9; /* 22 % apart: not void, and the worse counts */
	assert_int_equal(judge(r, 3, MIXES_P99), MIXES_MET);
	r[2].p99[0] = 5.1;
	assert_int_equal(judge(r, 3, MIXES_P99), MIXES_VOID);
	r[0].requests = 999;
	assert_int_equal(judge(r, 3, MIXES_P99), MIXES_UNKNOWN);
	r[2].p50 = 2.3; /* of the median 10 % are too much */
	assert_int_equal(judge(r, 3, MIXES_P50), MIXES_VOID);
	/* What the other keeps: 0.97 of time slicing's, or 0.88. */
	r[1].part[1] = r[2].part[1] = 0.8;
	r[0].part[1] = 0.78;
	assert_int_equal(judge(r, 3, MIXES_KEPT), MIXES_MET);
	r[0].part[1] = 0.77;
	assert_int_equal(judge(r, 3, MIXES_KEPT), MIXES_SHORT);
	r[1].part[1] = r[2].part[1] = 0.99;
	r[0].part[1] = 0.88;
	assert_int_equal(judge(r, 3, MIXES_KEPT), MIXES_MET);
}

static void bars_without_a_reference(void **state)
{
	struct mixes_row r = row("flood", MIXES_GS_MPS, MIXES_ALL, 0.35, 0.6);

	(void)state;
	assert_int_equal(judge(&r, 1, MIXES_SMALLER), MIXES_MET);
	assert_int_equal(judge(&r, 1, MIXES_SUM), MIXES_MET);
	r.part[0] = 0.34;
	assert_int_equal(judge(&r, 1, MIXES_SMALLER), MIXES_SHORT);
	r.seconds = 4; /* two windows: 8 s */
	assert_int_equal(judge(&r, 1, MIXES_SMALLER), MIXES_UNKNOWN);
	snprintf(r.why, sizeof(r.why), "it ended");
	assert_int_equal(judge(&r, 1, MIXES_SMALLER), MIXES_SHORT);
}

static void parts_apart_and_longest_step(void **state)
{
	struct mixes_row r[3];

	(void)state;
	three(r, "long2", MIXES_CONTEXTS, MIXES_SLICING);
	r[0].apart = 0.049;
	assert_int_equal(judge(r, 1, MIXES_APART), MIXES_UNKNOWN);
	r[0].seconds = 20;
	r[0].skip = 10;
	assert_int_equal(judge(r, 1, MIXES_APART), MIXES_MET);
	r[0].apart = 0.051;
	assert_int_equal(judge(r, 1, MIXES_APART), MIXES_SHORT);
	r[0].is_default = 0;
	assert_false(mixes_concerns(bar_of("long2", MIXES_CONTEXTS, MIXES_APART), &r[0]));
	assert_true(mixes_concerns(bar_of("long2", MIXES_CONTEXTS, MIXES_SUM), &r[0]));
	three(r, "ddp", MIXES_CONTEXTS, MIXES_SLICING);
	r[1].longest[0] = 10;
	r[2].longest[1] = 20;
	r[0].longest[1] = 100;
	assert_int_equal(judge(r, 3, MIXES_LONGEST), MIXES_MET);
	r[0].longest[0] = 101;
	assert_int_equal(judge(r, 3, MIXES_LONGEST), MIXES_SHORT);
}

/* Every bar is of a mix that there is. */
static void bars_name_mixes(void **state)
{
	(void)state;
	for (size_t i = 0; i < mixes_bars; i++) {
		size_t k = 0;

		while (k < mixes_count && strcmp(mixes_mix[k].name, mixes_bar[i].mix) != 0)
			k++;
		assert_true(k < mixes_count);
	}
}

static void records(void **state)
{
	static const struct mixes_record steps[] = { { 20, 4 }, { 40, 4 }, { 60, 4 }, { 160, 4 } };
	static const struct mixes_record served[] = { { 105, 100 }, { 130, 110 }, { 135, 120 } };
	double latency[8];

	(void)state;
	/* Half of the second, the third, a tenth of the last. */
	assert_true(mixes_units(steps, 4, 10, 30, 70) > 6.39 &&
		    mixes_units(steps, 4, 10, 30, 70) < 6.41);
	assert_true(mixes_units(steps, 4, 10, 0, 1000) == 16);
	assert_true(mixes_units(steps, 0, 10, 0, 1000) == 0);
	/* The records of an earlier window do not count, nor the time since. */
	assert_true(mixes_units(steps, 4, 150, 150, 160) == 4);
	assert_true(mixes_longest(steps, 4, 30, 70) == 20);
	assert_true(mixes_longest(steps, 4, 30, 170) == 100);
	assert_true(mixes_longest(steps, 3, 30, 170) == 110);
	assert_true(mixes_longest(steps, 0, 30, 170) == 140);
	/* Due at 100, 110, 120, 130; the first is before the window, the last never ended. */
	assert_int_equal(mixes_latencies(served, 3, 100, 10, 110, 140, 200, latency, 8), 3);
	assert_true(latency[0] == 20 && latency[1] == 15 && latency[2] == 70);
	assert_int_equal(mixes_latencies(served, 3, 100, 10, 100, 140, 200, latency, 2), 2);
}

static void csv_is_read_back(void **state)
{
	struct mixes_row r = row("gpt+big", MIXES_MPS_PRIORITIES, MIXES_LAST, 0.01, 0.98),
			 *read = NULL;
	char path[] = "/tmp/gpushare-mixes.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	struct gs_error err;
	size_t count = 0;

	(void)state;
	assert_non_null(f);
	r.p99[0] = 16.7;
	r.requests = 1000;
	snprintf(r.why, sizeof(r.why), "one, two");
	fprintf(f, "# a comment\n");
	mixes_csv_head(f);
	mixes_csv_row(f, &r);
	fclose(f);
	assert_int_equal(mixes_csv_read(path, 3, &read, &count, &err), 0);
	assert_int_equal(count, 1);
	assert_true(read->way == r.way && read->when == r.when && read->run == 3 &&
		    read->requests == 1000);
	assert_string_equal(read->mix, "gpt+big");
	assert_string_equal(read->why, "one; two");
	assert_true(read->part[1] > 0.979 && read->part[1] < 0.981 && read->p99[0] > 16.69 &&
		    read->p99[0] < 16.71);
	f = fopen(path, "a");
	assert_non_null(f);
	fprintf(f, "gpt+big,nosuch\n");
	fclose(f);
	assert_int_equal(mixes_csv_read(path, 0, &read, &count, &err), -1);
	assert_non_null(strstr(err.text, ":4:"));
	unlink(path);
	free(read);
}

/* A file of before there were columns for the least of all and for the p99 alone. */
static void csv_of_an_older_version(void **state)
{
	struct mixes_row *read = NULL;
	char path[] = "/tmp/gpushare-mixes.XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	struct gs_error err;
	size_t count = 0;

	(void)state;
	assert_non_null(f);
	fprintf(f, "mix,way,policy,when,part_0,part_1,apart,failed\n"
		   "gpt+gpt,contexts,frs,all,0.48000,0.47000,0.02100,\n");
	fclose(f);
	assert_int_equal(mixes_csv_read(path, 0, &read, &count, &err), 0);
	assert_int_equal(count, 1);
	assert_true(read->part[0] == 0.48 && read->apart == 0.021 && read->least == 0);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "gpt+gpt,contexts,frs,all,0.48000,0.47000,0.02100,\n");
	fclose(f);
	assert_int_equal(mixes_csv_read(path, 0, &read, &count, &err), -1);
	unlink(path);
	free(read);
}

static void off_the_shares_least_and_p99_of_alone(void **state)
{
	struct mixes_row r = row("gpt-shares", MIXES_CONTEXTS, MIXES_ALL, 0.72, 0.24);

	(void)state;
	assert_int_equal(judge(&r, 1, MIXES_OFF_SHARES), MIXES_MET);
	r.part[1] = 0.2;
	assert_int_equal(judge(&r, 1, MIXES_OFF_SHARES), MIXES_SHORT);
	r.part[1] = 0;
	assert_int_equal(judge(&r, 1, MIXES_OFF_SHARES), MIXES_SHORT);
	r = row("gpt-eight", MIXES_CONTEXTS, MIXES_ALL, 0.12, 0.12);
	r.least = 0.91;
	assert_int_equal(judge(&r, 1, MIXES_LEAST), MIXES_MET);
	r.least = 0.89;
	assert_int_equal(judge(&r, 1, MIXES_LEAST), MIXES_SHORT);
	r = row("decode+gpt", MIXES_GS_MPS, MIXES_ALL, 1, 0.9);
	r.p99[1] = 2;
	r.p99[0] = 2.3;
	assert_int_equal(judge(&r, 1, MIXES_P99_TIMES), MIXES_UNKNOWN); /* of how many? */
	r.requests = 1000;
	assert_int_equal(judge(&r, 1, MIXES_P99_TIMES), MIXES_MET);
	r.p99[0] = 2.5;
	assert_int_equal(judge(&r, 1, MIXES_P99_TIMES), MIXES_SHORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum_and_smaller_part),
		cmocka_unit_test(the_worse_of_two_references_and_void),
		cmocka_unit_test(latencies),
		cmocka_unit_test(bars_without_a_reference),
		cmocka_unit_test(parts_apart_and_longest_step),
		cmocka_unit_test(bars_name_mixes),
		cmocka_unit_test(records),
		cmocka_unit_test(csv_is_read_back),
		cmocka_unit_test(csv_of_an_older_version),
		cmocka_unit_test(off_the_shares_least_and_p99_of_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
