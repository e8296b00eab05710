/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measures of periodic programs against values worked out by hand. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/metrics/timing.h"

#define MS UINT64_C(1000000)

static struct gs_timing timing;
static uint64_t last_end;

static void near(double got, double want)
{
	if (!(got > want - 1e-9 && got < want + 1e-9))
		fail_msg("%.9f instead of %.9f", got, want);
}

/* Every 50 ms, due after 20. */
static void add(uint64_t arrival_ms, uint64_t end_ms, uint64_t occupying_ms)
{
	const struct gs_timing_job job = { .arrival_ns = arrival_ms * MS,
					   .end_ns = end_ms * MS,
					   .last_end_ns = last_end,
					   .occupying_ns = occupying_ms * MS,
					   .period_ns = 50 * MS,
					   .deadline_ns = 20 * MS };

	gs_timing_add(&timing, &job);
	last_end = job.end_ns;
}

static void expect(enum gs_timing_figure figure, double p50, double most)
{
	struct gs_timing_summary is = gs_timing_summary(&timing, figure);

	near(is.p50_ms, p50);
	near(is.p99_ms, most);
	near(is.max_ms, most);
}

static int begin(void **state)
{
	(void)state;
	memset(&timing, 0, sizeof(timing));
	last_end = 0;
	return 0;
}

static void measures_are_those_of_the_paper(void **state)
{
	(void)state;
	add(0, 10, 10);
	add(50, 75, 12);
	add(100, 120, 10); /* at the deadline is in time */
	assert_int_equal(timing.jobs, 3);
	assert_int_equal(timing.missed, 1);
	expect(GS_TIMING_RESPONSE, 20, 25);
	expect(GS_TIMING_OCCUPYING, 10, 12);
	expect(GS_TIMING_PENDING, 10, 13);
	/* The ends are 65 and 45 ms apart instead of 50. */
	expect(GS_TIMING_JITTER, 5, 15);
	expect(GS_TIMING_TARDINESS, 0, 5);
}

static void what_a_job_has_not_is_not_counted(void **state)
{
	const struct gs_timing_job once = { .arrival_ns = 5, .end_ns = 5 + MS, .occupying_ns = MS };

	(void)state;
	assert_true(isnan(gs_timing_summary(&timing, GS_TIMING_RESPONSE).max_ms));
	gs_timing_add(&timing, &once);
	gs_timing_add(&timing, &once);
	expect(GS_TIMING_RESPONSE, 1, 1);
	assert_true(isnan(gs_timing_summary(&timing, GS_TIMING_JITTER).p50_ms));
	assert_true(isnan(gs_timing_summary(&timing, GS_TIMING_TARDINESS).p50_ms));
	assert_int_equal(timing.missed, 0);
}

static void the_first_job_has_no_jitter(void **state)
{
	(void)state;
	add(0, 10, 10);
	assert_int_equal(timing.of[GS_TIMING_JITTER].count, 0);
	assert_int_equal(timing.of[GS_TIMING_TARDINESS].count, 1);
}

static void quantiles_are_of_the_latest_maxima_of_all(void **state)
{
	(void)state;
	add(0, 1000, 10);
	for (uint64_t i = 1; i <= GS_TIMING_SAMPLES; i++)
		add(1000 * i, 1000 * i + 10, 10);
	near(gs_timing_summary(&timing, GS_TIMING_RESPONSE).p99_ms, 10);
	near(gs_timing_summary(&timing, GS_TIMING_RESPONSE).max_ms, 1000);
}

static void occupying_is_no_longer_than_the_response(void **state)
{
	(void)state;
	add(0, 10, 99);
	expect(GS_TIMING_OCCUPYING, 10, 10);
	expect(GS_TIMING_PENDING, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(measures_are_those_of_the_paper, begin),
		cmocka_unit_test_setup(what_a_job_has_not_is_not_counted, begin),
		cmocka_unit_test_setup(the_first_job_has_no_jitter, begin),
		cmocka_unit_test_setup(quantiles_are_of_the_latest_maxima_of_all, begin),
		cmocka_unit_test_setup(occupying_is_no_longer_than_the_response, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
