/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-bench corun makes of launches that were counted. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpushare/bench/corun_figures.h"
#include "gpushare/bench/corun_groups.h"

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
		corun_figures((const double[]) { 50, 8 }, (const double[]) { 100, 10 }, 2);

	(void)unused;
	assert_float_equal(f.stp, 1.3, NEAR);
	assert_float_equal(f.antt, (2 + 1.25) / 2, NEAR);
	assert_float_equal(f.fair, 0.625, NEAR);
	f = corun_figures((const double[]) { 0, 10 }, (const double[]) { 100, 10 }, 2);
	assert_float_equal(f.stp, 1, NEAR);
	assert_float_equal(f.antt, 0, NEAR);
	assert_float_equal(f.fair, 0, NEAR);
}

static void progress_of_four(void **unused)
{
	struct corun_figures f = corun_figures((const double[]) { 50, 8, 4, 30 },
					       (const double[]) { 100, 10, 20, 50 }, 4);

	(void)unused;
	assert_float_equal(f.stp, 0.5 + 0.8 + 0.2 + 0.6, NEAR);
	assert_float_equal(f.antt, (2 + 1.25 + 5 + 1 / 0.6) / 4, NEAR);
	assert_float_equal(f.fair, 0.25, NEAR);
}

static void groups_are_chosen_by_the_seed(void **unused)
{
	uint16_t all[45], some[20], again[20];

	(void)unused;
	assert_int_equal(corun_groups(10, 2), 45);
	assert_int_equal(corun_groups(10, 3), 120);
	assert_int_equal(corun_groups(16, 4), 1820);
	/* all pairs, in order */
	assert_int_equal(corun_choose_groups(10, 2, 7, all, 45), 45);
	for (size_t n = 0, i = 0; i < 10; i++)
		for (size_t k = i + 1; k < 10; k++)
			assert_int_equal(all[n++], 1u << i | 1u << k);
	assert_int_equal(corun_choose_groups(10, 4, 1, some, 20), 20);
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(__builtin_popcount(some[i]), 4);
		assert_true(some[i] < 1u << 10);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(some[i], some[k]);
	}
	assert_int_equal(corun_choose_groups(10, 4, 1, again, 20), 20);
	assert_memory_equal(some, again, sizeof(some));
	assert_int_equal(corun_choose_groups(10, 4, 2, again, 20), 20);
	assert_memory_not_equal(some, again, sizeof(some));
	assert_int_equal(corun_choose_groups(2, 3, 1, some, 20), 0);
}

static void all_splits_come_once(void **unused)
{
	static const size_t splits[] = { 0, 0, 7, 21, 35 };

	(void)unused;
	for (uint32_t n = 2; n <= 4; n++) {
		uint32_t eighths[4] = { 0 }, last = 0;
		size_t count = 0;

		corun_first_split(eighths, n);
		do {
			uint32_t sum = 0, as_digits = 0;

			for (uint32_t i = 0; i < n; i++) {
				assert_true(eighths[i] >= 1);
				sum += eighths[i];
				as_digits = as_digits * 10 + eighths[i];
			}
			assert_int_equal(sum, 8);
			assert_true(as_digits > last);
			last = as_digits;
			count++;
		} while (corun_next_split(eighths, n));
		assert_int_equal(count, splits[n]);
	}
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
		cmocka_unit_test(progress_of_four),
		cmocka_unit_test(groups_are_chosen_by_the_seed),
		cmocka_unit_test(all_splits_come_once),
		cmocka_unit_test(each_has_a_multiprocessor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
