/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl's tables: cells, widths, --format, --sort, names of kernels, and what top makes of
 * two answers. */
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
#include <jansson.h>

#include "gpushare/ctl/cell.h"
#include "gpushare/ctl/ctl.h"
#include "gpushare/ctl/kernel_name.h"
#include "gpushare/ctl/notes.h"
#include "gpushare/ctl/table.h"
#include "gpushare/ctl/top_rows.h"
#include "gpushare/proto/job_name.h"

static json_t *parse(const char *text)
{
	json_error_t where;
	json_t *v = json_loads(text, JSON_DECODE_ANY, &where);

	if (!v)
		fail_msg("%s: %s", where.text, text);
	return v;
}

static void is_cell(enum gs_kind kind, const char *json, const char *want)
{
	json_t *v = parse(json);
	char *cell = gs_cell(kind, v, 0);

	assert_string_equal(cell, want);
	free(cell);
	json_decref(v);
}

static void test_cells(void **unused)
{
	(void)unused;
	is_cell(GS_KIND_TEXT, "\"ann\"", "ann");
	is_cell(GS_KIND_TEXT, "\"\"", "-");
	is_cell(GS_KIND_NAME, "null", "-");
	is_cell(GS_KIND_COUNT, "4026531840", "4026531840");
	is_cell(GS_KIND_JOB, "4026531839", "4026531839");
	is_cell(GS_KIND_JOB, "4026531840", "L1"); /* the first of gpusharectl run */
	is_cell(GS_KIND_JOB, "4026531851", "L12");
	is_cell(GS_KIND_OPTIONAL_JOB, "null", "-");
	is_cell(GS_KIND_JOB_OR_ALL, "\"all\"", "all");
	is_cell(GS_KIND_OPTIONAL, "null", "-");
	is_cell(GS_KIND_NUMBER, "1.019", "1.02");
	is_cell(GS_KIND_NUMBER, "null", "-");    /* the slowdown of a step that was never served */
	is_cell(GS_KIND_RATIO, "1.02", "+2.0%"); /* what a variant costs */
	is_cell(GS_KIND_RATIO, "0.985", "-1.5%");
	is_cell(GS_KIND_RATIO, "null", "-");
	is_cell(GS_KIND_BOOLEAN, "true", "yes");
	is_cell(GS_KIND_MS, "0", "0");
	is_cell(GS_KIND_MS, "0.25", "250us");
	is_cell(GS_KIND_MS, "250.4", "250ms");
	is_cell(GS_KIND_MS, "4167.89", "4.17s");
	is_cell(GS_KIND_S, "59.9", "59.9s");
	is_cell(GS_KIND_S, "754", "12:34");
	is_cell(GS_KIND_S, "18243", "5:04:03");
	is_cell(GS_KIND_S, "191043", "2-05:04:03");
	is_cell(GS_KIND_US, "12.5", "12us");
	is_cell(GS_KIND_NS, "40", "40ns");
	is_cell(GS_KIND_MIB, "64", "64M");
	is_cell(GS_KIND_MIB, "1.5", "1.5M");
	is_cell(GS_KIND_MIB, "81920", "80.0G");
	/* A kernel's name is a user's: nothing of it steers the terminal. */
	is_cell(GS_KIND_KERNEL, "\"a\\u001b[2Jb\\u009bc\"", "a?[2Jb??c");
}

static void test_times(void **unused)
{
	time_t now = time(NULL);
	json_t *v = json_integer((json_int_t)now), *old = json_integer(86400);
	char want[32], *cell = gs_cell(GS_KIND_TIME, v, 0);

	(void)unused;
	strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S", localtime(&now));
	assert_string_equal(cell, want);
	free(cell);
	cell = gs_cell(GS_KIND_TIME, v, 1);
	assert_string_equal(cell, want + 11);
	free(cell);
	cell = gs_cell(GS_KIND_TIME, old, 1);
	assert_string_equal(cell, "Jan 02");
	free(cell);
	json_decref(v);
	json_decref(old);
}

static void test_job_names(void **unused)
{
	static const struct {
		const char *text;
		uint32_t job;
	} good[] = { { "12", 12 },
		     { "4026531840", 4026531840u },
		     { "L1", 4026531840u },
		     { "l12", 4026531851u },
		     { "L268435455", UINT32_MAX - 1 } };
	static const char *const bad[] = { "",  "L",   "L0",         "0",   "-1",
					   "x", "L-1", "L268435456", "LL1", "1 " };
	struct gs_error err;
	uint32_t job;

	(void)unused;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(gs_job_parse(good[i].text, &job, &err), 0);
		assert_int_equal(job, good[i].job);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gs_job_parse(bad[i], &job, &err), -1);
}

/* ---- tables ---- */

static const char rows_text[] =
	"[{\"job\":12,\"step\":\"0\",\"user\":\"ann\",\"partition\":\"low\",\"state\":\"waiting\","
	"\"priority\":1,\"start\":1700000000,\"gpu\":0,\"shares\":40,\"kernels\":7,"
	"\"active_ms\":300,\"waiting_ms\":6,\"ntt\":null,\"memory_mb\":64,\"reserved_mb\":102,"
	"\"reason\":\"priority: job 13.batch has 10, and the user with the long name wants it all\"},"
	"{\"job\":13,\"step\":\"batch\",\"user\":\"a-user-with-a-rather-long-name\","
	"\"partition\":\"high\",\"state\":\"running\",\"priority\":10,\"start\":1700000100,"
	"\"gpu\":0,\"shares\":60,\"kernels\":70000,\"active_ms\":9e6,\"waiting_ms\":0,"
	"\"ntt\":1.5,\"memory_mb\":20480,\"reserved_mb\":40960,\"reason\":null}]";

static void lines_of(struct gs_lines *lines, const struct gs_column *columns, const char *format,
		     const char *sort, const char *json, size_t width)
{
	struct gs_layout layout;
	json_t *rows = parse(json);
	struct gs_error err;

	assert_int_equal(gs_layout_make(&layout, columns, format, sort, &err), 0);
	assert_int_equal(gs_table_lines(lines, &layout, rows, width), 0);
	gs_layout_free(&layout);
	json_decref(rows);
}

static void test_fits(void **unused)
{
	static const char *const first[] = { "JOB", "USER", "STATE", "PARTITION", "PRIO", "START" };
	struct gs_lines lines;
	size_t heads = 0;

	(void)unused;
	/* Whatever the width, no line is wider, the header stands and there is a line per row. */
	for (size_t width = 40; width < 300; width++) {
		lines_of(&lines, gs_columns_steps, NULL, NULL, rows_text, width);
		assert_int_equal(lines.n, 3);
		for (size_t i = 0; i < lines.n; i++)
			assert_true(gs_text_width(lines.line[i]) <= width);
		gs_lines_free(&lines);
	}
	/* More room shows more. */
	for (size_t width = 60; width <= 180; width += 40) {
		size_t more = 0;

		lines_of(&lines, gs_columns_steps, NULL, NULL, rows_text, width);
		for (char *c = lines.line[0]; *c; c++)
			more += *c != ' ' && (c[1] == ' ' || !c[1]);
		assert_true(more >= heads);
		heads = more;
		gs_lines_free(&lines);
	}
	assert_true(heads >= 15);
	/* At 80 there is what a user looks for first. */
	lines_of(&lines, gs_columns_steps, NULL, NULL, rows_text, 80);
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		assert_non_null(strstr(lines.line[0], first[i]));
	assert_non_null(strstr(lines.line[0], "REASON"));
	assert_non_null(strstr(lines.line[2], "a-user-w"));
	assert_non_null(strchr(lines.line[2], '+')); /* it is cut */
	gs_lines_free(&lines);
	/* A pipe gets all of it. */
	lines_of(&lines, gs_columns_steps, NULL, NULL, rows_text, 0);
	assert_non_null(strstr(lines.line[0], "BACK_GIB/S"));
	assert_non_null(strstr(lines.line[1], "and the user with the long name wants it all"));
	assert_non_null(strstr(lines.line[2], "a-user-with-a-rather-long-name"));
	assert_null(strchr(lines.line[2], '+'));
	gs_lines_free(&lines);
}

/* What a kernel's name loses is room for the others. */
static void test_kernel_leaves_room(void **unused)
{
	static const char kernels[] =
		"[{\"job\":1,\"step\":\"batch\",\"kernel\":\"_Z4workPfii\",\"transform\":\"persistent\","
		"\"made_of\":\"PTX\",\"launches\":129,\"gpu_ms\":3780,\"unevictable_pct\":1.8,"
		"\"reason\":\"none\",\"block_us\":264,\"waves\":64,\"alone_ms\":31,\"mean_ms\":137}]";
	struct gs_lines lines;

	(void)unused;
	/* Its name is "work(float*, int, int)", for which there is no room here. */
	for (size_t width = 83; width < 100; width++) {
		lines_of(&lines, gs_columns_kernels, NULL, NULL, kernels, width);
		assert_true(gs_text_width(lines.line[1]) <= width);
		assert_non_null(strstr(lines.line[1], " work   persistent "));
		gs_lines_free(&lines);
	}
}

static void has_notes(const char *format, size_t width, const char *want)
{
	struct gs_layout layout;
	json_t *rows = parse(rows_text);
	struct gs_lines lines;
	struct gs_error err;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(gs_layout_make(&layout, gs_columns_steps, format, NULL, &err), 0);
	assert_int_equal(gs_table_lines(&lines, &layout, rows, width), 0);
	gs_notes_print(out, &lines, &layout, rows, width);
	fclose(out);
	assert_string_equal(text, want);
	free(text);
	gs_lines_free(&lines);
	gs_layout_free(&layout);
	json_decref(rows);
}

/* Why a job waits is what its user came for: it is below the table if there was no room for it. */
static void test_notes(void **unused)
{
	(void)unused;
	has_notes(
		NULL, 80,
		"\njob 12.0: priority: job 13.batch has 10, and the user with the long name wants\n"
		"    it all\n");
	has_notes(NULL, 40,
		  "\njob 12.0: priority: job 13.batch has 10,\n"
		  "    and the user with the long name\n    wants it all\n");
	has_notes(NULL, 400, "");               /* it is in the table */
	has_notes(NULL, 0, "");                 /* nothing is cut */
	has_notes("job,user,reason:9", 80, ""); /* nobody asked for more */
}

static void test_format(void **unused)
{
	struct gs_lines lines;

	(void)unused;
	lines_of(&lines, gs_columns_steps, "job,user:6,ntt=SLOWDOWN", NULL, rows_text, 0);
	assert_string_equal(lines.line[0], "JOB  USER    SLOWDOWN");
	assert_string_equal(lines.line[1], " 12  ann            -");
	assert_string_equal(lines.line[2], " 13  a-use+      1.50");
	gs_lines_free(&lines);
	/* What was asked for is shown, however narrow it is. */
	lines_of(&lines, gs_columns_steps, "job,state,partition,memory_mb", NULL, rows_text, 10);
	assert_non_null(strstr(lines.line[0], "MEMORY"));
	assert_non_null(strstr(lines.line[2], "20.0G"));
	gs_lines_free(&lines);
}

static void test_sort(void **unused)
{
	struct gs_lines lines;

	(void)unused;
	lines_of(&lines, gs_columns_steps, "job", "-job", rows_text, 0);
	assert_string_equal(lines.line[1], " 13");
	assert_int_equal(lines.row[0], 1);
	gs_lines_free(&lines);
	lines_of(&lines, gs_columns_steps, "job", "gpu,-memory_mb", rows_text, 0);
	assert_string_equal(lines.line[1], " 13");
	gs_lines_free(&lines);
	/* None is less than any. */
	lines_of(&lines, gs_columns_steps, "job", "+ntt", rows_text, 0);
	assert_string_equal(lines.line[1], " 12");
	gs_lines_free(&lines);
	lines_of(&lines, gs_columns_steps, "job", "gpu", rows_text, 0);
	assert_string_equal(lines.line[1], " 12"); /* equals stay as they came */
	gs_lines_free(&lines);
}

static void test_refusals(void **unused)
{
	static const char *const formats[] = { "nonsense", "", ",", "job:0", "job:x", "job:5000" };
	struct gs_layout layout;
	struct gs_error err;

	(void)unused;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		assert_int_equal(gs_layout_make(&layout, gs_columns_steps, formats[i], NULL, &err),
				 -1);
	assert_int_equal(gs_layout_make(&layout, gs_columns_steps, NULL, "-color", &err), -1);
	assert_non_null(strstr(err.text, "there is no column 'color'; there are: job, step, user"));
}

static void check_list(const struct gs_column *c)
{
	size_t n = 0;

	for (; c->key; c++, n++) {
		assert_true(*c->head && *c->words && c->rank > 0);
		assert_null(strchr(c->head, ' ')); /* awk counts words */
		for (const struct gs_column *other = c + 1; other->key; other++) {
			assert_string_not_equal(c->key, other->key);
			assert_string_not_equal(c->head, other->head);
			assert_int_not_equal(c->rank == other->rank && c->rank < 20, 1);
		}
	}
	assert_true(n > 5 && n < GS_LAYOUT_COLUMNS);
}

static void test_lists(void **unused)
{
	(void)unused;
	check_list(gs_columns_steps);
	check_list(gs_columns_gpus);
	check_list(gs_columns_unmanaged);
	check_list(gs_columns_kernels);
	check_list(gs_columns_sums);
	check_list(gs_columns_groups);
	check_list(gs_columns_memory);
	check_list(gs_columns_users);
}

/* ---- kernels ---- */

static void is_short(const char *name, size_t width, const char *want)
{
	char text[256];

	snprintf(text, sizeof(text), "%s", name);
	gs_kernel_name_shorten(text, width);
	assert_string_equal(text, want);
}

static void test_kernel_names(void **unused)
{
	static const char long_one[] =
		"void at::native::(anonymous namespace)::reduce<512, 1, float (*)(int)>(float*, int)";
	char *name = gs_kernel_name("_Z4gemmIfLi128EEvPKfPT_");

	(void)unused;
	assert_string_equal(name, "void gemm<float, 128>(float const*, float*)");
	free(name);
	name = gs_kernel_name("triad");
	assert_string_equal(name, "triad");
	free(name);
	name = gs_kernel_name("_Znonsense");
	assert_string_equal(name, "_Znonsense");
	free(name);
	is_short("void gemm<float, 128>(float const*)", 60, "void gemm<float, 128>(float const*)");
	is_short("void gemm<float, 128>(float const*)", 20, "gemm<float, 128>");
	is_short("void gemm<float, 128>(float const*)", 10, "gemm<..>");
	is_short("ns::inner::scale(float*)", 16, "ns::inner::scale");
	is_short("ns::inner::scale(float*)", 8, "scale");
	is_short("triad", 2, "triad");
	is_short("(anonymous namespace)::k(int)", 24, "(anonymous namespace)::k");
	is_short("(anonymous namespace)::k(int)", 4, "k");
	is_short("std::pair<int, float> f(int)", 4, "f");
	is_short("S::operator()(int)", 13, "S::operator()");
	is_short(long_one, 79, "at::native::(anonymous namespace)::reduce<512, 1, float (*)(int)>");
	is_short(long_one, 12, "reduce<..>");
}

/* ---- top ---- */

static void test_top_parts(void **unused)
{
	json_t *before =
		parse("{\"uptime_s\":5,\"steps\":[{\"job\":12,\"step\":\"0\",\"active_ms\":100,"
		      "\"waiting_ms\":50}]}");
	json_t *now = parse("{\"uptime_s\":6,\"steps\":["
			    "{\"job\":12,\"step\":\"0\",\"active_ms\":350,\"waiting_ms\":150,"
			    "\"user\":\"ann\",\"partition\":\"low\",\"state\":\"running\","
			    "\"shares\":40,\"memory_mb\":64},"
			    "{\"job\":12,\"step\":\"1\",\"active_ms\":0,\"waiting_ms\":1000,"
			    "\"user\":\"ann\",\"partition\":\"low\",\"state\":\"waiting\","
			    "\"shares\":10,\"memory_mb\":0},"
			    "{\"job\":77,\"step\":\"batch\",\"active_ms\":250,\"waiting_ms\":0,"
			    "\"user\":\"bob\",\"partition\":\"HIGH\",\"state\":\"idle\","
			    "\"shares\":50,\"memory_mb\":6}]}");
	json_t *steps = json_object_get(now, "steps"), *some, *row;

	(void)unused;
	gs_top_parts(now, before);
	row = json_array_get(steps, 0);
	assert_true(json_number_value(json_object_get(row, "gpu_pct")) == 25);
	assert_true(json_number_value(json_object_get(row, "wait_pct")) == 10);
	row = json_array_get(steps, 1); /* new since then */
	assert_true(json_number_value(json_object_get(row, "wait_pct")) == 100);
	some = gs_top_filter(steps, "high");
	assert_int_equal(json_array_size(some), 1);
	json_decref(some);
	some = gs_top_filter(steps, "12");
	assert_int_equal(json_array_size(some), 2);
	json_decref(some);
	some = gs_top_filter(steps, "");
	assert_int_equal(json_array_size(some), 3);
	json_decref(some);
	some = gs_top_users(steps);
	assert_int_equal(json_array_size(some), 2);
	row = json_array_get(some, 0);
	assert_string_equal(json_string_value(json_object_get(row, "user")), "ann");
	assert_true(json_number_value(json_object_get(row, "steps")) == 2);
	assert_true(json_number_value(json_object_get(row, "running")) == 1);
	assert_true(json_number_value(json_object_get(row, "waiting")) == 1);
	assert_true(json_number_value(json_object_get(row, "shares")) == 50);
	assert_true(json_number_value(json_object_get(row, "gpu_pct")) == 25);
	for (const struct gs_column *c = gs_columns_users; c->key; c++)
		assert_non_null(json_object_get(row, c->key));
	json_decref(some);
	json_decref(now);
	json_decref(before);
}

/* What a job's own step holds includes what its other steps hold; GPUs are counted apart. */
static void test_users_hold_once(void **unused)
{
	json_t *steps = json_loads(
		"[{\"job\":7,\"step\":\"0\",\"user\":\"ann\",\"gpu\":0,\"shares\":40,\"memory_mb\":100},"
		"{\"job\":7,\"step\":\"batch\",\"user\":\"ann\",\"gpu\":0,\"shares\":40,\"memory_mb\":100},"
		"{\"job\":7,\"step\":\"extern\",\"user\":\"ann\",\"gpu\":0,\"shares\":40,\"memory_mb\":100},"
		"{\"job\":7,\"step\":\"1\",\"user\":\"ann\",\"gpu\":1,\"shares\":30,\"memory_mb\":10},"
		"{\"job\":8,\"step\":\"0\",\"user\":\"ann\",\"gpu\":0,\"shares\":5,\"memory_mb\":1},"
		"{\"job\":8,\"step\":\"1\",\"user\":\"ann\",\"gpu\":0,\"shares\":5,\"memory_mb\":1}]",
		0, NULL);
	json_t *users, *row;

	(void)unused;
	users = gs_top_users(steps);
	assert_int_equal(json_array_size(users), 1);
	row = json_array_get(users, 0);
	assert_true(json_number_value(json_object_get(row, "steps")) == 6);
	assert_true(json_number_value(json_object_get(row, "shares")) == 40 + 30 + 5 + 5);
	assert_true(json_number_value(json_object_get(row, "memory_mb")) == 100 + 10 + 1 + 1);
	json_decref(users);
	json_decref(steps);
}

static void test_since(void **unused)
{
	static const char *const bad[] = {
		"",
		"m",
		"-1h",
		"1y",
		"12 h",
		"99999999999999999999d",
		"2026-13-01",
		"2026-02-30",
		"2026-01-31T24:01",
		"2026-01-31x",
		"yesterday",
	};
	uint64_t since, now = (uint64_t)time(NULL);
	struct gs_error err;

	(void)unused;
	assert_int_equal(gs_ctl_since(&since, "90m", &err), 0);
	assert_in_range(since, now - 5400, now - 5400 + 60);
	assert_int_equal(gs_ctl_since(&since, "7d", &err), 0);
	assert_in_range(since, now - 604800, now - 604800 + 60);
	assert_int_equal(gs_ctl_since(&since, "2026-01-31", &err), 0);
	assert_int_equal(since, 1769817600);
	assert_int_equal(gs_ctl_since(&since, "2024-02-29T12:30", &err), 0);
	assert_int_equal(since, 1709209800);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		assert_int_equal(gs_ctl_since(&since, bad[i], &err), -1);
		assert_non_null(strstr(err.text, "is neither a time like 90m"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_job_names),
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_kernel_leaves_room),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_kernel_names),
		cmocka_unit_test(test_top_parts),
		cmocka_unit_test(test_users_hold_once),
		cmocka_unit_test(test_since),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
