/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobs' ended steps had together: the sums, which are forgotten first, and a restart. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/daemon/report/job_sums.h"

#define JOBS_KNOWN 4096

static struct gs_daemon d;

static int setup(void **state)
{
	(void)state;
	memset(&d, 0, sizeof(d));
	TAILQ_INIT(&d.steps);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gs_job_sums_fini();
	return 0;
}

static void ends(uint32_t job, double active_ms, double memory_mb)
{
	const struct gs_report_row row = {
		.job = job,
		.gpu = 1,
		.shares = 40,
		.active_ms = active_ms,
		.waiting_ms = 1,
		.turnaround_ms = active_ms + 1,
		.preemptions = 3,
		.h2d_mb = 5,
		.d2h_mb = 6,
		.memory_mb = memory_mb,
		.reserved_mb = 100,
	};

	gs_job_sums_note(&d, &row);
}

static void assert_sums(const struct gs_report_row *sum)
{
	assert_non_null(sum);
	assert_int_equal(sum->gpu, 1);
	assert_int_equal(sum->shares, 40);
	assert_float_equal(sum->active_ms, 2000.25, 1e-9);
	assert_float_equal(sum->waiting_ms, 2, 1e-9);
	assert_float_equal(sum->turnaround_ms, 2002.25, 1e-9);
	assert_int_equal(sum->preemptions, 6);
	assert_float_equal(sum->h2d_mb, 10, 1e-9);
	assert_float_equal(sum->d2h_mb, 12, 1e-9);
	assert_float_equal(sum->memory_mb, 90, 1e-9);
	assert_float_equal(sum->reserved_mb, 100, 1e-9);
}

static void test_steps_are_summed_up(void **state)
{
	(void)state;
	assert_null(gs_job_sums_find(7));
	ends(7, 1500, 90);
	ends(8, 1, 1);
	ends(7, 500.25, 20);
	assert_sums(gs_job_sums_find(7));
}

/* However many empty steps a job makes, and however many other jobs end: what it had is known for
 * as long as it has a step. */
static void test_a_job_with_a_step_is_not_forgotten(void **state)
{
	struct gs_step batch = { .info = { .job_id = 7 } };

	(void)state;
	TAILQ_INSERT_TAIL(&d.steps, &batch, link);
	ends(7, 1500, 90);
	ends(7, 500.25, 20);
	ends(6, 1, 1);
	for (uint32_t job = 10; job < 10 + JOBS_KNOWN - 1; job++)
		ends(job, 1, 1);
	assert_sums(gs_job_sums_find(7));
	assert_null(gs_job_sums_find(6));
	assert_non_null(gs_job_sums_find(10));
	/* The one whose last step ended longest ago goes first, not the one that began first. */
	ends(10, 1, 1);
	ends(9000000, 1, 1);
	assert_non_null(gs_job_sums_find(10));
	assert_null(gs_job_sums_find(11));
}

static void test_a_restart_keeps_those_of_jobs_that_have_a_step(void **state)
{
	struct gs_step batch = { .info = { .job_id = 7 } }, other = batch;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	TAILQ_INSERT_TAIL(&d.steps, &batch, link);
	TAILQ_INSERT_TAIL(&d.steps, &other, link);
	gs_job_sums_part.print(&d, &batch, f);
	ends(7, 1500, 90);
	ends(7, 500.25, 20);
	gs_job_sums_part.print(&d, &batch, f);
	gs_job_sums_part.print(&d, &other, f); /* once is enough */
	assert_int_equal(fclose(f), 0);
	assert_int_equal(text[size - 1], '\n');
	text[size - 1] = '\0';
	assert_null(strchr(text, '\n'));
	gs_job_sums_fini();
	assert_null(gs_job_sums_find(7));
	assert_int_equal(gs_job_sums_part.parse(&d, text), 1);
	assert_sums(gs_job_sums_find(7));
	free(text);
}

static void test_lines_of_others_are_not_taken(void **state)
{
	(void)state;
	assert_int_equal(gs_job_sums_part.parse(&d, ""), 0);
	assert_int_equal(gs_job_sums_part.parse(&d, "job 7 1 40 1 1 2 3 5 6 90"), 0);
	assert_int_equal(gs_job_sums_part.parse(&d, "job 7 1 40 1 1 2 3 5 6 90 100 8"), 0);
	assert_int_equal(gs_job_sums_part.parse(&d, "job 7 1 40 1 1 nan 3 5 6 90 100"), 0);
	assert_int_equal(gs_job_sums_part.parse(&d, "job 7 1 40 1 1 -2 3 5 6 90 100"), 0);
	assert_null(gs_job_sums_find(7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_steps_are_summed_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_job_with_a_step_is_not_forgotten, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_restart_keeps_those_of_jobs_that_have_a_step,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_of_others_are_not_taken, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
