/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's trace as Chrome trace events and as SVG. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "gpushare/ctl/picture.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/* Two processes of one step and one of another on GPU 1, one on GPU 0. */
static struct gs_trace_lane lanes[] = {
	{ .id = 7, .gpu = 1, .job_id = 12, .ntt = 1.5, .name = "job 12.0 uid 1000 pid 5 triad" },
	{ .id = 3, .gpu = 1, .job_id = 12, .ntt = 1.5, .name = "job 12.0 uid 1000 pid 4 triad" },
	{ .id = 9,
	  .gpu = 0,
	  .job_id = 13,
	  .ntt = 1,
	  .name = "job 13.0 uid 7 pid 6 a\"b\\<c>\x01\xff" },
	{ .id = 8, .gpu = 1, .job_id = 9, .ntt = 3, .name = "job 9.batch uid 0 pid 8 x" },
};
static struct gs_trace_record records[] = {
	{ 0, GS_TRACE_SLICE, 100 * MS, 110 * MS },
	{ 0, GS_TRACE_EVICT, 109 * MS, 110 * MS },
	{ 3, GS_TRACE_WAIT, 105 * MS, 110 * MS + 5 * US },
	{ 2, GS_TRACE_SLICE, 90 * MS, 200 * MS },
	{ 3, GS_TRACE_SLICE, 110 * MS + 5 * US, 120 * MS },
	{ 3, GS_TRACE_OVERDUE, 120 * MS, 120 * MS },
	{ 1, GS_TRACE_SLICE, 120 * MS, 130 * MS },
};
static const struct gs_trace_image image = {
	.now_ns = 200 * MS,
	.lane = lanes,
	.lanes = 4,
	.record = records,
	.records = 7,
};

static char *text_of(enum gs_lanes per, int svg)
{
	struct gs_svg how = { .title = "" };
	struct gs_picture p;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(gs_picture_make(&p, &image, per), 0);
	how.from_ns = p.origin_ns;
	if (svg)
		assert_int_equal(gs_timeline_svg(out, p.panel, p.panels, &how), 0);
	else
		gs_timeline_trace(out, p.panel, p.panels);
	fclose(out);
	gs_picture_free(&p);
	return text;
}

/* Events of that phase and name on GPU `gpu`'s process; the last of them in *event. */
static unsigned count(json_t *all, const char *ph, const char *name, int pid, json_t **event)
{
	json_t *e;
	size_t i;
	unsigned n = 0;

	json_array_foreach (all, i, e) {
		if (strcmp(json_string_value(json_object_get(e, "ph")), ph) != 0 ||
		    strcmp(json_string_value(json_object_get(e, "name")), name) != 0 ||
		    json_integer_value(json_object_get(e, "pid")) != pid)
			continue;
		*event = e;
		n++;
	}
	return n;
}

static void test_trace_events(void **unused)
{
	char *text = text_of(GS_LANE_PER_CLIENT, 0);
	json_t *root = json_loads(text, 0, NULL), *all, *e;

	(void)unused;
	assert_non_null(root);
	all = json_object_get(root, "traceEvents");
	/* GPU 0 first, a row per client in order of their jobs. */
	assert_int_equal(count(all, "M", "process_name", 1, &e), 1);
	assert_string_equal(json_string_value(json_object_get(json_object_get(e, "args"), "name")),
			    "GPU 0");
	assert_int_equal(count(all, "M", "thread_name", 1, &e), 1);
	assert_string_equal(json_string_value(json_object_get(json_object_get(e, "args"), "name")),
			    "job 13.0 uid 7 pid 6 a\"b\\<c>?\?");
	assert_int_equal(count(all, "M", "thread_name", 2, &e), 3);
	assert_int_equal(count(all, "X", "has the GPU", 1, &e), 1);
	assert_int_equal(count(all, "X", "has the GPU", 2, &e), 3);
	assert_true(json_number_value(json_object_get(e, "dur")) == 10000);
	assert_int_equal(json_integer_value(json_object_get(e, "tid")), 2); /* id 3, before 7 */
	assert_int_equal(count(all, "X", "waits", 2, &e), 1);
	assert_int_equal(json_integer_value(json_object_get(e, "tid")), 1); /* job 9 */
	assert_int_equal(count(all, "X", "leaves", 2, &e), 1);
	assert_int_equal(count(all, "i", "did not leave in time", 2, &e), 1);
	/* 12 to 9 and back; nothing is handed over between GPUs. */
	assert_int_equal(count(all, "i", "hand-over", 1, &e), 0);
	assert_int_equal(count(all, "i", "hand-over", 2, &e), 2);
	json_decref(root);
	free(text);
}

static void test_hand_over_says_how_long_it_took(void **unused)
{
	char *text = text_of(GS_LANE_PER_CLIENT, 0);

	(void)unused;
	assert_non_null(strstr(text,
			       "\"name\":\"hand-over\",\"pid\":2,\"tid\":1,\"ts\":110005.000,"
			       "\"s\":\"p\",\"args\":{\"from\":\"job 12.0 uid 1000 pid 5 triad\","
			       "\"to\":\"job 9.batch uid 0 pid 8 x\",\"gap_us\":5.000}}"));
	free(text);
}

static unsigned occurrences(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void test_svg_has_a_row_per_step(void **unused)
{
	char *text = text_of(GS_LANE_PER_STEP, 1);

	(void)unused;
	assert_int_equal(occurrences(text, ">job 12.0 triad<"), 1);
	assert_int_equal(occurrences(text, ">job 9.batch x<"), 1);
	assert_int_equal(occurrences(text, "job 13.0 a&quot;b\\&lt;c&gt;?"), 1);
	assert_int_equal(occurrences(text, ">3.00<"), 1); /* the slowdown's bar */
	assert_int_equal(occurrences(text, ">1.50<"), 1);
	/* 12 before and after 9, 9 itself, 13, and the legend's. */
	assert_int_equal(occurrences(text, "height=\"12.0\" fill=\"#4f81bd\""), 4);
	assert_non_null(strstr(text, "0 to 110 ms"));
	assert_int_equal(occurrences(text, "<svg "), 1);
	assert_non_null(strstr(text, "</svg>\n"));
	free(text);
}

/* Job 12's two processes, from 115 ms on: only its later time slice. */
static void test_one_job_since_then(void **unused)
{
	struct gs_trace_lane lane[4];
	struct gs_trace_record record[7];
	struct gs_trace_image part = image;
	struct gs_picture p;

	(void)unused;
	memcpy(lane, lanes, sizeof(lane));
	memcpy(record, records, sizeof(record));
	part.lane = lane;
	part.record = record;
	assert_int_equal(gs_picture_select(&part, 12, 125 * MS), 0);
	assert_int_equal(part.lanes, 1);
	assert_int_equal(part.records, 1);
	assert_int_equal(gs_picture_make(&p, &part, GS_LANE_PER_STEP), 0);
	assert_int_equal(p.panels, 1);
	assert_string_equal(p.panel[0].name, "GPU 1");
	assert_string_equal(p.panel[0].lane[0].name, "job 12.0 triad");
	assert_int_equal(p.panel[0].span[0].from_ns, 125 * MS); /* cut off at that time */
	assert_int_equal(p.panel[0].span[0].to_ns, 130 * MS);
	gs_picture_free(&p);
	assert_int_equal(gs_picture_select(&part, 9, 0), 0);
	assert_int_equal(part.records, 0);
}

/* DejaVu Sans, which most machines have, is wide: 7 px a letter of a row's name, which ends 8 px
 * before the row. */
static void test_names_have_room(void **unused)
{
	static const char name[] = "job 4026531845.interactive gpushare-demo-matmul";
	struct gs_panel panel = { .name = "GPU 0",
				  .caption = "",
				  .lane = &(struct gs_lane) { .name = name, .ntt = 1 },
				  .lanes = 1 };
	char *text = NULL, want[40];
	size_t size;
	static const struct gs_svg how = { .title = "" };
	FILE *out = open_memstream(&text, &size);

	(void)unused;
	assert_int_equal(gs_timeline_svg(out, &panel, 1, &how), 0);
	fclose(out);
	snprintf(want, sizeof(want), "<text x=\"%zu\" y=", 7 * strlen(name) + 8);
	if (!strstr(text, want))
		fail_msg("no %s in %s", want, text);
	free(text);
}

static void test_nothing_yet(void **unused)
{
	struct gs_trace_image empty = { .now_ns = 5 };
	struct gs_picture p;

	(void)unused;
	assert_int_equal(gs_picture_make(&p, &empty, GS_LANE_PER_STEP), 0);
	assert_int_equal(p.panels, 0);
	gs_picture_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace_events),
		cmocka_unit_test(test_hand_over_says_how_long_it_took),
		cmocka_unit_test(test_svg_has_a_row_per_step),
		cmocka_unit_test(test_one_job_since_then),
		cmocka_unit_test(test_names_have_room),
		cmocka_unit_test(test_nothing_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
