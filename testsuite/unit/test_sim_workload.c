/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulator's workload files. */
#define _GNU_SOURCE
#include "simulate.h"

#include "gpushare/sim/output.h"

#define HEADER "name,arrival_ms,length_ms,block_tasks,priority,shares,memory_mb\n"

static void workload_files(void **state)
{
	struct sim_workload w = parse("# comment\n" HEADER "a,0,1.5,10,-3,2,64\r\n\n"
				      "b b, 3 ,0.25,1,7,1,0");

	(void)state;
	assert_int_equal(w.count, 2);
	assert_string_equal(w.kernel[0].name, "a");
	assert_int_equal(w.kernel[0].length_ns, 1500000);
	assert_int_equal(w.kernel[0].block_tasks, 10);
	assert_int_equal(w.kernel[0].priority, -3);
	assert_int_equal(w.kernel[0].shares, 2);
	assert_int_equal(w.kernel[0].memory_mb, 64);
	assert_string_equal(w.kernel[1].name, "b b");
	assert_int_equal(w.kernel[1].arrival_ns, 3000000);
	sim_workload_free(&w);
	w = parse("length_ms,name,original_ms\n4,x,5\n");
	assert_int_equal(w.kernel[0].length_ns, 4000000);
	assert_int_equal(sim_kernel_original(&w.kernel[0]), 5000000);
	sim_workload_free(&w);
	w = parse("length_ms,name\n4,x\n");
	assert_int_equal(sim_kernel_original(&w.kernel[0]), 4000000);
	assert_int_equal(w.kernel[0].length_ns, 4000000);
	assert_int_equal(w.kernel[0].shares, 1);
	sim_workload_free(&w);
}

static void bad_rows_are_named(void **state)
{
	static const struct {
		const char *text, *want;
	} bad[] = {
		{ "", "t.csv:1:1: no kernel" },
		{ HEADER, "t.csv:1:1: no kernel" },
		{ "name,length\n", "t.csv:1:6: the first line names the columns" },
		{ "name,length_ms,period_ms\na,1,-1\n", "t.csv:2:5: period_ms: '-1' is negative" },
		{ "name,length_ms,original_ms\na,1,0\n",
		  "t.csv:2:5: original_ms: a kernel has a length" },
		{ "name,name\n", "t.csv:1:6: a column is named twice" },
		{ "name,arrival_ms\n", "t.csv:1:1: the columns name and length_ms" },
		{ HEADER "a,0,-1,1,1,1,0\n", "t.csv:2:5: length_ms: '-1' is negative" },
		{ HEADER "a,0,0,1,1,1,0\n", "t.csv:2:5: length_ms: a kernel has a length" },
		{ HEADER "a,0,86400001,1,1,1,0\n", "t.csv:2:5: length_ms: '86400001' is longer" },
		{ HEADER "a,0,nan,1,1,1,0\n", "t.csv:2:5: length_ms: 'nan' is not a number" },
		{ HEADER "a,0,,1,1,1,0\n", "t.csv:2:5: length_ms: '' is not a number" },
		{ HEADER "a,x,1,1,1,1,0\n", "t.csv:2:3: arrival_ms: 'x' is not" },
		{ HEADER "a,0,1,0,1,1,0\n", "t.csv:2:7: block_tasks: 0 is not between 1" },
		{ HEADER "a,0,1,1.5,1,1,0\n", "t.csv:2:7: block_tasks: '1.5' is not a whole" },
		{ HEADER "a,0,1,1,1001,1,0\n", "t.csv:2:9: priority: 1001 is not" },
		{ HEADER "a,0,1,1,1,0,0\n", "t.csv:2:11: shares: 0 is not" },
		{ HEADER "a,0,1,1,1,1,-1\n", "t.csv:2:13: memory_mb: -1 is not" },
		{ HEADER "\xc3\xa9,0,1,1,1,1,0\n",
		  "t.csv:2:1: name: a name is of printable ASCII" },
		{ HEADER "a,0,1,1,1,1\n", "t.csv:2:12: fewer fields than columns" },
		{ HEADER "a,0,1,1,1,1,0,9\n", "t.csv:2:15: more fields than columns" },
		{ HEADER ",0,1,1,1,1,0\n", "t.csv:2:1: name: a name has 1 to 63" },
		{ HEADER "a\"b,0,1,1,1,1,0\n", "t.csv:2:1: name: a name is of printable ASCII" },
		{ HEADER "a,0,1,1,1,1,0\nb,0,1,1,1,1,0\na,0,1,1,1,1,0\n",
		  "t.csv:4:1: name: there is a kernel of this name already" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sim_workload w;
		struct gs_error err;

		if (sim_workload_parse("t.csv", bad[i].text, strlen(bad[i].text), &w, &err) != -1)
			fail_msg("accepted: %s", bad[i].text);
		if (strncmp(err.text, bad[i].want, strlen(bad[i].want)) != 0)
			fail_msg("'%s' instead of '%s'", err.text, bad[i].want);
		assert_null(w.kernel);
	}
}

/* `n` kernels k0, k1, ..., of which `again` is called as `as` is; a bad length in line `bad`. */
static struct gs_error complaint(int n, int again, int as, int bad)
{
	char *text = malloc(32 * ((size_t)n + 1)), *at = text;
	struct sim_workload w;
	struct gs_error err = { "" };

	at += sprintf(at, "name,length_ms\n");
	for (int i = 0; i < n; i++)
		at += sprintf(at, "k%d,%d\n", i == again ? as : i, i + 2 != bad);
	if (sim_workload_parse("t", text, (size_t)(at - text), &w, &err) == 0) {
		assert_int_equal(w.count, n);
		assert_string_equal(w.kernel[n - 1].name, "k59999");
	}
	sim_workload_free(&w);
	free(text);
	return err;
}

static void names_that_come_twice_are_found(void **state)
{
	enum { N = 60000 };
	const char *twice = "name: there is a kernel of this name already";
	static const int pair[][2] = { { 1, 0 }, { N - 1, 0 }, { N - 1, N - 2 }, { 30000, 17 } };
	char want[100];

	(void)state;
	assert_string_equal(complaint(N, -1, 0, -1).text, "");
	for (size_t i = 0; i < sizeof(pair) / sizeof(pair[0]); i++) {
		sprintf(want, "t:%d:1: %s", pair[i][0] + 2, twice);
		assert_string_equal(complaint(N, pair[i][0], pair[i][1], -1).text, want);
	}
	/* What is wrong first is named: the name, the length. */
	sprintf(want, "t:%d:1: %s", 502, twice);
	assert_string_equal(complaint(N, 500, 3, 503).text, want);
	assert_non_null(strstr(complaint(N, 501, 3, 502).text, "t:502:6: length_ms: "));
}

/* Comments and empty lines count, ends of either kind do not, the last line needs none. */
static void lines_end(void **state)
{
	struct sim_workload w = parse("# a comment\r\n\nlength_ms,name\r\n\n2, a \r\n#\n1,b");

	(void)state;
	assert_int_equal(w.count, 2);
	assert_string_equal(w.kernel[0].name, "a");
	assert_int_equal(w.kernel[0].line, 5);
	assert_string_equal(w.kernel[1].name, "b");
	assert_int_equal(w.kernel[1].line, 7);
	assert_int_equal(w.kernel[1].length_ns, MS);
	sim_workload_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workload_files),
		cmocka_unit_test(bad_rows_are_named),
		cmocka_unit_test(names_that_come_twice_are_found),
		cmocka_unit_test(lines_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
