/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a client is expected, by when it came. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/daemon/arrival.h"

#define MS GS_NS_PER_MS
#define US GS_NS_PER_US

static struct gs_arrival a;
static uint64_t now;

static void begin(void)
{
	a = (struct gs_arrival){ 0 };
	now = 1000 * MS;
	gs_arrival_note(&a, now);
}

/* So many times, always as long after the last one. */
static void comes(unsigned times, uint64_t interval)
{
	for (; times; times--)
		gs_arrival_note(&a, now += interval);
}

/* It is expected after that, and not before. */
static void is_expected_in(uint64_t ns)
{
	uint64_t from, to;

	assert_int_equal(gs_arrival_next(&a, now, &from, &to), 1);
	assert_in_range(now + ns, from, to);
	assert_true(to - from < MS);
}

static void test_who_comes_regularly(void **unused)
{
	uint64_t from, to;

	(void)unused;
	begin();
	assert_int_equal(gs_arrival_next(&a, now, &from, &to), 0);
	comes(1, 5 * MS);
	assert_int_equal(gs_arrival_next(&a, now, &from, &to), 0); /* once is not regularly */
	comes(2, 5 * MS);
	is_expected_in(5 * MS);
	/* It stays away for a while, and then no longer counts. */
	comes(1, 10 * MS);
	is_expected_in(5 * MS);
	assert_int_equal(gs_arrival_next(&a, now + 16 * MS, &from, &to), 1);
	assert_int_equal(gs_arrival_next(&a, now + 21 * MS, &from, &to), 0);
}

/* One interval in which it came twice is no period for ever. */
static void test_one_short_interval(void **unused)
{
	static const uint64_t interval[] = { 300 * US, 400 * US, 1333 * US, 2500 * US };

	(void)unused;
	for (size_t i = 0; i < sizeof(interval) / sizeof(interval[0]); i++) {
		begin();
		comes(5, 5 * MS);
		comes(1, interval[i]);
		comes(20, 5 * MS);
		is_expected_in(5 * MS);
		comes(20, 5 * MS);
		is_expected_in(5 * MS);
	}
}

/* Who asks every other time, having had the GPU in between, still comes at its own times. */
static void test_who_stays_away_at_times(void **unused)
{
	(void)unused;
	begin();
	comes(5, 5 * MS);
	for (unsigned i = 0; i < 10; i++) {
		comes(2, 10 * MS);
		is_expected_in(5 * MS);
		comes(1, 5 * MS);
		is_expected_in(5 * MS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_comes_regularly),
		cmocka_unit_test(test_one_short_interval),
		cmocka_unit_test(test_who_stays_away_at_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
