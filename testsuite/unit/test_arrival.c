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

static void test_regular_arrivals_are_foreseen(void **unused)
{
	uint64_t from, to, at = 1000 * MS;

	(void)unused;
	a = (struct gs_arrival){ 0 };
	assert_false(gs_arrival_next(&a, at, &from, &to));
	gs_arrival_note(&a, at);
	gs_arrival_note(&a, at += 5 * MS);
	assert_false(gs_arrival_next(&a, at, &from, &to)); /* once is no rule */
	gs_arrival_note(&a, at += 5 * MS + 10 * US);
	assert_true(gs_arrival_next(&a, at, &from, &to));
	assert_true(from < at + 5 * MS && at + 5 * MS < to && to - from < 120 * US);
	/* It stayed away once: the next time, and the time after; then nobody waits any more. */
	assert_true(gs_arrival_next(&a, at + 6 * MS, &from, &to));
	assert_in_range(from, at + 10 * MS - 200 * US, at + 10 * MS);
	assert_true(gs_arrival_next(&a, at + 19 * MS, &from, &to));
	assert_false(gs_arrival_next(&a, at + 21 * MS, &from, &to));
	/* One that it skipped is no other rhythm. */
	gs_arrival_note(&a, at += 10 * MS + 20 * US);
	assert_true(gs_arrival_next(&a, at, &from, &to));
	assert_in_range(from, at + 5 * MS - 200 * US, at + 5 * MS);
	/* Once at any time, and it is not trusted for long. */
	gs_arrival_note(&a, at += 7 * MS);
	assert_false(gs_arrival_next(&a, at, &from, &to));
	gs_arrival_note(&a, at += 7 * MS);
	assert_false(gs_arrival_next(&a, at, &from, &to));
	/* Too often, too seldom. */
	for (int k = 0; k < 2; k++) {
		a = (struct gs_arrival){ 0 };
		for (int i = 0; i < 8; i++)
			gs_arrival_note(&a, at += k ? 2000 * MS : 100 * US);
		assert_false(gs_arrival_next(&a, at, &from, &to));
	}
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
		cmocka_unit_test(test_regular_arrivals_are_foreseen),
		cmocka_unit_test(test_one_short_interval),
		cmocka_unit_test(test_who_stays_away_at_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
