/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures of gpushare-bench periodic, made of samples that are written by hand. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/bench/periodic.h"

#define MS GS_NS_PER_MS
#define BEGAN (1000 * MS)
#define FRAMES (PERIODIC_WARM_UP + 4)

static const struct periodic periodic = {
	.alone_ns = 10 * MS,
	.period = { .every_ns = 50 * MS, .deadline_ns = 15 * MS },
};
static struct bench_slot slot;

/* Frames that end so many ms after they are due. Those of the warm-up are all late. */
static void give(const uint64_t *response_ms)
{
	memset(&slot, 0, sizeof(slot));
	slot.answer.launched = FRAMES;
	for (uint64_t i = 0; i < FRAMES; i++) {
		struct bench_sample *s = &slot.sample[i];
		uint64_t ms = i < PERIODIC_WARM_UP ? 20 : response_ms[i - PERIODIC_WARM_UP];

		s->release_ns = BEGAN + i * 50 * MS;
		s->launch_ns = s->release_ns;
		s->finish_ns = s->release_ns + ms * MS;
	}
}

static int is(double value, double expected)
{
	return fabs(value - expected) < 1e-6;
}

static void test_figures(void **state)
{
	static const uint64_t ms[] = { 10, 12, 9, 30 };
	struct periodic_row r = { 0 };

	(void)state;
	give(ms);
	periodic_judge(&periodic, &slot, &r);
	assert_int_equal(r.frames, 4);
	assert_int_equal(r.missed, 1);
	assert_true(is(r.is[GS_TIMING_RESPONSE].p50_ms, 10));
	assert_true(is(r.is[GS_TIMING_RESPONSE].p99_ms, 30));
	/* A frame that takes less than alone has not waited. */
	assert_true(is(r.is[GS_TIMING_PENDING].p50_ms, 0));
	assert_true(is(r.is[GS_TIMING_PENDING].p99_ms, 20));
	assert_true(is(r.is[GS_TIMING_TARDINESS].p99_ms, 15));
	/* 10 after the warm-up's last frame, which took 20; then 2, 3 and 21. */
	assert_true(is(r.is[GS_TIMING_JITTER].p50_ms, 3));
	assert_true(is(r.is[GS_TIMING_JITTER].max_ms, 21));
}

/* Frames that take 60 ms and are due every 50 ms, one after the other. */
static void test_lateness_adds_up(void **state)
{
	static const uint64_t ms[] = { 60, 70, 80, 90 };
	struct periodic_row r = { 0 };

	(void)state;
	give(ms);
	periodic_judge(&periodic, &slot, &r);
	assert_int_equal(r.missed, 4);
	assert_true(is(r.is[GS_TIMING_TARDINESS].max_ms, 75));
	assert_true(is(r.is[GS_TIMING_JITTER].p50_ms, 10));
	assert_true(is(r.is[GS_TIMING_JITTER].max_ms, 40));
}

static void test_speed(void **state)
{
	static const uint64_t none[4] = { 0 };
	struct gs_error err;
	double speed;

	(void)state;
	give(none);
	for (uint64_t i = 0; i < FRAMES; i++)
		slot.sample[i].finish_ns = BEGAN + i * 100 * MS;
	/* From the end at 100 ms to that at 400 ms three frames were done. */
	assert_true(
		is(periodic_speed(&slot, BEGAN + 50 * MS, BEGAN + 450 * MS) * (double)MS, 0.01));
	assert_true(is(periodic_speed(&slot, 0, UINT64_MAX) * (double)MS, 0.01));
	assert_int_equal(periodic_usual_speed(&slot, &speed, &err), 0);
	assert_true(is(speed * (double)MS, 0.01));
	/* One end, and none. */
	assert_true(
		is(periodic_speed(&slot, BEGAN + 50 * MS, BEGAN + 150 * MS) * (double)MS, 0.01));
	assert_true(is(periodic_speed(&slot, BEGAN + 10 * MS, BEGAN + 50 * MS), 0));
	/* The last frame was held up. */
	slot.sample[FRAMES - 1].finish_ns += 5000 * MS;
	assert_int_equal(periodic_usual_speed(&slot, &speed, &err), 0);
	assert_true(is(speed * (double)MS, 0.01));
	slot.answer.launched = 1;
	assert_int_equal(periodic_usual_speed(&slot, &speed, &err), -1);
}

static void test_ratio(void **state)
{
	struct gs_timing_summary driver[GS_TIMING_FIGURES] = {
		[GS_TIMING_JITTER] = { .p99_ms = 20 },
	};
	struct periodic_row r = { .is = { [GS_TIMING_JITTER] = { .p99_ms = 1 } } };

	(void)state;
	assert_true(isnan(periodic_ratio(&r, GS_TIMING_JITTER)));
	r.driver = driver;
	assert_true(is(periodic_ratio(&r, GS_TIMING_JITTER), 0.05));
	/* Time slicing was never late: nothing to compare with. */
	assert_true(isnan(periodic_ratio(&r, GS_TIMING_TARDINESS)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures),
		cmocka_unit_test(test_lateness_adds_up),
		cmocka_unit_test(test_speed),
		cmocka_unit_test(test_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
