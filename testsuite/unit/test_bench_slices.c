/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sizes of slices that gpushare-bench slices chooses, on GPUs that are a formula, its rounds
 * and its ratios. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/bench/slices_figures.h"

#define US 1e3
#define MS 1e6

/* Blocks run in waves, each of them so long; every launch costs something. */
struct gpu {
	uint64_t grid, wave;
	double block_ns, launch_ns;
	int alone_faster; /* a block is shorter if it has few beside it: memory is shared */
};

static double slice_ns(const struct gpu *g, uint64_t blocks)
{
	double part = (double)blocks / (double)g->wave, waves = ceil(part);

	if (g->alone_faster && part < 1)
		return g->launch_ns + g->block_ns * (0.2 + 0.8 * part);
	return g->launch_ns + g->block_ns * (g->alone_faster ? part : waves);
}

/* What a search ends with. */
static struct slices_search search(const struct gpu *g, double target_ns, unsigned *tries)
{
	struct slices_search s = { .grid = g->grid, .wave = g->wave, .target_ns = target_ns };
	int more = slices_begin(&s, slice_ns(g, g->grid), slice_ns(g, 1));

	for (*tries = 0; more; ++*tries) {
		assert_true(s.blocks >= 1 && s.blocks <= g->grid);
		more = slices_tried(&s, slice_ns(g, s.blocks));
	}
	return s;
}

static void test_count(void **state)
{
	(void)state;
	assert_int_equal(slices_count(100, 100), 1);
	assert_int_equal(slices_count(100, 99), 2);
	assert_int_equal(slices_count(100, 10), 10);
	assert_int_equal(slices_count(101, 10), 11);
	assert_int_equal(slices_count(5, 1), 5);
	assert_int_equal(slices_count(5, 9), 1);
}

static void test_whole_waves(void **state)
{
	static const struct gpu gpu = { .grid = 100000, .wave = 1000, .block_ns = 100 * US };
	unsigned tries;
	struct slices_search s = search(&gpu, 1 * MS, &tries);

	(void)state;
	assert_int_equal(s.met, 10000);
	assert_int_equal(tries, 1);
	/* part of a wave takes as long as a whole one, so one wave is the best below two */
	s = search(&gpu, 0.15 * MS, &tries);
	assert_int_equal(s.met, 1000);
	/* 10 % more than the target still meet it */
	s = search(&gpu, 0.19 * MS, &tries);
	assert_int_equal(s.met, 2000);
}

static void test_launch_cost(void **state)
{
	static const struct gpu gpu = {
		.grid = 1000000, .wave = 1000, .block_ns = 5 * US, .launch_ns = 20 * US
	};
	unsigned tries;
	struct slices_search s = search(&gpu, 62.5 * US, &tries);

	(void)state;
	/* the first guess, 12 waves, takes 80 us: it is corrected to 9, which take 65 */
	assert_int_equal(s.met, 9000);
	assert_int_equal(tries, 2);
	assert_true(s.met_ns <= 62.5 * US * 1.1 && s.met_ns >= 62.5 * US * 0.9);
}

static void test_less_than_a_wave(void **state)
{
	static const struct gpu gpu = { .grid = 20000,
					.wave = 1000,
					.block_ns = 100 * US,
					.launch_ns = 5 * US,
					.alone_faster = 1 };
	unsigned tries;
	struct slices_search s = search(&gpu, 62.5 * US, &tries);

	(void)state;
	assert_true(s.met > 300 && s.met < 700);
	assert_true(slice_ns(&gpu, s.met) <= 62.5 * US * 1.1);
	assert_true(slice_ns(&gpu, s.met) >= 62.5 * US * 0.9);
	/* proportion alone would not come near it */
	s = search(&gpu, 30 * US, &tries);
	assert_true(s.met > 20 && slice_ns(&gpu, s.met) <= 30 * US * 1.1);
	assert_true(tries > 1);
}

static void test_out_of_reach(void **state)
{
	static const struct gpu gpu = { .grid = 5000, .wave = 1000, .block_ns = 100 * US },
				small = { .grid = 500, .wave = 1000, .block_ns = 100 * US };
	unsigned tries;
	struct slices_search s = search(&gpu, 62.5 * US, &tries);

	(void)state;
	assert_int_equal(s.met, 0);
	assert_int_equal(s.blocks, 1000);
	assert_int_equal(tries, 0);
	s = search(&small, 62.5 * US, &tries);
	assert_int_equal(s.blocks, 500);
	/* a block within the tolerance is not out of reach */
	s = search(&gpu, 95 * US, &tries);
	assert_int_equal(s.met, 1000);
}

static void test_short_kernels(void **state)
{
	static const struct gpu gpu = { .grid = 3000, .wave = 1000, .block_ns = 100 * US },
				one = { .grid = 1, .wave = 1000, .block_ns = 100 * US };
	unsigned tries;

	(void)state;
	assert_int_equal(search(&gpu, 5 * MS, &tries).met, 3000);
	assert_int_equal(tries, 1);
	assert_int_equal(search(&one, 5 * MS, &tries).met, 1);
	assert_int_equal(tries, 1);
}

/* Times that make no sense end the search, too, with something that met the target. */
static void test_any_times(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 10000; round++) {
		struct slices_search s = { .grid = 1 + seed % 5000,
					   .wave = seed % 300,
					   .target_ns = 100 * US };
		int tries = 0, more;

		seed = seed * 1664525u + 1013904223u;
		more = slices_begin(&s, seed % 1000000 + 1.0, seed % 200000 + 1.0);
		for (; more; tries++) {
			assert_true(s.blocks >= 1 && s.blocks <= s.grid && tries < 20);
			seed = seed * 1664525u + 1013904223u;
			more = slices_tried(&s, seed % 300000 + 1.0);
		}
		assert_true(s.met <= s.grid && (tries == 0 || s.met >= 1));
		assert_true(s.met_ns <= 110.001 * US);
	}
}

static void test_rounds(void **state)
{
	int at[BENCH_SLICES_WAYS][BENCH_SLICES_WAYS] = { 0 }, behind[5][5] = { 0 };

	(void)state;
	for (uint32_t round = 0; round < 2 * BENCH_SLICES_WAYS; round++)
		for (uint32_t place = 0; place < BENCH_SLICES_WAYS; place++) {
			at[slices_way_in(round, place)][place]++;
			if (place)
				behind[slices_way_in(round, place)]
				      [slices_way_in(round, place - 1)]++;
		}
	for (int way = 0; way < BENCH_SLICES_WAYS; way++)
		for (int i = 0; i < BENCH_SLICES_WAYS; i++) {
			assert_int_equal(at[way][i], 2);
			assert_int_equal(behind[way][i], way == i ? 0 : 2);
		}
}

static void test_ratios(void **state)
{
	struct slices_row row[] = {
		{ .kernel = "a", .target_ns = 1 * MS, .slices = 8, .measured = 1, .right = 1 },
		{ .kernel = "b", .target_ns = 1 * MS, .slices = 8, .measured = 1, .right = 1 },
		{ .kernel = "none", .target_ns = 1 * MS, .slices = 8 },
		{ .kernel = "wrong", .target_ns = 1 * MS, .slices = 8, .measured = 1 },
		{ .kernel = "short", .target_ns = 1 * MS, .slices = 1, .measured = 1, .right = 1 },
		{ .kernel = "far",
		  .target_ns = 1 * MS,
		  .slices = 8,
		  .measured = 1,
		  .right = 1,
		  .unreachable = 1 },
		{ .kernel = "other", .target_ns = 2 * MS, .slices = 8, .measured = 1, .right = 1 },
	};
	static const double ms[2][BENCH_SLICES_WAYS] = { { 10, 10.1, 11, 20 },
							 { 10, 9.9, 44, 80 } };
	struct slices_mean mean;

	(void)state;
	assert_true(slices_ratio(&row[0], BENCH_WITH_CHECK) == 0);
	for (int i = 0; i < 2; i++)
		for (int way = 0; way < BENCH_SLICES_WAYS; way++)
			row[i].way_ns[way] = ms[i][way] * MS;
	for (size_t i = 3; i < 7; i++)
		for (int way = 0; way < BENCH_SLICES_WAYS; way++)
			row[i].way_ns[way] = (way + 1) * MS;
	assert_true(fabs(slices_ratio(&row[0], BENCH_ONE_SLICE) - 1.01) < 1e-9);
	assert_true(fabs(slices_ratio(&row[0], BENCH_AS_WRITTEN) - 1) < 1e-9);
	mean = slices_mean(row, 7, 1 * MS);
	assert_int_equal(mean.rows, 2);
	assert_true(fabs(mean.in_stream - 2.2) < 1e-9);
	assert_true(fabs(mean.with_check - 4) < 1e-9);
	assert_true(fabs(mean.worst - 8) < 1e-9);
	assert_string_equal(mean.kernel, "b");
	assert_int_equal(slices_mean(row, 7, 3 * MS).rows, 0);
}

static void test_last_slice(void **state)
{
	struct slices_row row = { .blocks = 10, .slices = 3 };
	double three[] = { 5, 6, 1 }, one[] = { 1 }, part[] = { 5, 6 };

	(void)state;
	assert_true(slices_median(three, 3, &row) == 5);
	/* a launch of more slices than there is room for has only full ones */
	assert_true(slices_median(part, 2, &row) == 5);
	row.slices = 1;
	assert_true(slices_median(one, 1, &row) == 1);
	assert_true(slices_median(one, 0, &row) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),        cmocka_unit_test(test_whole_waves),
		cmocka_unit_test(test_launch_cost),  cmocka_unit_test(test_less_than_a_wave),
		cmocka_unit_test(test_out_of_reach), cmocka_unit_test(test_short_kernels),
		cmocka_unit_test(test_any_times),    cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_ratios),       cmocka_unit_test(test_last_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
