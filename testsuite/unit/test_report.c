/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports, the AdminComment, the state file's lines and process ancestry. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "gpushare/proto/comment.h"
#include "gpushare/daemon/base/proc.h"
#include "gpushare/daemon/report/report.h"
#include "gpushare/daemon/base/state.h"
#include "gpushare/daemon/steps/step_line.h"

static struct gs_report_row row_of(uint32_t job, const char *step)
{
	struct gs_report_row row = { .job = job,
				     .step = step,
				     .user = "ann",
				     .partition = "low",
				     .account = "physics",
				     .uuid = "GPU-7",
				     .gpu = 1,
				     .shares = 40,
				     .state = "running",
				     .priority = 7,
				     .priority_requested = -1,
				     .start = 1700000000,
				     .reason = "" };
	struct gs_step_usage t = { .launches = 7,
				   .turnaround_ns = 306000000,
				   .active_ns = 300000000,
				   .waiting_ns = 6000000,
				   .preemptions = 3,
				   .copied = { [GS_COPY_TO_DEVICE] = { 3, 4u << 20, 1000000 },
					       [GS_COPY_TO_HOST] = { 2, 1536 << 10, 500000 },
					       [GS_COPY_OTHER] = { 1, 1024, 0 } },
				   .beside = { .ns = 40000000, .alone_ns = 30000000 },
				   .time = { .gpu_ns = 200000000, .unevictable_ns = 50000000 } };

	gs_step_usage_evicted(&t.evicted, 60000);
	gs_step_usage_evicted(&t.evicted, 60000);
	gs_step_usage_evicted(&t.evicted, 900000);
	gs_report_fill(&row, &t, 64 << 20, UINT64_C(102) << 20);
	return row;
}

static void test_row_without_gpu(void **unused)
{
	struct gs_report_row row = { 0 };
	struct gs_step_usage t = { 0 };

	(void)unused;
	gs_report_fill(&row, &t, 0, 0);
	assert_true(isnan(row.ntt)); /* it was never served */
	assert_true(isnan(row.corun_progress));
	assert_true(isnan(row.evictable_pct));     /* of nothing there is no part */
	t.turnaround_ns = t.waiting_ns = 49000000; /* it waits for its first time slice */
	gs_report_fill(&row, &t, 0, 0);
	assert_true(isnan(row.ntt)); /* waiting is a time, and no slowdown yet */
	assert_true(row.waiting_ms == 49);
}

static void test_rows(void **unused)
{
	struct gs_report_row row = row_of(12, "batch");

	(void)unused;
	assert_int_equal(row.kernels, 7);
	assert_true(row.ntt > 1.019 && row.ntt < 1.021);
	assert_true(row.evict_p50_us == 60 && row.evict_p99_us == 900);
	assert_true(row.memory_mb == 64 && row.reserved_mb == 102);
	assert_true(row.evictable_pct == 75);
	assert_int_equal(row.copies, 6);
	assert_true(row.h2d_mb == 4 && row.d2h_mb == 1.5 && row.d2d_mb == 1 / 1024.0);
	assert_true(row.copying_ms == 1.5);
	assert_true(row.corun_ms == 40 && row.corun_progress == 0.75);
}

static void test_comment(void **unused)
{
	struct gs_report_row row = row_of(12, "batch");
	char text[200];

	(void)unused;
	gs_report_comment(&row, 100, text, sizeof(text));
	assert_string_equal(text, "gpushare: gpu=1 share=40% used=0.300s ntt=1.02 waiting=6ms "
				  "preempt=3 mem=64/102MiB copied=4/2MiB");
	row.ntt = NAN;
	gs_report_comment(&row, 100, text, sizeof(text));
	assert_non_null(strstr(text, " ntt=- waiting=6ms "));
	assert_null(strchr(text, ';'));
	assert_null(strchr(text, '\n'));
}

/* 8 GiB out in 4 s; of the 8 GiB 6 are back, in 1.5 s. */
static const struct gs_moves moves = { UINT64_C(8) << 30, UINT64_C(4000000000), UINT64_C(6) << 30,
				       UINT64_C(1500000000) };

static void test_moved(void **unused)
{
	static const struct gs_moves never, away = { UINT64_C(350) << 20, 500000000, 0, 0 };
	struct gs_report_row row = row_of(12, "batch");
	char text[200];
	double all;

	(void)unused;
	gs_report_fill_moved(&row, &moves);
	assert_true(row.taken_mb == 8192);
	assert_true(row.to_host_s == 4 && row.to_host_gib_s == 2);
	assert_true(row.to_device_s == 1.5 && row.to_device_gib_s == 4);
	gs_report_comment(&row, 100, text, sizeof(text));
	assert_non_null(strstr(text, " mem=64/102MiB copied=4/2MiB moved=8192MiB/2.00/4.00GiB/s"));
	gs_report_comment(&row, 100, text, 100); /* it never writes beyond */
	assert_int_equal(strlen(text), 99);
	gs_report_fill_moved(&row, &away);
	assert_true(row.to_device_s == 0 && row.to_device_gib_s == 0);
	gs_report_comment(&row, 100, text, sizeof(text));
	assert_non_null(strstr(text, " moved=350MiB/0.68/0.00GiB/s"));
	gs_report_fill_moved(&row, &never);
	all = row.taken_mb + row.to_host_s + row.to_host_gib_s + row.to_device_s +
	      row.to_device_gib_s;
	assert_true(all == 0);
	gs_report_comment(&row, 100, text, sizeof(text));
	assert_null(strstr(text, "moved"));
}

static void test_comment_is_merged(void **unused)
{
	static const struct {
		const char *old, *want;
	} cases[] = {
		{ NULL, "gpushare: new" },
		{ "", "gpushare: new" },
		{ "gpushare: old a=1", "gpushare: new" },
		{ "checked by ops", "checked by ops; gpushare: new" },
		{ "checked by ops; gpushare: old", "checked by ops; gpushare: new" },
		{ "gpushare: old; power=3W", "gpushare: new; power=3W" },
		{ "a;gpushare: old;b", "a;gpushare: new;b" },
		{ "see gpushare: docs", "see gpushare: docs; gpushare: new" },
	};
	char out[128];

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(gs_comment_merge(cases[i].old, "gpushare: new", out, sizeof(out)),
				 0);
		assert_string_equal(out, cases[i].want);
		/* Once more changes nothing. */
		assert_int_equal(gs_comment_merge(cases[i].want, "gpushare: new", out, sizeof(out)),
				 0);
		assert_string_equal(out, cases[i].want);
	}
	assert_int_equal(gs_comment_merge("long enough", "gpushare: new", out, 20), -1);
}

static void test_comment_of_several_nodes(void **unused)
{
	static const struct {
		const char *old, *want;
	} cases[] = {
		{ NULL, "gpushare: n2: gpu=1" },
		{ "gpushare: n1: gpu=0", "gpushare: n1: gpu=0 | n2: gpu=1" },
		{ "gpushare: n1: gpu=0 | n2: old=1", "gpushare: n1: gpu=0 | n2: gpu=1" },
		{ "gpushare: n2: old=1 | n1: gpu=0", "gpushare: n2: gpu=1 | n1: gpu=0" },
		{ "gpushare: n2: a=1 | n2: b=1", "gpushare: n2: gpu=1" },
		{ "gpushare: n20: gpu=0 | n: gpu=3",
		  "gpushare: n20: gpu=0 | n: gpu=3 | n2: gpu=1" },
		{ "gpushare: gpu=7 time=1:00", "gpushare: n2: gpu=1" },
		{ "a; gpushare: n1: gpu=0; b", "a; gpushare: n1: gpu=0 | n2: gpu=1; b" },
		{ "gpushare: ", "gpushare: n2: gpu=1" },
		{ "gpushare: n1: | | n3", "gpushare: n1: | n2: gpu=1" },
	};
	char out[128];

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(gs_comment_merge_node(cases[i].old, "n2", "gpushare: gpu=1", out,
						       sizeof(out)),
				 0);
		assert_string_equal(out, cases[i].want);
		assert_int_equal(gs_comment_merge_node(cases[i].want, "n2", "gpushare: gpu=1", out,
						       sizeof(out)),
				 0);
		assert_string_equal(out, cases[i].want);
	}
	assert_int_equal(gs_comment_merge_node("long enough", "n2", "gpushare: new", out, 20), -1);
}

static void test_reports_of_jobs_that_are_over(void **unused)
{
	static const char *const fields[] = { NULL, "", "rack 7", "gpushare: gpu0 policy=frs",
					      "rack 7; gpushare: gpu0 policy=frs" };
	char one[GS_EXTRA_MAX], two[GS_EXTRA_MAX], report[GS_COMMENT_MAX];
	uint32_t job;

	(void)unused;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const char *old = fields[i] ? fields[i] : "";

		assert_int_equal(
			gs_comment_add_ended(fields[i], 7, "gpushare: a", one, sizeof(one)), 0);
		assert_int_equal(gs_comment_add_ended(one, 12, "gpushare: b", two, sizeof(two)), 0);
		/* A job's later one takes the place of its earlier one. */
		assert_int_equal(gs_comment_add_ended(two, 7, "gpushare: c", one, sizeof(one)), 0);
		/* Our other part, which the daemon exchanges, stays apart from them. */
		assert_int_equal(gs_comment_merge(one, "gpushare: new", two, sizeof(two)), 0);
		assert_true(gs_comment_take_ended(two, &job, report, sizeof(report)));
		assert_int_equal(gs_comment_take_ended(one, &job, report, sizeof(report)), 1);
		assert_int_equal(job, 12);
		assert_string_equal(report, "gpushare: b");
		assert_int_equal(gs_comment_take_ended(one, &job, report, sizeof(report)), 1);
		assert_int_equal(job, 7);
		assert_string_equal(report, "gpushare: c");
		assert_int_equal(gs_comment_take_ended(one, &job, report, sizeof(report)), 0);
		assert_string_equal(one, old);
	}
	/* Others' text behind it stays; what is nobody's goes. */
	strcpy(one,
	       "gpushare-ended 3: gpushare: x; ours; gpushare-ended x; see gpushare-ended 4: y");
	assert_int_equal(gs_comment_take_ended(one, &job, report, 10), 1);
	assert_string_equal(report, "gpushare:");
	assert_int_equal(gs_comment_take_ended(one, &job, report, sizeof(report)), 0);
	assert_string_equal(one, "ours; see gpushare-ended 4: y");
	/* Pieces that nobody takes make room. */
	assert_int_equal(
		gs_comment_add_ended("a; gpushare-ended 3: gpushare: x", 4, "gpushare: y", one, 36),
		0);
	assert_string_equal(one, "a; gpushare-ended 4: gpushare: y");
	assert_int_equal(gs_comment_add_ended("long enough", 4, "gpushare: y", one, 20), -1);
}

static void test_json_has_the_columns(void **unused)
{
	struct gs_report_row rows[2] = { row_of(12, "0"), row_of(13, "batch") };
	char *text;
	json_t *all, *row;
	size_t n = 0;

	(void)unused;
	rows[1].user = "not \xff utf-8";
	rows[1].ntt = NAN;
	gs_report_fill_moved(&rows[1], &moves);
	text = gs_report_steps(rows, 2);
	assert_non_null(text);
	all = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(all), 2);
	row = json_array_get(all, 0);
#define COLUMN(key, type, kind, rank, head, words) \
	n++; \
	assert_non_null(json_object_get(row, #key));
#include "gpushare/columns/steps.def"
#undef COLUMN
	assert_int_equal(json_object_size(row), n);
	assert_int_equal(json_integer_value(json_object_get(row, "job")), 12);
	assert_true(json_number_value(json_object_get(row, "ntt")) == 1.02);
	assert_string_equal(json_string_value(json_object_get(row, "step")), "0");
	assert_string_equal(json_string_value(json_object_get(row, "state")), "running");
	assert_int_equal(json_integer_value(json_object_get(row, "priority")), 7);
	assert_true(json_is_null(json_object_get(row, "priority_requested")));
	assert_int_equal(json_integer_value(json_object_get(row, "start")), 1700000000);
	assert_true(json_is_null(json_object_get(row, "end")));
	assert_true(json_is_null(json_object_get(row, "reason")));
	assert_string_equal(json_string_value(json_object_get(json_array_get(all, 1), "user")),
			    "not ? utf-8");
	assert_true(json_number_value(json_object_get(row, "taken_mb")) == 0);
	row = json_array_get(all, 1);
	assert_true(json_is_null(json_object_get(row, "ntt")));
	assert_true(json_number_value(json_object_get(row, "taken_mb")) == 8192);
	assert_true(json_number_value(json_object_get(row, "to_device_gib_s")) == 4);
	json_decref(all);
	free(text);
}

/* 300 clients that lied about their copies made a step's negative. */
static void test_no_count_is_negative(void **unused)
{
	struct gs_report_row row = row_of(12, "0");
	struct gs_step_usage t = { .launches = UINT64_MAX,
				   .copied = { [GS_COPY_TO_DEVICE] = { .copies = UINT64_MAX - 1 },
					       [GS_COPY_TO_HOST] = { .copies = 7 } } };
	char *text;
	json_t *all, *first;

	(void)unused;
	gs_report_fill(&row, &t, 0, 0);
	assert_true(row.copies == UINT64_MAX);
	text = gs_report_steps(&row, 1);
	all = json_loads(text, 0, NULL);
	free(text);
	first = json_array_get(all, 0);
	assert_true(json_integer_value(json_object_get(first, "copies")) == INT64_MAX);
	assert_true(json_integer_value(json_object_get(first, "kernels")) == INT64_MAX);
	json_decref(all);
}

static void test_punctual(void **unused)
{
	const struct gs_period period = { .every_ns = 20000000, .deadline_ns = 5000000 },
			       none = { 0 };
	const struct gs_timing_job late = { 0, 8000000, 0, 6000000, 20000000, 5000000 };
	struct gs_report_row row = row_of(12, "0");
	struct gs_timing *timing = calloc(1, sizeof(*timing));

	(void)unused;
	assert_non_null(timing);
	gs_report_fill_punctual(&row, &none, NULL);
	assert_true(isnan(row.period_ms) && isnan(row.deadline_ms) && isnan(row.jitter_max_ms));
	assert_int_equal(row.bursts, -1);
	assert_int_equal(row.missed, -1);
	gs_timing_add(timing, &late);
	gs_report_fill_punctual(&row, &period, timing);
	assert_true(row.period_ms == 20 && row.deadline_ms == 5);
	assert_true(row.bursts == 1 && row.missed == 1);
	assert_true(row.response_max_ms == 8 && row.occupying_p50_ms == 6);
	assert_true(row.pending_p99_ms == 2 && row.tardiness_p50_ms == 3);
	assert_true(isnan(row.jitter_p50_ms)); /* the first has none */
	free(timing);
}

static void test_kernels_say_why(void **unused)
{
	struct gs_step_usage_kernel k = { .name = "gemm",
					  .transform = 0,
					  .reason = 1,
					  .launches = 2,
					  .finished = 2,
					  .turnaround_ns = 5000000 };
	struct gs_step_usage t = { .kernel = &k, .nkernel = 1 };
	struct gs_report_kernels_of of = { 12, "0", &t };
	char *text = gs_report_kernels(&of, 1);

	(void)unused;
	assert_non_null(strstr(text, "gemm"));
	assert_non_null(strstr(text, "as is"));
	assert_non_null(strstr(text, gs_report_reason(1)));
	assert_non_null(strstr(text, "\"mean_ms\": 2.5"));
	assert_string_equal(gs_report_reason(9999), "?");
	assert_string_equal(gs_report_transform(9999), "?");
	free(text);
}

static json_t *kernel_json(const struct gs_step_usage_variant *v)
{
	struct gs_step_usage_kernel k = { .name = "gemm", .transform = 2, .variant = *v };
	struct gs_step_usage t = { .kernel = &k, .nkernel = 1 };
	struct gs_report_kernels_of of = { 12, "0", &t };
	char *text = gs_report_kernels(&of, 1);
	json_t *all = json_loads(text, 0, NULL), *row;

	row = json_incref(json_array_get(json_object_get(all, "kernels"), 0));
	json_decref(all);
	free(text);
	return row;
}

static void test_kernels_say_what_their_variants_are(void **unused)
{
	static const char *const made_of[] = { NULL, "PTX", "machine code", "program", "?" };
	struct gs_step_usage_variant v = { .at_once = 264,
					   .since_s = 1700000000,
					   .written_ps = 2000,
					   .variant_ps = 2025,
					   .blocks = 660,
					   .block_ns = 31500 };
	json_t *row;

	(void)unused;
	for (v.made_of = 0; v.made_of < 5; v.made_of++) {
		const char *is;

		row = kernel_json(&v);
		is = json_string_value(json_object_get(row, "made_of"));
		assert_true(is ? made_of[v.made_of] && strcmp(is, made_of[v.made_of]) == 0 :
				 !made_of[v.made_of]);
		assert_string_equal(json_string_value(json_object_get(row, "transform")),
				    "guarded");
		assert_int_equal(json_integer_value(json_object_get(row, "since")), 1700000000);
		assert_true(json_number_value(json_object_get(row, "cost")) == 1.013); /* 1.0125 */
		assert_true(json_number_value(json_object_get(row, "block_us")) == 31.5);
		assert_true(json_number_value(json_object_get(row, "waves")) == 2.5);
		json_decref(row);
	}
	v = (struct gs_step_usage_variant) { .variant_ps = 7 };
	row = kernel_json(&v);
	for (size_t i = 0; i < 5; i++) {
		static const char *const keys[] = { "made_of", "since", "cost", "block_us",
						    "waves" };

		assert_true(json_is_null(json_object_get(row, keys[i])));
	}
	json_decref(row);
}

static void test_status_json(void **unused)
{
	struct gs_report_gpu gpu = { .gpu = 0,
				     .arbiter = { .polls = 1, .cpu_ns = 1500000000 },
				     .now = { .policy = "piv" },
				     .isolation = "contexts",
				     .signal = "proxy/memop",
				     .holder = "",
				     .shares = 100 };
	struct gs_report_status s = { .version = "1", .gpu = &gpu, .ngpu = 1 };
	char *text = gs_report_status(&s);
	json_t *o = json_loads(text, 0, NULL);

	(void)unused;
	assert_true(json_is_null(
		json_object_get(json_array_get(json_object_get(o, "gpus"), 0), "holder")));
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(o, "gpus"), 0), "arbiter")),
			    "polls");
	assert_int_equal(json_array_size(json_object_get(o, "steps")), 0);
	json_decref(o);
	free(text);
}

static unsigned occurrences(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void test_metrics_text(void **unused)
{
	struct gs_report_gpu gpu[2] = {
		{ .gpu = 0,
		  .uuid = "GPU-6",
		  .arbiter = { .cpu_ns = 1500000000 },
		  .now = { .policy = "piv", .faults = 2, .evictions = 3, .evict_p99_us = 900 },
		  .isolation = "contexts",
		  .signal = "proxy/memop",
		  .holder = "job 12.0",
		  .shares = 100,
		  .unserved_ms = 2500,
		  .sharing = { 1.5, 0.5, 1.25, 0.9, 3, 2 } },
		{ .gpu = 1,
		  .uuid = "",
		  .arbiter = { .cpu_ns = 1500000000 },
		  .now = { .policy = "frs", .faults = 2 },
		  .isolation = "mps",
		  .signal = "dma",
		  .holder = "",
		  .shares = 100 },
	};
	struct gs_report_row rows[2] = { row_of(12, "0"), row_of(13, "batch") };
	struct gs_report_status s = {
		.version = "1", .gpu = gpu, .ngpu = 2, .step = rows, .nstep = 2
	};
	char *text, *line, *save = NULL;

	(void)unused;
	gs_report_fill_moved(&rows[0], &moves);
	rows[1].user = "a\"b\\c\nd\xff";
	text = gs_report_metrics(&s);
	assert_non_null(
		strstr(text, "\ngpushare_gpu_evictions_total{gpu=\"0\",UUID=\"GPU-6\"} 3\n"));
	assert_non_null(strstr(
		text, "\ngpushare_gpu_eviction_p99_seconds{gpu=\"0\",UUID=\"GPU-6\"} 0.0009\n"));
	assert_non_null(strstr(
		text, "\ngpushare_gpu_arbiter_cpu_seconds_total{gpu=\"1\",UUID=\"\"} 1.5\n"));
	assert_non_null(strstr(text, "\ngpushare_gpu_jain{gpu=\"0\",UUID=\"GPU-6\"} 0.9\n"));
	/* Of how many steps the means are, and how long others have waited. */
	assert_non_null(strstr(text, "\ngpushare_gpu_served_steps{gpu=\"0\",UUID=\"GPU-6\"} 3\n"));
	assert_non_null(
		strstr(text, "\ngpushare_gpu_unserved_steps{gpu=\"0\",UUID=\"GPU-6\"} 2\n"));
	assert_non_null(
		strstr(text, "\ngpushare_gpu_unserved_seconds{gpu=\"0\",UUID=\"GPU-6\"} 2.5\n"));
	assert_non_null(strstr(text, "\ngpushare_gpu_busy{gpu=\"1\",UUID=\"\"} 0\n"));
	assert_non_null(strstr(
		text,
		"\ngpushare_step_waiting_seconds_total{job=\"12\",step=\"0\","
		"user=\"ann\",account=\"physics\",partition=\"low\",gpu=\"1\",UUID=\"GPU-7\"} 0.006\n"));
	assert_non_null(strstr(
		text,
		"\ngpushare_step_memory_moved_bytes_total{job=\"12\",step=\"0\","
		"user=\"ann\",account=\"physics\",partition=\"low\",gpu=\"1\",UUID=\"GPU-7\"} 8589934592\n"));
	assert_non_null(strstr(text, "user=\"a\\\"b\\\\c?d?\""));
	assert_int_equal(occurrences(text, "# TYPE gpushare_step_ntt gauge\n"), 1);
	assert_int_equal(occurrences(text, "\ngpushare_step_ntt{"), 2);
	/* Every line is a comment or name{labels} value. */
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_true(strncmp(line, "# ", 2) == 0 || strncmp(line, "gpushare_", 9) == 0);
	free(text);
	rows[1].ntt = NAN; /* no sample rather than one that is no number */
	text = gs_report_metrics(&s);
	assert_int_equal(occurrences(text, "\ngpushare_step_ntt{"), 1);
	free(text);
	s.nstep = 0;
	text = gs_report_metrics(&s);
	assert_null(strstr(text, "gpushare_step_"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row_without_gpu),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_comment),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_comment_is_merged),
		cmocka_unit_test(test_comment_of_several_nodes),
		cmocka_unit_test(test_reports_of_jobs_that_are_over),
		cmocka_unit_test(test_json_has_the_columns),
		cmocka_unit_test(test_no_count_is_negative),
		cmocka_unit_test(test_punctual),
		cmocka_unit_test(test_kernels_say_why),
		cmocka_unit_test(test_kernels_say_what_their_variants_are),
		cmocka_unit_test(test_status_json),
		cmocka_unit_test(test_metrics_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
