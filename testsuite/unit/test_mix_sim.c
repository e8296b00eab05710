/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-bench mix makes of the gaps that it saw, and what it tells the simulator. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/bench/mix.h"

#define MS GS_NS_PER_MS
#define US GS_NS_PER_US

/* ---- gpushared, as far as mix_sim.c asks it ------------------------------ */

static uint64_t taken;

int bench_status_request(const struct bench_stage *stage, struct bench_status *is,
			 struct gs_error *err)
{
	(void)stage;
	if (!taken)
		return gs_fail(err, "gpushared is gone");
	*is = (struct bench_status) { taken, taken / 2 };
	return 0;
}

static uint64_t predicted[2];

int bench_predicted_request(const struct bench_workers *workers,
			    uint64_t alone_ns[BENCH_PROGRAMS_MAX], struct gs_error *err)
{
	(void)workers;
	(void)err;
	memcpy(alone_ns, predicted, sizeof(predicted));
	return 0;
}

int bench_stage_sched_options(const struct bench_stage *stage, struct gs_sched_options *options,
			      struct gs_error *err)
{
	(void)stage;
	(void)err;
	gs_sched_defaults(options);
	options->handover_ns = 135 * US;
	options->quantum_handovers = 15;
	return 0;
}

/* ---- two kernels of 10 ms at once ------------------------------------------ */

static struct sim_kernel kernel[2];
static union {
	struct bench_page page;
	char room[sizeof(struct bench_page) + 2 * sizeof(struct bench_slot)];
} shared;

static struct mix two_kernels(void)
{
	for (int i = 0; i < 2; i++)
		kernel[i] = (struct sim_kernel) {
			.length_ns = 10 * MS, .block_tasks = 200, .priority = 1, .shares = 1
		};
	memset(&shared, 0, sizeof(shared));
	return (struct mix) { .workload = { kernel, 2 }, .workers = { .page = &shared.page } };
}

static double simulated_antt(uint64_t taken_ns)
{
	struct mix m = two_kernels();
	struct mix_result r = { .way = { BENCH_CONTEXTS, "rr" },
				.rounds = 1,
				.taken_ns = taken_ns,
				.gpu_ns = { 10 * MS, 10 * MS } };
	struct gs_error err;

	assert_int_equal(mix_simulate(&m, &r, &err), 0);
	assert_true(r.has_sim);
	return r.sim.antt;
}

/* The quanta are those of the gpushared that ran, not of where its measuring began. */
static void test_quanta_follow_what_was_measured(void **state)
{
	(void)state;
	/* 15 x 135 us: four changes before the first is done at 18.1 ms. */
	assert_float_equal(simulated_antt(135 * US), (18.1 + 20) / 2 / 10, 0.02);
	/* 15 x 200 us: 3 ms each, but its third one is its last, as then only 1 ms would be left.
	 */
	assert_float_equal(simulated_antt(200 * US), (16 + 20) / 2.0 / 10, 0.02);
	/* 15 x 1 ms: nobody is ever evicted. */
	assert_float_equal(simulated_antt(1 * MS), (10 + 20) / 2.0 / 10, 0.001);
}

/* Where gpushared's idea of a hand-over changes from round to round, so do the quanta. */
static void test_quanta_follow_it_round_by_round(void **state)
{
	struct mix m = two_kernels();
	struct mix_result r = { .way = { BENCH_CONTEXTS, "rr" },
				.rounds = 4,
				.taken_ns = 135 * US,
				.belief = { { 135 * US, { 0 } }, { 1 * MS, { 0 } } },
				.beliefs = 2,
				.gpu_ns = { 10 * MS, 10 * MS } };
	struct gs_error err;

	(void)state;
	assert_int_equal(mix_simulate(&m, &r, &err), 0);
	assert_float_equal(r.sim.antt, ((18.1 + 20) / 2 / 10 + (10 + 20) / 2.0 / 10) / 2, 0.02);
}

static void test_median_of_what_gpushared_says(void **state)
{
	static const uint64_t said[] = { 135 * US, 190 * US, 210 * US, 200 * US, 205 * US };
	struct mix_gaps *gaps = calloc(1, sizeof(*gaps));
	struct mix_result r = { 0 };
	struct mix m = two_kernels();
	struct gs_error err;

	(void)state;
	assert_non_null(gaps);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		taken = said[i];
		assert_int_equal(mix_gaps_request(&m, gaps, &err), 0);
	}
	taken = 0;
	assert_int_equal(mix_gaps_request(&m, gaps, &err), -1);
	mix_gaps_result(&m, gaps, &r);
	assert_int_equal(r.taken_ns, 200 * US);
	assert_int_equal(r.costs.leave_ns, 205 * US / 2);
	free(gaps);
}

/* The simulator's scheduler knows of the kernels what gpushared knew, where that knew anything. */
static void test_lengths_are_told_as_gpushared_had_them(void **state)
{
	struct mix_gaps *gaps = calloc(1, sizeof(*gaps));
	struct mix_result r = { .way = { BENCH_CONTEXTS, "sjf" },
				.rounds = 1,
				.gpu_ns = { 10 * MS, 10 * MS } };
	struct mix m = two_kernels();
	struct gs_error err;

	(void)state;
	assert_non_null(gaps);
	taken = 135 * US;
	predicted[0] = 12 * MS;
	assert_int_equal(mix_gaps_request(&m, gaps, &err), 0);
	predicted[0] = 14 * MS;
	assert_int_equal(mix_gaps_request(&m, gaps, &err), 0);
	predicted[0] = 0;
	assert_int_equal(mix_gaps_request(&m, gaps, &err), 0);
	mix_gaps_result(&m, gaps, &r);
	assert_int_equal(r.told_ns[0], 13 * MS);
	assert_int_equal(r.told_ns[1], 0);
	gaps->rounds = 0;
	kernel[1].arrival_ns = 1 * US;
	assert_int_equal(mix_simulate(&m, &r, &err), 0);
	/* The second comes a moment later, and preempts where it is told to be the shorter one. */
	assert_true(m.workload.kernel[0].told_ns == 13 * MS && !m.workload.kernel[1].told_ns);
	assert_float_equal(r.sim.antt, 1.5, 0.01);
	assert_true(r.sim.dntt_avg > 0.49);
	/* Where gpushared believed the first one to be the shorter one, it is let finish. */
	r.rounds = 3;
	r.belief[2].alone_ns[0] = 9 * MS;
	assert_int_equal(mix_simulate(&m, &r, &err), 0);
	assert_float_equal(r.sim.dntt_avg, 0.17, 0.01);
	free(gaps);
}

static void test_gaps_by_kind(void **state)
{
	/* 0 is evicted once and ends; 1 in between; 0.1 ms after an eviction, 0.2 after an end. */
	struct gs_span span[] = {
		{ 0, 0, 3 * MS + 100 * US, 4 * MS },
		{ 0, 0, 1 * MS, 2 * MS },
		{ 1, 0, 2 * MS + 100 * US, 2 * MS + 900 * US },
	};
	struct mix_gaps *gaps = calloc(1, sizeof(*gaps));
	struct mix_result r = { 0 };
	struct mix m = two_kernels();

	(void)state;
	assert_non_null(gaps);
	m.workers.page->slot[0].sample[0].release_ns = 700 * US;
	mix_gaps_find(&m, span, 3, 1, gaps);
	mix_gaps_result(&m, gaps, &r);
	assert_int_equal(r.costs.first_ns, 300 * US);
	assert_int_equal(r.costs.evicted_ns, 100 * US);
	assert_true(r.costs.apart);
	assert_int_equal(r.costs.ended_back_ns, 200 * US);
	assert_int_equal(r.costs.evicted_back_ns, 100 * US); /* none was seen */
	assert_int_equal(r.costs.ended_ns, r.handover_ns);   /* nor here */
	assert_in_range(r.handover_ns, 100 * US, 200 * US);
	assert_int_equal(r.gpu_ns[0], 1900 * US);
	free(gaps);
}

/* Under MPS 1 begins while 0 leaves: they share the GPU for 60 us, and the eviction takes so much
 * less of it. */
static void test_time_in_which_both_compute(void **state)
{
	struct gs_span span[] = {
		{ 0, 0, 1 * MS, 2 * MS },
		{ 1, 0, 1 * MS + 940 * US, 3 * MS },
		{ 0, 0, 3 * MS + 10 * US, 4 * MS },
	};
	struct mix_gaps *gaps = calloc(1, sizeof(*gaps));
	struct mix_result r = { 0 };
	struct mix m = two_kernels();

	(void)state;
	assert_non_null(gaps);
	gaps->leave_ns = 62 * US;
	mix_gaps_find(&m, span, 3, 1, gaps);
	mix_gaps_result(&m, gaps, &r);
	assert_int_equal(r.costs.evicted_ns, 0);
	assert_int_equal(r.costs.ended_back_ns, 10 * US);
	assert_int_equal(r.costs.leave_ns, 32 * US);
	assert_int_equal(r.gpu_ns[0], 1 * MS + 990 * US - 30 * US);
	assert_int_equal(r.gpu_ns[1], 1 * MS + 60 * US - 30 * US);
	free(gaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quanta_follow_what_was_measured),
		cmocka_unit_test(test_quanta_follow_it_round_by_round),
		cmocka_unit_test(test_median_of_what_gpushared_says),
		cmocka_unit_test(test_lengths_are_told_as_gpushared_had_them),
		cmocka_unit_test(test_gaps_by_kind),
		cmocka_unit_test(test_time_in_which_both_compute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
