/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-bench corun makes of launches that were counted. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpushare/bench/corun_figures.h"

#define NEAR 1e-9

static void a_rate_is_between_the_first_and_the_last_end(void **unused)
{
	struct bench_corun is = {
		.launches = 11, .begun = 13, .first_ns = 500000000, .last_ns = 1500000000
	};

	(void)unused;
	assert_float_equal(corun_rate(&is), 10, NEAR);
	is.empty = 13; /* none did anything */
	assert_float_equal(corun_rate(&is), 0, NEAR);
	is.begun = 52;
	assert_float_equal(corun_rate(&is), 7.5, NEAR);
	is.launches = 1;
	assert_float_equal(corun_rate(&is), 0, NEAR);
	is = (struct bench_corun) { .launches = 2, .first_ns = 7, .last_ns = 7 };
	assert_float_equal(corun_rate(&is), 0, NEAR);
}

/* SMK's measures (6.1): one kernel at 0.5 and one at 0.8 of what it does alone. */
static void progress_of_two(void **unused)
{
	struct corun_figures f =
		corun_figures((const double[]) { 50, 8 }, (const double[]) { 100, 10 });

	(void)unused;
	assert_float_equal(f.stp, 1.3, NEAR);
	assert_float_equal(f.antt, (2 + 1.25) / 2, NEAR);
	assert_float_equal(f.fair, 0.625, NEAR);
	f = corun_figures((const double[]) { 0, 10 }, (const double[]) { 100, 10 });
	assert_float_equal(f.stp, 1, NEAR);
	assert_float_equal(f.antt, 0, NEAR);
	assert_float_equal(f.fair, 0, NEAR);
}

static void each_has_a_multiprocessor(void **unused)
{
	(void)unused;
	assert_int_equal(corun_border(132, 4), 66);
	assert_int_equal(corun_border(132, 1), 17);
	assert_int_equal(corun_border(132, 7), 116);
	for (uint32_t sms = 2; sms < 200; sms++)
		for (uint32_t eighths = 0; eighths <= 8; eighths++) {
			uint32_t border = corun_border(sms, eighths);

			assert_true(border >= 1 && border < sms);
			assert_true(!eighths || border >= corun_border(sms, eighths - 1));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_between_the_first_and_the_last_end),
		cmocka_unit_test(progress_of_two),
		cmocka_unit_test(each_has_a_multiprocessor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
