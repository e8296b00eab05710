/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels read as they arrive give what a workload in memory gives, and files are looked through as strictly. */
#define _GNU_SOURCE
#include "simulate.h"

#include <unistd.h>

#include "gpushare/sim/order.h"
#include "gpushare/sim/names.h"
#include "gpushare/sim/reader.h"
#include "gpushare/sim/spool.h"
#include "gpushare/sim/stream.h"

#define FILE_NAME "test_sim_stream.csv"

/* The same numbers on every machine. */
static unsigned draw(unsigned *state, unsigned below)
{
	*state = *state * 1103515245u + 12345u;
	return (*state >> 8) % below;
}

static void write_file(const char *text, size_t len)
{
	FILE *out = fopen(FILE_NAME, "we");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

/* ---- Spool ------------------------------------------------------------------ */

static void spools_keep_every_record(void **state)
{
	enum { RECORDS = 100000 };
	struct sim_spool *spool = sim_spool_create(24);
	unsigned seed = 1, *want = calloc(RECORDS, sizeof(*want));

	(void)state;
	for (int i = 0; i < 3 * RECORDS; i++) {
		unsigned at = i < RECORDS ? (unsigned)i : draw(&seed, RECORDS);
		unsigned char *record = sim_spool_set(spool, at);

		assert_memory_equal(record, &want[at], sizeof(want[at]));
		want[at] = draw(&seed, 1u << 20);
		memcpy(record, &want[at], sizeof(want[at]));
		if (i == 2 * RECORDS)
			sim_spool_widen(spool, RECORDS / 2);
	}
	for (unsigned i = 0; i < RECORDS; i++)
		assert_memory_equal(sim_spool_get(spool, i), &want[i], sizeof(want[i]));
	assert_int_equal(*(const char *)sim_spool_get(spool, 2 * RECORDS), 0);
	assert_int_equal(sim_spool_check(spool, NULL), 0);
	sim_spool_destroy(spool);
	free(want);
}

static void a_spool_says_that_its_file_failed(void **state)
{
	char *folder = strdup(getenv("TMPDIR"));
	struct sim_spool *spool = sim_spool_create(24);
	struct gs_error err;

	(void)state;
	setenv("TMPDIR", "/nonexistent", 1);
	for (unsigned i = 0; i < 10000; i++)
		memset(sim_spool_set(spool, i), 1, 24);
	assert_int_equal(sim_spool_check(spool, NULL), 0); /* no file was needed */
	for (unsigned i = 10000; i < 100000; i++)
		memset(sim_spool_set(spool, i), 1, 24);
	assert_int_equal(sim_spool_check(spool, &err), -1);
	assert_non_null(strstr(err.text, "cannot make a temporary file in /nonexistent (set TMPDIR): "));
	sim_spool_destroy(spool);
	setenv("TMPDIR", folder, 1);
	free(folder);
}

/* ---- Names and lines ---------------------------------------------------------- */

/* `n` kernels k0, k1, ..., of which `again` is called as `as` is; a bad length in line `bad`. */
static struct gs_error complaint(int n, int again, int as, int bad)
{
	char *text = malloc(32 * ((size_t)n + 1)), *at = text;
	struct sim_workload w;
	struct gs_error err = { "" };

	at += sprintf(at, "name,length_ms\n");
	for (int i = 0; i < n; i++)
		at += sprintf(at, "k%d,%d\n", i == again ? as : i, i + 2 != bad);
	if (sim_workload_parse("t", text, (size_t)(at - text), &w, &err) == 0)
		assert_int_equal(w.count, n);
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

/* The filter's suspects fill their room more than once, and are looked for then. */
static void suspects_are_cleared(void **state)
{
	enum { N = 40000 };
	char *text = malloc(16 * (N + 1)), *at = text, name[16];
	struct sim_text whole;
	struct sim_names *names;
	struct gs_error err;

	(void)state;
	at += sprintf(at, "name,length_ms\n");
	for (int i = 0; i < N; i++)
		at += sprintf(at, "n%d,1\n", i % (N - 1));
	whole = sim_text_of("t", text, (size_t)(at - text));
	names = sim_names_create(&whole, N / 40);
	for (int i = 0; i < N - 1; i++) {
		sprintf(name, "n%d", i);
		assert_int_equal(sim_names_add(names, name, &err), 0);
	}
	assert_int_equal(sim_names_settle(names, &err), 0);
	assert_int_equal(sim_names_add(names, "n0", &err), 0);
	assert_int_equal(sim_names_settle(names, &err), -1);
	assert_non_null(strstr(err.text, "t:40001:1: name: "));
	sim_names_destroy(names);
	free(text);
}

static void lines_end(void **state)
{
	char *text = malloc(3 * SIM_LINE_MAX), *at = text;
	struct sim_workload w;
	struct gs_error err;

	(void)state;
	/* The longest that may be, its end included. */
	*at++ = '#';
	memset(at, ' ', SIM_LINE_MAX - 2);
	at += SIM_LINE_MAX - 2;
	at += sprintf(at, "\nname,length_ms\na,1\n#");
	memset(at, ' ', SIM_LINE_MAX - 1);
	at += SIM_LINE_MAX - 1;
	assert_int_equal(sim_workload_parse("t", text, (size_t)(at - text) - 1, &w, &err), 0);
	assert_int_equal(w.count, 1);
	sim_workload_free(&w);
	assert_int_equal(sim_workload_parse("t", text, (size_t)(at - text), &w, &err), -1);
	assert_string_equal(err.text, "t:4:1: a line of more than 65535 characters");
	free(text);
}

/* ---- Streams ------------------------------------------------------------------- */

struct rows {
	const struct results *want;
	size_t next;
};

static void same_row(void *arg, const char *name, const struct sim_row *row)
{
	struct rows *rows = arg;
	size_t i = rows->next++;

	assert_true(i < rows->want->workload.count);
	assert_string_equal(name, rows->want->workload.kernel[i].name);
	assert_memory_equal(row, &rows->want->row[i], sizeof(*row));
}

/* Every policy: the same rows and metrics, to the last bit, as of the file in memory. */
static void stream_and_compare(const struct sim_order *order)
{
	struct results r = { 0 };
	struct sim_experiment x = { .workload = &r.workload, .rounds = 1, .order = *order,
				    .costs = sim_costs_of(MS / 10) };
	struct sim_stream *stream;
	struct sim_summary summary;
	struct gs_error err;
	const char *policy;

	gs_sched_defaults(&x.options);
	x.options.handover_ns = MS / 10;
	if (sim_workload_load(FILE_NAME, &r.workload, &err) < 0)
		fail_msg("%s", err.text);
	stream = sim_stream_open(FILE_NAME, &x, &err);
	if (!stream)
		fail_msg("%s", err.text);
	for (size_t i = 0; (policy = gs_sched_policy_name(i)) != NULL; i++) {
		struct rows rows = { .want = &r };

		assert_int_equal(sim_experiment_run(&x, policy, &r.row, &r.summary, &err), 0);
		if (sim_stream_run(stream, policy, &summary, &err) < 0 ||
		    sim_stream_rows(stream, same_row, &rows, &err) < 0)
			fail_msg("%s: %s", policy, err.text);
		assert_int_equal(rows.next, r.workload.count);
		assert_memory_equal(&summary.antt, &r.summary.antt,
				    offsetof(struct sim_summary, faults) -
				    offsetof(struct sim_summary, antt));
		free(r.row);
	}
	sim_stream_close(stream);
	sim_workload_free(&r.workload);
}

static void streams_are_experiments(void **state)
{
	enum { N = 3000 };
	static const struct sim_order as_is, apart = { .has_gap = 1, .gap_ns = MS };
	char *text = malloc(80 * (N + 1));
	unsigned seed = 7;

	(void)state;
	for (int sorted = 0; sorted < 2; sorted++) {
		char *at = text;

		at += sprintf(at, "# a comment\narrival_ms,name,length_ms,block_tasks,priority,shares\n");
		for (int i = 0; i < N; i++)
			at += sprintf(at, "%s%u, k%d ,%u.%03u,%u,%u,%u\n", i % 50 ? "" : "\n# more\r\n",
				      sorted ? (unsigned)i : draw(&seed, N), i, draw(&seed, 2),
				      1 + draw(&seed, 999), 1 + draw(&seed, 20), draw(&seed, 5),
				      1 + draw(&seed, 3));
		write_file(text, (size_t)(at - text));
		stream_and_compare(&as_is);
		stream_and_compare(&apart);
	}
	unlink(FILE_NAME);
	free(text);
}

static void a_file_that_shrinks_is_noticed(void **state)
{
	const char *text = "name,length_ms\na,1\nb,1\n";
	struct sim_experiment x = { .rounds = 1 };
	struct sim_stream *stream;
	struct sim_summary summary;
	struct gs_error err;

	(void)state;
	gs_sched_defaults(&x.options);
	write_file(text, strlen(text));
	stream = sim_stream_open(FILE_NAME, &x, &err);
	assert_non_null(stream);
	write_file(text, strlen(text) - 4);
	assert_int_equal(sim_stream_run(stream, "fifo", &summary, &err), -1);
	assert_string_equal(err.text, FILE_NAME ": changed while it was read");
	sim_stream_close(stream);
	unlink(FILE_NAME);
}

static void gaps_that_cannot_be_counted(void **state)
{
	struct sim_order order = { .has_gap = 1, .gap_ns = UINT64_C(86400000000000) };
	struct gs_error err;

	(void)state;
	assert_int_equal(sim_order_check(&order, 100000, &err), 0);
	assert_int_equal(sim_order_check(&order, 300000, &err), -1);
	assert_string_equal(err.text, "--gap: too long for 300000 kernels");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_that_cannot_be_counted),
		cmocka_unit_test(spools_keep_every_record),
		cmocka_unit_test(a_spool_says_that_its_file_failed),
		cmocka_unit_test(names_that_come_twice_are_found),
		cmocka_unit_test(suspects_are_cleared),
		cmocka_unit_test(lines_end),
		cmocka_unit_test(streams_are_experiments),
		cmocka_unit_test(a_file_that_shrinks_is_noticed),
	};

	setenv("TMPDIR", ".", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
