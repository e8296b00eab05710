/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushared tells of its jobs, and what the administrator changes while they run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "live_util.h"

#define MIB UINT64_C(1048576)
#define SOMEBODY 65534 /* an ordinary user, when the tests run as root */

/* ---- reports ---------------------------------------------------------------- */

static void test_long_report(void **state)
{
	struct live *l = *state;
	uint32_t job = 0, first = 0;
	json_t *rows;
	char *text;
	int own;

	/* More than are kept, and far more than a socket takes at once. */
	for (int i = 0; i < 1010; i++) {
		own = live_local(l, 1, MIB / 4, "low", &job);
		first = first ? first : job;
		close(own);
	}
	do
		usleep(1000);
	while (live_logged(l, ": over: ") < 1010);
	text = live_query(l, GS_QUERY_REPORT, 0);
	rows = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(rows), 1000);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "job")),
			 first + 10);
	assert_true(strlen(text) > 256 * 1024);
	json_decref(rows);
	free(text);
}

static double gpu_figure(const struct live *l, const char *key)
{
	char *text = live_query(l, GS_QUERY_STATUS, 0);
	json_t *s = json_loads(text, 0, NULL);
	double v = json_number_value(
		json_object_get(json_array_get(json_object_get(s, "gpus"), 0), key));

	json_decref(s);
	free(text);
	return v;
}

/* It comes to be more than that, as time passes; less. */
static void await_more(const struct live *l, const char *key, double than)
{
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	while (gpu_figure(l, key) <= than && gs_clock_ns() < until)
		usleep(5000);
	assert_true(gpu_figure(l, key) > than);
}

static void await_less(const struct live *l, const char *key, double than)
{
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	while (gpu_figure(l, key) >= than && gs_clock_ns() < until)
		usleep(5000);
	assert_true(gpu_figure(l, key) < than);
}

/* Who waits and has never had the GPU spoils no mean of slowdowns, and is seen as unfair. */
static void test_starving_is_seen(void **state)
{
	struct live *l = *state;
	struct gs_page *low, *high;
	uint32_t jl, jh;
	int own_l = live_local(l, 40, 0, "low", &jl), own_h = live_local(l, 40, 0, "high", &jh);
	int cl = live_hello(l, jl, &low, NULL), ch = live_hello(l, jh, &high, NULL);

	assert_true(gpu_figure(l, "antt") == 0 && gpu_figure(l, "jain") == 1);
	live_launch(ch, high, 0, 0);
	live_await(high, 0, GS_K_TORUN);
	live_run_slot(high, 0);
	live_launch(cl, low, 0, 0);
	await_more(l, "unserved_ms", 90);
	assert_true(gpu_figure(l, "antt") < 1.5);
	assert_true(gpu_figure(l, "served") == 1 && gpu_figure(l, "unserved") == 1);
	assert_true(gpu_figure(l, "jain") < 0.6);
	assert_true(gpu_figure(l, "stp") < 1.1);
	assert_true(live_figure(l, jl, "ntt") == 0); /* null */
	assert_true(live_figure(l, jl, "waiting_ms") > 90);
	live_end_slot(high, 0, GS_K_RUNNING);
	live_doorbell(ch);
	live_await(low, 0, GS_K_TORUN);
	live_run_slot(low, 0);
	for (int i = 0; i < 4000 && live_figure(l, jl, "active_ms") <= 90; i++)
		usleep(5000);
	assert_true(live_figure(l, jl, "active_ms") > 90);
	await_less(l, "unserved", 1); /* it has what it waited for */
	assert_true(gpu_figure(l, "served") == 2);
	assert_true(live_figure(l, jl, "ntt") > 1);
	gs_page_unmap(low);
	gs_page_unmap(high);
	close(cl);
	close(ch);
	close(own_l);
	close(own_h);
}

/* ---- changes while jobs run ------------------------------------------------- */

/* POLICY for GPU 0; the refusal's code, 0: done. */
static uint32_t change_policy(const struct live *l, uint32_t gpu, const char *policy)
{
	int sock = live_connect(l);
	struct gs_error err;
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_POLICY, 9);
	msg.policy.gpu = gpu;
	gs_msg_str(msg.policy.policy, sizeof(msg.policy.policy), policy);
	live_send(sock, &msg, -1);
	assert_int_equal(gs_msg_recv(sock, &msg, GS_FROM_DAEMON, NULL, &err), 1);
	assert_int_equal(msg.header.tag, 9);
	close(sock);
	return msg.header.type == GS_MSG_OK ? 0 : msg.refused.code;
}

static void change_priority(const struct live *l, uint32_t job, uint32_t priority,
			    enum gs_msg_type answer)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_PRIORITY, 1);
	msg.priority.job_id = job;
	msg.priority.priority = priority;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, answer, NULL);
	close(sock);
}

static void test_policy_is_changed(void **state)
{
	struct live *l = *state;
	char policy[32];
	int status;
	pid_t child;

	assert_int_equal(change_policy(l, 0, "rr"), 0);
	live_status_gpu(l, "policy", policy, sizeof(policy));
	assert_string_equal(policy, "rr");
	assert_int_equal(live_logged(l, "gpu 0: policy rr instead of frs"), 1);
	assert_int_equal(change_policy(l, 0, "lottery"), GS_REFUSED_BAD_REQUEST);
	assert_int_equal(change_policy(l, 7, "piv"), GS_REFUSED_BAD_REQUEST);
	if (geteuid() == 0) { /* an ordinary user may not */
		child = fork();
		if (child == 0)
			_exit(setuid(SOMEBODY) < 0                                 ? 2 :
			      change_policy(l, 0, "piv") == GS_REFUSED_NOT_ALLOWED ? 0 :
										     1);
		waitpid(child, &status, 0);
		assert_int_equal(status, 0);
		/* unless the configuration names it */
		live_configure(l, "SlurmUser=65534\n");
		kill(l->pid, SIGHUP);
		live_await_log(l, "reloaded /");
		child = fork();
		if (child == 0)
			_exit(setuid(SOMEBODY) < 0 ? 2 : (int)change_policy(l, 0, "srt"));
		waitpid(child, &status, 0);
		assert_int_equal(status, 0);
		assert_int_equal(live_logged(l, "uid 65534"), 2);
		live_status_gpu(l, "policy", policy, sizeof(policy));
		assert_string_equal(policy, "srt");
	} else {
		print_message("refusing other users: not tried, needs root\n");
	}
}

static void test_priority_is_changed(void **state)
{
	struct live *l = *state;
	struct gs_page *low, *high;
	uint32_t jl, jh;
	char path[128];
	int own_l = live_local(l, 40, 0, "low", &jl), own_h = live_local(l, 40, 0, "high", &jh);
	int cl = live_hello(l, jl, &low, NULL), ch = live_hello(l, jh, &high, NULL);

	live_launch(ch, high, 0, 0);
	live_await(high, 0, GS_K_TORUN);
	live_run_slot(high, 0);
	live_launch(cl, low, 0, 0);
	usleep(5000);
	assert_int_equal(gs_page_load(high->slot[0].state), GS_K_RUNNING);
	change_priority(l, 4242, 50, GS_MSG_REFUSED);
	change_priority(l, jl, 1001, GS_MSG_REFUSED);
	change_priority(l, jl, 50, GS_MSG_OK);
	live_await(high, 0, GS_K_TOEVICT);
	live_move(high, 0, GS_K_TOEVICT, GS_K_READY);
	live_await(low, 0, GS_K_TORUN);
	/* It outlives the daemon. */
	snprintf(path, sizeof(path), "%s.state", l->socket);
	live_stop(l, SIGKILL);
	live_start(l);
	close(own_h);
	close(ch);
	assert_int_equal(live_logged(l, "known from before"), 2);
	assert_int_equal(live_lines(path, " 2 50 "), 1);
	gs_page_unmap(low);
	gs_page_unmap(high);
	close(cl);
	close(own_l);
}

static void test_metrics_file(void **state)
{
	struct live *l = *state;
	char path[128], line[160];
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	snprintf(path, sizeof(path), "%s/g.prom", l->dir);
	snprintf(line, sizeof(line), "MetricsFile=%s/g.prom\nReportInterval=20ms\n", l->dir);
	live_configure(l, line);
	kill(l->pid, SIGHUP);
	while (access(path, F_OK) < 0 && gs_clock_ns() < until)
		usleep(5000);
	for (int i = 0; i < 200; i++) /* never a part of it, however often it is replaced */
		assert_int_equal(
			live_lines(path, "gpushare_gpu_policy_faults_total{gpu=\"0\",UUID=\"\"} 0"),
			1);
	/* A folder that is not there: one line, however often. */
	snprintf(line, sizeof(line), "MetricsFile=%s/none/g.prom\nReportInterval=20ms\n", l->dir);
	live_configure(l, line);
	kill(l->pid, SIGHUP);
	live_await_log(l, "cannot write");
	usleep(100000);
	assert_int_equal(live_logged(l, "cannot write"), 1);
	live_serves(l);
	unlink(path);
}

/* ---- the history ------------------------------------------------------------ */

/* Rows of the history's answer per step. */
static json_t *history(const struct live *l, const struct gs_msg_history *request)
{
	int sock = live_connect(l);
	struct gs_msg msg;
	char text[65536] = "";
	json_t *rows;

	gs_msg_init(&msg, GS_MSG_HISTORY, 4);
	msg.history = *request;
	msg.history.json = 1;
	live_send(sock, &msg, -1);
	do {
		live_expect(sock, &msg, GS_MSG_TEXT, NULL);
		assert_int_equal(msg.header.tag, 4);
		assert_true(strlen(text) + msg.text.length < sizeof(text));
		strncat(text, msg.text.text, msg.text.length);
	} while (msg.text.more);
	close(sock);
	rows = json_loads(text, 0, NULL);
	assert_non_null(rows);
	return rows;
}

static size_t history_rows(const struct live *l, struct gs_msg_history request)
{
	json_t *rows = history(l, &request);
	size_t n = json_array_size(rows);

	json_decref(rows);
	return n;
}

static void run_steps(const struct live *l, unsigned n, const char *partition)
{
	unsigned before = live_logged(l, ": over: ");
	uint32_t job;

	for (unsigned i = 0; i < n; i++)
		close(live_local(l, 1, MIB, partition, &job));
	while (live_logged(l, ": over: ") < before + n)
		usleep(1000);
}

static void test_history(void **state)
{
	struct gs_msg_history all = { 0 }, low = { .partition = "low" };
	struct live *l = *state;
	char line[160], path[128], aside[160];
	uint32_t job;
	unsigned over;
	int own;
	FILE *f;

	/* Without a file: what this daemon has seen. */
	run_steps(l, 2, "low");
	assert_int_equal(history_rows(l, low), 2);
	live_stop(l, SIGTERM);
	snprintf(path, sizeof(path), "%s/h.db", l->dir);
	snprintf(aside, sizeof(aside), "%s.corrupt", path);
	snprintf(line, sizeof(line), "HistoryFile=%s\n", path);
	live_configure(l, line);
	live_start(l);
	if (live_logged(l, "without SQLite")) {
		print_message("the history's file: not tried, built without SQLite\n");
		return;
	}
	run_steps(l, 3, "low");
	run_steps(l, 2, "high");
	own = live_local(l, 10, 0, "low", &job); /* goes on */
	assert_int_equal(history_rows(l, all), 6);
	assert_int_equal(history_rows(l, low), 4);
	assert_int_equal(history_rows(l, (struct gs_msg_history) { .group = GS_GROUP_PARTITION }),
			 2);
	assert_int_equal(history_rows(l, (struct gs_msg_history) { .since = 4000000000u }), 1);
	/* Across restarts, what was written in the last moment included. */
	over = live_logged(l, ": over: ");
	close(own);
	while (live_logged(l, ": over: ") == over)
		usleep(1000);
	run_steps(l, 4, "high");
	live_stop(l, SIGTERM);
	live_start(l);
	assert_int_equal(history_rows(l, all), 10);
	/* Corrupt: set aside with one line, and kept anew. */
	live_stop(l, SIGTERM);
	f = fopen(path, "w");
	for (int i = 0; i < 500; i++)
		fputs("not a database any more\n", f);
	fclose(f);
	live_start(l);
	run_steps(l, 1, "low");
	assert_int_equal(history_rows(l, all), 1);
	live_await_log(l, "set aside");
	assert_int_equal(access(aside, F_OK), 0);
	live_stop(l, SIGTERM);
	unlink(path);
	unlink(aside);
}

/* A file that cannot be opened: no answer, rather than one of those steps alone that are not over.
 */
static void test_history_that_cannot_be(void **state)
{
	struct live *l = *state;
	int sock, own;
	struct gs_msg msg;
	uint32_t job;

	live_configure(l, "HistoryFile=/dev/null/history.db\n");
	live_stop(l, SIGTERM);
	live_start(l);
	own = live_local(l, 10, 0, "low", &job);
	sock = live_connect(l);
	gs_msg_init(&msg, GS_MSG_HISTORY, 4);
	msg.history.group = GS_GROUP_USER;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_REFUSED, NULL);
	assert_non_null(strstr(msg.refused.reason, "history cannot be read"));
	close(sock);
	assert_true(live_figure(l, job, "shares") == 10); /* what it knows itself it says */
	live_await_log(l, "unable to open database file");
	close(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_long_report),
		LIVE(test_starving_is_seen),
		LIVE(test_policy_is_changed),
		LIVE(test_priority_is_changed),
		LIVE(test_metrics_file),
		LIVE(test_history),
		LIVE(test_history_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
