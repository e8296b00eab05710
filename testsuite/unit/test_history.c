/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history's file, and the reports that are made from it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "config.h"
#include "gpushare/daemon/report/aggregate.h"
#include "gpushare/daemon/history/history_db.h"
#include "gpushare/daemon/base/local_job.h"

static struct gs_past_step step_of(uint32_t job, const char *user, const char *partition,
				   int64_t end_s)
{
	struct gs_past_step s = { .job = job,
				  .step = 0,
				  .gpu = job % 2,
				  .shares = 40,
				  .start_s = end_s - 60,
				  .end_s = end_s,
				  .kernels = 10,
				  .preemptions = 2,
				  .active_ms = 100,
				  .waiting_ms = 50,
				  .turnaround_ms = 150,
				  .evict_p50_us = 60,
				  .evict_p99_us = 90,
				  .memory_mb = job,
				  .reserved_mb = 400 };

	snprintf(s.user, sizeof(s.user), "%s", user);
	snprintf(s.partition, sizeof(s.partition), "%s", partition);
	return s;
}

static double figure(json_t *rows, size_t i, const char *key)
{
	json_t *v = json_object_get(json_array_get(rows, i), key);

	assert_non_null(v);
	return json_number_value(v);
}

static json_t *answer(const struct gs_past_step *step, size_t n, struct gs_msg_history request)
{
	char *text;
	json_t *rows;

	request.json = 1;
	text = gs_aggregate(step, n, &request);
	rows = json_loads(text, 0, NULL);
	assert_non_null(rows);
	free(text);
	return rows;
}

static size_t selected(const struct gs_past_step *step, size_t n, struct gs_msg_history request)
{
	json_t *rows = answer(step, n, request);
	size_t count = json_array_size(rows);

	json_decref(rows);
	return count;
}

static void test_selection(void **unused)
{
	struct gs_past_step s[] = {
		step_of(1, "ann", "low", 1000),
		step_of(2, "bob", "low", 2000),
		step_of(3, "ann", "high", 3000),
		step_of(4, "ann", "low", 0),
	};

	(void)unused;
	assert_int_equal(selected(s, 4, (struct gs_msg_history) { 0 }), 4);
	/* What is not over is always recent. */
	assert_int_equal(selected(s, 4, (struct gs_msg_history) { .since = 2000 }), 3);
	assert_int_equal(selected(s, 4, (struct gs_msg_history) { .since = 3001 }), 1);
	assert_int_equal(selected(s, 4, (struct gs_msg_history) { .user = "ann" }), 3);
	assert_int_equal(
		selected(s, 4, (struct gs_msg_history) { .user = "ann", .partition = "high" }), 1);
	assert_int_equal(selected(s, 4, (struct gs_msg_history) { .job_id = 2 }), 1);
	assert_int_equal(selected(s, 4, (struct gs_msg_history) { .user = "an" }), 0);
	assert_int_equal(selected(s, 0, (struct gs_msg_history) { .group = GS_GROUP_USER }), 0);
}

static void test_groups(void **unused)
{
	struct gs_past_step s[] = {
		step_of(3, "bob", "low", 1000),
		step_of(2, "ann", "low", 2000),
		step_of(3, "ann", "high", 3000),
		step_of(5, "idle", "", 3000),
	};
	json_t *rows;

	(void)unused;
	s[2].step = 1;
	s[2].shares = 20;
	s[2].turnaround_ms = 300; /* NTT 3: half the shares, half the progress of NTT 1.5 */
	s[3].active_ms = s[3].waiting_ms = s[3].turnaround_ms = 0;
	rows = answer(s, 4, (struct gs_msg_history) { .group = GS_GROUP_USER });
	assert_int_equal(json_array_size(rows), 3);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "user")),
			    "ann");
	assert_true(figure(rows, 0, "steps") == 2);
	assert_true(figure(rows, 0, "kernels") == 20);
	assert_true(figure(rows, 0, "turnaround_ms") == 450);
	assert_true(figure(rows, 0, "antt") == 2.25);
	assert_true(figure(rows, 0, "dntt") == 0.75);
	assert_true(figure(rows, 0, "jain") == 1);
	assert_true(figure(rows, 0, "preemptions") == 4);
	assert_true(figure(rows, 0, "memory_mb") == 3);
	assert_true(figure(rows, 2, "antt") == 0); /* never used it: no slowdown to count */
	json_decref(rows);
	rows = answer(s, 4, (struct gs_msg_history) { .group = GS_GROUP_JOB });
	assert_int_equal(json_array_size(rows), 3);
	assert_true(figure(rows, 1, "job") == 3);
	assert_true(figure(rows, 1, "steps") == 2);
	json_decref(rows);
	rows = answer(s, 4, (struct gs_msg_history) { .group = GS_GROUP_GPU });
	assert_true(figure(rows, 0, "gpu") == 0 && figure(rows, 1, "steps") == 3);
	json_decref(rows);
	/* It waited for 99 ms and was never let on: it counts, and has no slowdown. */
	s[3].waiting_ms = s[3].turnaround_ms = 99;
	rows = answer(s, 4, (struct gs_msg_history) { .group = GS_GROUP_USER });
	assert_true(figure(rows, 2, "antt") == 0);
	assert_true(figure(rows, 2, "served") == 0 && figure(rows, 2, "unserved") == 1);
	assert_true(figure(rows, 2, "waiting_ms") == 99);
	json_decref(rows);
	rows = answer(s, 4, (struct gs_msg_history) { .job_id = 5 });
	assert_true(json_is_null(json_object_get(json_array_get(rows, 0), "ntt")));
	json_decref(rows);
}

#ifdef HAVE_SQLITE
struct place {
	char dir[64], path[80], aside[96];
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	const char *tmp = getenv("TMPDIR");

	snprintf(p->dir, sizeof(p->dir), "%s/history-XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/h.db", p->dir);
	snprintf(p->aside, sizeof(p->aside), "%s.corrupt", p->path);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	unlink(p->aside);
	assert_int_equal(rmdir(p->dir), 0);
	free(p);
	return 0;
}

static struct gs_history_db *open_db(const struct place *p, uint32_t rows)
{
	struct gs_error err;
	struct gs_history_db *db = gs_history_db_open(p->path, rows, &err);

	if (!db)
		print_message("%s\n", err.text);
	assert_non_null(db);
	assert_string_equal(err.text, "");
	return db;
}

static size_t rows_of(struct gs_history_db *db, struct gs_msg_history request,
		      struct gs_past_step *first)
{
	struct gs_past_step *all = NULL;
	struct gs_error err;
	size_t n = 0;

	assert_int_equal(gs_history_db_select(db, &request, &all, &n, &err), 0);
	if (n)
		*first = all[0];
	free(all);
	return n;
}

static void add(struct gs_history_db *db, const struct gs_past_step *step)
{
	struct gs_error err;

	assert_int_equal(gs_history_db_add(db, step, &err), 0);
}

static void test_file_keeps_everything(void **state)
{
	struct gs_past_step a = step_of(7, "ann", "low", 1000),
			    b = step_of(8, "o'bob\";--", "x", 2000);
	struct gs_history_db *db = open_db(*state, 100);
	struct gs_past_step got;
	struct stat st;

	a.step = 0xfffffffbu;
	a.priority = b.priority = -1; /* the file does not keep it */
	add(db, &a);
	add(db, &b);
	gs_history_db_close(db);
	assert_int_equal(stat(((struct place *)*state)->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	db = open_db(*state, 100);
	assert_int_equal(rows_of(db, (struct gs_msg_history) { 0 }, &got), 2);
	assert_memory_equal(&got, &a, sizeof(a));
	assert_int_equal(rows_of(db, (struct gs_msg_history) { .since = 1001 }, &got), 1);
	assert_memory_equal(&got, &b, sizeof(b));
	assert_int_equal(rows_of(db, (struct gs_msg_history) { .user = "o'bob\";--" }, &got), 1);
	assert_int_equal(
		rows_of(db, (struct gs_msg_history) { .job_id = 7, .partition = "x" }, &got), 0);
	gs_history_db_close(db);
}

static void test_file_is_bounded(void **state)
{
	struct gs_history_db *db = open_db(*state, 50);
	struct gs_past_step got;
	struct gs_error err;

	for (uint32_t i = 1; i <= 300; i++) {
		struct gs_past_step s = step_of(i, "ann", "low", i);

		add(db, &s);
		if (i % 7 == 0)
			assert_int_equal(gs_history_db_commit(db, &err), 0);
	}
	assert_int_equal(gs_history_db_commit(db, &err), 0);
	assert_int_equal(rows_of(db, (struct gs_msg_history) { 0 }, &got), 50);
	assert_int_equal(got.job, 251);
	gs_history_db_close(db);
}

static uint32_t latest_local(struct gs_history_db *db, uint32_t job)
{
	struct gs_past_step s = step_of(job, "ann", "low", 1);
	struct gs_error err;
	uint32_t latest = 1;

	add(db, &s);
	assert_int_equal(gs_history_db_local(db, &latest, &err), 0);
	return latest;
}

static void test_local_jobs(void **state)
{
	struct gs_history_db *db = open_db(*state, 100);
	const uint32_t first = GS_LOCAL_JOB_FIRST;

	assert_int_equal(latest_local(db, 12), 0);
	assert_int_equal(latest_local(db, UINT32_MAX), 0);
	assert_int_equal(latest_local(db, first + 5), first + 5);
	assert_int_equal(latest_local(db, first + 3), first + 5); /* it ran for longer */
	assert_int_equal(latest_local(db, first + 6), first + 6);
	assert_int_equal(latest_local(db, first - 1), first + 6);
	gs_history_db_close(db);
}

/* In a circle, whose last is one before the hand-over's number. */
static void test_local_jobs_go_round(void **state)
{
	struct gs_history_db *db = open_db(*state, 100);
	const uint32_t first = GS_LOCAL_JOB_FIRST, last = UINT32_MAX - 1;

	assert_int_equal(gs_local_job_next(last - 1), last);
	assert_int_equal(gs_local_job_next(last), first);
	assert_int_equal(latest_local(db, last - 1), last - 1);
	assert_int_equal(latest_local(db, first + 1), first + 1);
	assert_int_equal(latest_local(db, last), first + 1);
	gs_history_db_close(db);
}

/* What was there is set aside, and the new file works. */
static void expect_set_aside(struct place *p)
{
	struct gs_past_step s = step_of(1, "ann", "low", 5), got;
	struct gs_error err;
	struct gs_history_db *db = gs_history_db_open(p->path, 10, &err);

	assert_non_null(db);
	assert_non_null(strstr(err.text, "set aside"));
	assert_int_equal(access(p->aside, F_OK), 0);
	add(db, &s);
	assert_int_equal(rows_of(db, (struct gs_msg_history) { 0 }, &got), 1);
	gs_history_db_close(db);
}

static void test_no_database_is_set_aside(void **state)
{
	struct place *p = *state;
	FILE *f = fopen(p->path, "w");

	for (int i = 0; i < 1000; i++)
		fputs("this is no database\n", f);
	fclose(f);
	expect_set_aside(p);
}

static void test_corrupt_file_is_set_aside(void **state)
{
	struct place *p = *state;
	struct gs_history_db *db = open_db(p, 1000);
	FILE *f;

	for (uint32_t i = 1; i <= 200; i++) {
		struct gs_past_step s = step_of(i, "ann", "low", i);

		add(db, &s);
	}
	gs_history_db_close(db);
	f = fopen(p->path, "r+");
	assert_int_equal(fseek(f, 4096, SEEK_SET), 0);
	for (int i = 0; i < 8192; i++)
		fputc(0xa5, f);
	fclose(f);
	expect_set_aside(p);
}

static void test_file_that_cannot_be(void **state)
{
	struct gs_error err;

	(void)state;
	assert_null(gs_history_db_open("/nonexistent/folder/h.db", 10, &err));
	assert_non_null(strstr(err.text, "/nonexistent/folder/h.db"));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_groups),
#ifdef HAVE_SQLITE
#define FILED(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		FILED(test_file_keeps_everything),
		FILED(test_file_is_bounded),
		FILED(test_local_jobs),
		FILED(test_local_jobs_go_round),
		FILED(test_no_database_is_set_aside),
		FILED(test_corrupt_file_is_set_aside),
		FILED(test_file_that_cannot_be),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
