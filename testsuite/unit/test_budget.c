/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's share of the processor: saved up, spent, owed. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/daemon/budget.h"

#define T0 (1000 * GS_NS_PER_MS)
#define MOST ((int64_t)GS_BUDGET_MOST_NS)

static void test_earned_and_spent(void **unused)
{
	struct gs_budget b;

	(void)unused;
	gs_budget_init(&b, T0);
	assert_int_equal(gs_budget_spend(&b, T0, 0), MOST);
	assert_int_equal(gs_budget_spend(&b, T0, 300 * GS_NS_PER_US), MOST - 300000);
	/* One in twenty-five of what passes, and never more than it holds. */
	assert_int_equal(gs_budget_spend(&b, T0 + 5 * GS_NS_PER_MS, 0), MOST - 100000);
	assert_int_equal(gs_budget_spend(&b, T0 + GS_NS_PER_S, 0), MOST);
	/* A clock that stands still or goes back gives nothing. */
	assert_int_equal(gs_budget_spend(&b, T0, 1000), MOST - 1000);
}

static void test_small_steps_lose_nothing(void **unused)
{
	struct gs_budget b;
	uint64_t now = T0;

	(void)unused;
	gs_budget_init(&b, T0);
	gs_budget_spend(&b, T0, GS_BUDGET_MOST_NS);
	for (int i = 0; i < 10000; i++)
		gs_budget_spend(&b, now += 7, 0);
	assert_in_range(gs_budget_spend(&b, now, 0), 70000 / GS_BUDGET_SHARE - 500,
			70000 / GS_BUDGET_SHARE);
}

/* The loop may come for nothing but the attendants' account for a quarter of a second: 3 % are not too much then, 5 are. */
static void test_counted_seldom(void **unused)
{
	struct gs_budget b;
	uint64_t now = T0;

	(void)unused;
	gs_budget_init(&b, T0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(gs_budget_spend(&b, now += 250 * GS_NS_PER_MS, 7500 * GS_NS_PER_US), MOST);
	for (int i = 0; i < 20; i++)
		gs_budget_spend(&b, now += 250 * GS_NS_PER_MS, 12500 * GS_NS_PER_US);
	assert_true(gs_budget_spend(&b, now, 0) < 0);
}

static void test_debt_is_bounded(void **unused)
{
	struct gs_budget b;

	(void)unused;
	gs_budget_init(&b, T0);
	for (int i = 0; i < 100; i++)
		gs_budget_spend(&b, T0 + (uint64_t)i, UINT64_MAX / 2);
	assert_in_range(-gs_budget_spend(&b, T0 + 100, 0), GS_BUDGET_DEBT_NS - 10, GS_BUDGET_DEBT_NS);
	/* So it is over after a while. */
	assert_true(gs_budget_spend(&b, T0 + 200 * GS_NS_PER_MS, 0) > 0);
}

static void test_the_less_the_rarer(void **unused)
{
	uint64_t last = 0;

	(void)unused;
	for (int64_t left = MOST; left >= -(int64_t)GS_BUDGET_DEBT_NS; left -= 10000) {
		uint64_t ns = gs_budget_look_ns(left);

		assert_true(ns >= last && ns >= GS_NS_PER_US && ns <= 2 * GS_NS_PER_MS);
		last = ns;
	}
	assert_int_equal(gs_budget_look_ns(MOST), GS_NS_PER_US);
	assert_true(gs_budget_look_ns(-1) >= GS_BUDGET_POOR_NS);
}

/* Whoever looks as often as it may, at 20 us for a wake-up, takes no more than its share. */
static void test_greed_is_bounded(void **unused)
{
	uint64_t now = T0, used = 0, end = T0 + 10 * GS_NS_PER_S;
	struct gs_budget b;

	(void)unused;
	gs_budget_init(&b, now);
	while (now < end) {
		uint64_t cost = 20 * GS_NS_PER_US;
		uint64_t look = gs_budget_look_ns(gs_budget_spend(&b, now, cost));

		used += cost;
		now += look > cost ? look : cost;
	}
	assert_true(used * 100 < (end - T0) * 5);
	assert_true(used * 100 > (end - T0) * 3);
}

/* In proportion between the bounds: what took 2.4 ms, once, is not to be 48 ms of rest. */
static void test_rest(void **unused)
{
	(void)unused;
	assert_int_equal(gs_budget_rest_ns(0), 200000);
	assert_int_equal(gs_budget_rest_ns(5000), 200000);
	assert_int_equal(gs_budget_rest_ns(15000), 300000);
	assert_int_equal(gs_budget_rest_ns(2400000), 400000);
	assert_int_equal(gs_budget_rest_ns(UINT64_MAX), 400000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_earned_and_spent),
		cmocka_unit_test(test_small_steps_lose_nothing),
		cmocka_unit_test(test_counted_seldom),
		cmocka_unit_test(test_debt_is_bounded),
		cmocka_unit_test(test_the_less_the_rarer),
		cmocka_unit_test(test_greed_is_bounded),
		cmocka_unit_test(test_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
