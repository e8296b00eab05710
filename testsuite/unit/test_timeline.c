/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time axis, and what the picture makes of spans that are thinner than a pixel. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "gpushare/metrics/axis.h"
#include "gpushare/metrics/timeline.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static const struct gs_span_kind kinds[] = {
	{ .words = "waits", .colour = "#00aa00" },
	{ .words = "has the GPU", .colour = "#0000aa", .owns = 1 },
	{ .words = "leaves", .colour = "#aa0000", .notch = 1 },
};

static char *svg_of(const struct gs_panel *panel, const struct gs_svg *how)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(gs_timeline_svg(out, panel, 1, how), 0);
	fclose(out);
	return text;
}

static unsigned occurrences(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void expect_label(const struct gs_axis *axis, uint64_t at, const char *want)
{
	char label[GS_AXIS_LABEL_MAX];

	gs_axis_label(axis, at, label);
	assert_string_equal(label, want);
}

/* 2026-11-26 18:30:05.25 UTC is time 0. */
#define CLOCK INT64_C(1795717805250000000)

static void test_ticks_are_round_clock_times(void **unused)
{
	struct gs_axis ten_minutes = gs_axis_of(0, 600 * SECOND, CLOCK, 9);
	struct gs_axis moment = gs_axis_of(0, 3 * SECOND, CLOCK, 9);
	struct gs_axis days = gs_axis_of(0, 7 * 86400 * SECOND, CLOCK, 9);
	char range[100];

	(void)unused;
	assert_int_equal(ten_minutes.step_ns, 120 * SECOND);
	assert_int_equal(gs_axis_tick(&ten_minutes, 0), 114750 * MS);
	expect_label(&ten_minutes, 114750 * MS, "18:32");
	gs_axis_range(&ten_minutes, range, sizeof(range));
	assert_string_equal(range, "2026-11-26 18:30:05 to 18:40:05 UTC");
	assert_int_equal(moment.step_ns, 500 * MS);
	expect_label(&moment, gs_axis_tick(&moment, 0), "18:30:05.500");
	expect_label(&days, gs_axis_tick(&days, 0), "2026-11-27");
	assert_int_equal(gs_axis_tick(&moment, 2999 * MS), UINT64_MAX);
}

static void test_the_clock_is_the_local_one(void **unused)
{
	struct gs_axis day;

	(void)unused;
	setenv("TZ", "XXX-5:30", 1);
	tzset();
	day = gs_axis_of(0, 86400 * SECOND, CLOCK, 9);
	assert_int_equal(day.step_ns, 3 * 3600 * SECOND);
	expect_label(&day, gs_axis_tick(&day, 0), "03:00");
	setenv("TZ", "UTC", 1);
	tzset();
}

static void test_without_a_clock_the_axis_has_units(void **unused)
{
	struct gs_axis axis = gs_axis_of(5 * MS, 25 * MS, 0, 9);
	char range[100];

	(void)unused;
	assert_int_equal(axis.step_ns, 5 * MS);
	assert_int_equal(gs_axis_tick(&axis, 5 * MS), 5 * MS);
	expect_label(&axis, 15 * MS, "10 ms");
	gs_axis_range(&axis, range, sizeof(range));
	assert_string_equal(range, "0 to 20 ms");
	axis = gs_axis_of(0, 900 * US, 0, 9);
	expect_label(&axis, 200 * US, "200 us");
	axis = gs_axis_of(0, 3 * 3600 * SECOND, 0, 9);
	expect_label(&axis, 1800 * SECOND, "30 min");
}

/* 25 ms time slices of two jobs over ten minutes: each column is half full instead of a hairline.
 */
static void test_what_is_thinner_than_a_pixel_adds_up(void **unused)
{
	static struct gs_span span[48000];
	static const struct gs_lane lane[] = { { .name = "a" }, { .name = "b" } };
	struct gs_panel panel = { "GPU 0", "", lane, 2, span, 0, kinds, 3 };
	struct gs_svg how = { .title = "", .to_ns = 600 * SECOND };
	char *text;

	(void)unused;
	for (uint32_t i = 0; i < 24000; i++) {
		span[panel.spans++] = (struct gs_span) { i % 2, 1, i * 25 * MS, (i + 1) * 25 * MS };
		span[panel.spans++] =
			(struct gs_span) { !(i % 2), 0, i * 25 * MS, (i + 1) * 25 * MS };
	}
	text = svg_of(&panel, &how);
	assert_true(occurrences(text, "fill=\"#0000aa\"") < 1600);
	assert_true(occurrences(text, "height=\"6.0\" fill=\"#0000aa\"") > 0);
	assert_int_equal(occurrences(text, "height=\"5.5\" fill=\"#0000aa\"") +
				 occurrences(text, "height=\"6.0\" fill=\"#0000aa\"") +
				 occurrences(text, "height=\"6.5\" fill=\"#0000aa\""),
			 occurrences(text, "\" fill=\"#0000aa\"/>\n"));
	free(text);
}

static void test_long_spans_are_whole_bars(void **unused)
{
	static const struct gs_span span[] = { { 0, 1, 0, 50 * MS },
					       { 0, 2, 50 * MS, 50 * MS },
					       { 0, 0, 50 * MS, 100 * MS } };
	static const struct gs_lane lane = { .name = "a" };
	struct gs_panel panel = { "GPU 0", "", &lane, 1, span, 3, kinds, 3 };
	struct gs_svg how = { .title = "", .to_ns = 100 * MS };
	char *text = svg_of(&panel, &how);

	(void)unused;
	assert_int_equal(occurrences(text, "width=\"380\" height=\"12.0\" fill=\"#0000aa\""), 1);
	assert_int_equal(occurrences(text, "width=\"380\" height=\"12.0\" fill=\"#00aa00\""), 1);
	/* What takes no time is seen, under the lane, and again in the legend's. */
	assert_int_equal(occurrences(text, "height=\"3.0\" fill=\"#aa0000\""), 1);
	free(text);
}

static void test_the_legend_names_what_there_is(void **unused)
{
	static const struct gs_lane lane = { .name = "a", .arrives = 1, .arrived_ns = 50 * MS };
	struct gs_panel panel = { "GPU 0", "", &lane, 1, NULL, 0, kinds, 3 };
	struct gs_svg how = { .title = "t", .to_ns = 100 * MS };
	char *text = svg_of(&panel, &how);

	(void)unused;
	for (size_t i = 0; i < 3; i++)
		assert_non_null(strstr(text, kinds[i].words));
	assert_non_null(strstr(text, ">arrives<"));
	assert_non_null(strstr(text, ">slowdown (times)<"));
	assert_non_null(strstr(text, ">20 ms<"));
	free(text);
}

/* One job that waited for an hour leaves the others' bars as long as they were. */
static void test_one_slowdown_does_not_flatten_the_others(void **unused)
{
	static const struct gs_lane lane[] = { { .name = "a", .ntt = 1.5 },
					       { .name = "b", .ntt = 2 },
					       { .name = "c", .ntt = 4167.89 } };
	struct gs_panel panel = { "GPU 0", "", lane, 3, NULL, 0, kinds, 3 };
	struct gs_svg how = { .title = "", .to_ns = 100 * MS };
	char *text = svg_of(&panel, &how);

	(void)unused;
	assert_non_null(strstr(text, ">4167.89<"));
	assert_non_null(strstr(text, "width=\"28.1\"")); /* 1.5 of 8, of 150 pixels */
	assert_int_equal(occurrences(text, "stroke=\"white\""), 1);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_are_round_clock_times),
		cmocka_unit_test(test_the_clock_is_the_local_one),
		cmocka_unit_test(test_without_a_clock_the_axis_has_units),
		cmocka_unit_test(test_what_is_thinner_than_a_pixel_adds_up),
		cmocka_unit_test(test_long_spans_are_whole_bars),
		cmocka_unit_test(test_the_legend_names_what_there_is),
		cmocka_unit_test(test_one_slowdown_does_not_flatten_the_others),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
