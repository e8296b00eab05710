/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How kernels that run at once divide the multiprocessors: SMK's own examples, and what always
 * holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/corun/balance.h"
#include "gpushare/corun/corun.h"

#define SMS 12

/* A thousand of each but the blocks, so that a number is a part in a thousand; threads have a third
 * of a thousandth in the example. */
static const struct gs_corun_size sm = { 1000, 1000, 3000, 32 };
static const struct gs_corun_size k1 = { 100, 0, 200, 1 }, k2 = { 30, 60, 150, 1 };

static int about(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* SMK, 5.2: 10 % of the registers, 20 % of the shared memory, 30 % of the threads, 3 % of the
 * blocks. */
static void dominant_share(void **unused)
{
	const struct gs_corun_size a = { 100, 200, 900, 1 };
	const struct gs_corun_size none = { 0, 0, 32, 1 }, no_shared = { 1000, 0, 1000, 10 };

	(void)unused;
	assert_true(about(gs_corun_share(&a, 1, &sm), 0.3));
	assert_true(about(gs_corun_share(&a, 2, &sm), 0.6));
	assert_true(about(gs_corun_share(&a, 0, &sm), 0));
	assert_true(about(gs_corun_share(&none, 8, &sm), 0.25)); /* its places */
	assert_true(about(gs_corun_share(&none, 1, &no_shared), 0.1));
	assert_int_equal(gs_corun_fit(&a, &sm), 3);
	assert_int_equal(gs_corun_fit(&none, &sm), 32);
	assert_int_equal(gs_corun_fit(&a, &no_shared), 0);
}

/* SMK, Figure 8. */
static void figure_8(void **unused)
{
	const struct gs_corun_size both[] = { k1, k2 };
	uint32_t blocks[2];

	(void)unused;
	gs_corun_partition(both, 2, &sm, blocks);
	assert_int_equal(blocks[0], 6);
	assert_int_equal(blocks[1], 12);
}

/* One whose block is larger than what is left is passed over, and one that never fits has none. */
static void passed_over(void **unused)
{
	const struct gs_corun_size three[] = { { 600, 0, 1, 1 },
					       { 100, 0, 1, 1 },
					       { 1001, 0, 1, 1 } };
	uint32_t blocks[3];

	(void)unused;
	gs_corun_partition(three, 3, &sm, blocks);
	assert_int_equal(blocks[0], 1);
	assert_int_equal(blocks[1], 4);
	assert_int_equal(blocks[2], 0);
	gs_corun_partition(three, 1, &sm, blocks);
	assert_int_equal(blocks[0], 1);
}

/* SMK, 5.4. */
static void quotas(void **unused)
{
	const struct gs_corun_alone alone[] = { { 0.4, 8 }, { 0.5, 8 }, { 0.9, 0 } };
	const uint32_t blocks[] = { 2, 4, 0 }, none[] = { 0, 0, 0 };
	double quota[3];

	(void)unused;
	gs_corun_quotas(alone, blocks, 3, quota);
	assert_true(about(quota[0], 0.1 / 0.35) && about(quota[1], 0.25 / 0.35) && quota[2] == 0);
	gs_corun_quotas(alone, none, 3, quota);
	assert_true(quota[0] == 0 && quota[1] == 0 && quota[2] == 0);
}

static void spart(void **unused)
{
	size_t part[3];

	(void)unused;
	gs_corun_spart(2, 132, part);
	assert_true(part[0] == 66 && part[1] == 66);
	gs_corun_spart(3, 16, part);
	assert_true(part[0] == 6 && part[1] == 5 && part[2] == 5);
	gs_corun_spart(3, 2, part);
	assert_true(part[0] == 1 && part[1] == 1 && part[2] == 0);
}

static double of_gpu(const struct gs_corun_size *block, const uint32_t *blocks, size_t n, size_t k)
{
	double sum = 0;

	for (size_t m = 0; m < SMS; m++)
		sum += gs_corun_share(block, blocks[m * n + k], &sm);
	return sum / SMS;
}

/* The shares of the GPU are equal but for a block's; on each multiprocessor they need not be. */
static void on_demand_is_fair(void **unused)
{
	const struct gs_corun_size both[] = { k1, k2 };
	uint32_t blocks[SMS * 2];

	(void)unused;
	gs_corun_on_demand(both, 2, &sm, SMS, blocks);
	assert_true(fabs(of_gpu(&k1, blocks, 2, 0) - of_gpu(&k2, blocks, 2, 1)) <= 0.1 / SMS);
	assert_true(of_gpu(&k1, blocks, 2, 0) > 0.6);
	gs_corun_on_demand(both, 1, &sm, SMS, blocks);
	for (size_t m = 0; m < SMS; m++)
		assert_int_equal(blocks[m], 10);
}

static struct gs_corun_size random_block(void)
{
	return (struct gs_corun_size) { (uint32_t)rand() % 400, (uint32_t)rand() % 400,
					1 + (uint32_t)rand() % 1000, 1 };
}

/* Whether they fit, and whether no kernel could have one more. */
static void fits(const struct gs_corun_size *block, const uint32_t *blocks, size_t n, int all)
{
	struct gs_corun_size sum = { 0 };

	for (size_t k = 0; k < n; k++) {
		sum.registers += blocks[k] * block[k].registers;
		sum.shared += blocks[k] * block[k].shared;
		sum.threads += blocks[k] * block[k].threads;
		sum.blocks += blocks[k];
	}
	assert_true(sum.registers <= sm.registers && sum.shared <= sm.shared &&
		    sum.threads <= sm.threads && sum.blocks <= sm.blocks);
	for (size_t k = 0; all && k < n; k++)
		assert_true(sum.registers + block[k].registers > sm.registers ||
			    sum.shared + block[k].shared > sm.shared ||
			    sum.threads + block[k].threads > sm.threads || sum.blocks == sm.blocks);
}

static void always(void **unused)
{
	(void)unused;
	srand(1);
	for (int i = 0; i < 2000; i++) {
		size_t n = 1 + (size_t)rand() % 4;
		struct gs_corun_size block[4];
		uint32_t blocks[SMS * 4];

		for (size_t k = 0; k < n; k++)
			block[k] = random_block();
		gs_corun_partition(block, n, &sm, blocks);
		fits(block, blocks, n, 1);
		for (size_t k = 0; k < n && n < 3; k++)
			assert_true(blocks[k] > 0); /* none takes half of anything */
		gs_corun_on_demand(block, n, &sm, SMS, blocks);
		for (size_t m = 0; m < SMS; m++)
			fits(block, &blocks[m * n], n, 0);
		for (size_t k = 0; k < n; k++)
			assert_true(of_gpu(&block[k], blocks, n, k) > 0);
	}
}

/* Four kernels of which each needs another part of the GPU for all of its speed. */
static void progress_becomes_even(void **unused)
{
	static const double enough[] = { 1, 0.5, 0.2, 0.1 };
	struct gs_balance of[4];

	(void)unused;
	for (size_t n = 2; n <= 4; n++) {
		double least = 4, most = 0;
		uint32_t all;

		for (size_t i = 0; i < n; i++)
			of[i] = (struct gs_balance) { .shares = 7 };
		gs_balance_start(of, n);
		assert_in_range(of[0].parts, GS_BALANCE_PARTS / n, GS_BALANCE_PARTS / n + n);
		for (int step = 0; step < 12; step++) {
			all = 0;
			for (size_t i = 0; i < n; i++) {
				double part = (double)of[i].parts / GS_BALANCE_PARTS;

				of[i].progress = part < enough[i] ? part / enough[i] : 1;
				all += of[i].parts;
				assert_true(of[i].parts >= GS_BALANCE_LEAST);
			}
			assert_int_equal(all, GS_BALANCE_PARTS);
			gs_balance_step(of, n);
		}
		for (size_t i = 0; i < n; i++) {
			least = fmin(least, of[i].progress);
			most = fmax(most, of[i].progress);
		}
		assert_true(least > 0.85 * most);
		assert_true(gs_balance_sum(of, n) > 1.2);
	}
}

static void fairness_goes_by_shares(void **unused)
{
	struct gs_balance of[3] = { { 1, 300, 0.2 }, { 3, 400, 0.6 }, { 2, 324, 0.2 } };

	(void)unused;
	assert_true(about(gs_balance_fairness(of, 2), 1));
	assert_true(about(gs_balance_fairness(of, 3), 0.5));
	of[0].progress = 0;
	assert_true(about(gs_balance_fairness(of, 3), 0));
	assert_true(about(gs_balance_fairness(of, 1), 0));
}

static void even_progress_is_left_alone(void **unused)
{
	struct gs_balance of[2] = { { 1, 300, 0.5 }, { 1, 724, 0.52 } };

	(void)unused;
	assert_int_equal(gs_balance_step(of, 2), 0);
	assert_int_equal(of[0].parts, 300);
	of[0].progress = of[1].progress = 0; /* nothing ran */
	assert_int_equal(gs_balance_step(of, 2), 0);
	of[1].progress = 1;
	assert_int_equal(gs_balance_step(of, 2), 1);
	assert_true(of[0].parts > 300 && of[0].parts + of[1].parts == GS_BALANCE_PARTS);
}

static void shares_divide_at_first(void **unused)
{
	struct gs_balance of[3] = { { .shares = 1 }, { .shares = 49 }, { .shares = 50 } };

	(void)unused;
	gs_balance_start(of, 3);
	assert_int_equal(of[0].parts, GS_BALANCE_LEAST);
	assert_int_equal(of[1].parts, 49 * GS_BALANCE_PARTS / 100);
	assert_int_equal(of[0].parts + of[1].parts + of[2].parts, GS_BALANCE_PARTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dominant_share),
		cmocka_unit_test(figure_8),
		cmocka_unit_test(passed_over),
		cmocka_unit_test(quotas),
		cmocka_unit_test(spart),
		cmocka_unit_test(on_demand_is_fair),
		cmocka_unit_test(always),
		cmocka_unit_test(progress_becomes_even),
		cmocka_unit_test(fairness_goes_by_shares),
		cmocka_unit_test(even_progress_is_left_alone),
		cmocka_unit_test(shares_divide_at_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
