/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared and its long answers: who reads them slowly, or not at all, and who asks too
 * often. */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "config.h"
#include "live_util.h"

static void test_answers_that_nobody_reads_are_few(void **state)
{
	struct live *l = *state;
	pid_t pid = live_fork_user();
	int refused = 0, sock[20];

	if (pid != 0) {
		assert_false(live_has_failed(pid));
		live_serves(l);
		return;
	}
	live_announce(l, &(uint32_t) { 0 });
	for (int i = 0; i < 20; i++)
		sock[i] = live_ask(l, GS_MSG_QUERY, GS_QUERY_KERNELS);
	for (int i = 20; i-- && !refused;) {
		struct gs_msg msg;
		struct gs_error err;

		refused = gs_msg_recv(sock[i], &msg, GS_FROM_DAEMON, NULL, &err) == 1 &&
			  msg.header.type == GS_MSG_REFUSED &&
			  msg.refused.code == GS_REFUSED_NO_ROOM;
	}
	_exit(!refused);
}

/* Reads as much of an answer as is there within so many ms. Returns 1 if that was its end. */
static int read_text(int sock, int wait_ms)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };

	while (poll(&p, 1, wait_ms) == 1) {
		struct gs_msg msg;

		live_expect(sock, &msg, GS_MSG_TEXT, NULL);
		if (!msg.text.more)
			return 1;
	}
	return 0;
}

/* A connection is closed if its reader takes nothing for five seconds, but not if the daemon was
 * stopped meanwhile. */
static void test_who_reads_waits_for_a_daemon_that_is_late(void **state)
{
	struct live *l = *state;
	int sock;

	for (int i = 0; i < 2; i++)
		live_announce(l, &(uint32_t) { 0 });
	sock = live_ask(l, GS_MSG_QUERY, GS_QUERY_KERNELS);
	assert_int_equal(poll(&(struct pollfd) { .fd = sock, .events = POLLIN }, 1, 20000), 1);
	usleep(500000); /* the socket is full, and the daemon waits until it is not */
	assert_int_equal(kill(l->pid, SIGSTOP), 0);
	assert_false(read_text(sock, 0));
	sleep(6);
	assert_int_equal(kill(l->pid, SIGCONT), 0);
	assert_true(read_text(sock, 20000));
	close(sock);
}

static void test_a_report_on_kernels_has_an_end(void **state)
{
	struct live *l = *state;
	uint32_t job;
	size_t rows;
	json_t *all;
	char *text;

	for (int i = 0; i < 3; i++)
		live_announce(l, &job);
	text = live_query(l, GS_QUERY_KERNELS, job);
	all = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(all, "kernels")), LIVE_KERNELS);
	json_decref(all);
	free(text);
	text = live_query(l, GS_QUERY_KERNELS, 0);
	all = json_loads(text, 0, NULL);
	rows = json_array_size(json_object_get(all, "kernels"));
	assert_in_range(rows, 8000, 8192);
	json_decref(all);
	free(text);
}

#ifdef HAVE_SQLITE
/* The daemon anew, with a history in a file of that path. */
static void begin_with_history(struct live *l, char *path, size_t size)
{
	char extra[160];

	snprintf(path, size, "%s/history", l->dir);
	snprintf(extra, sizeof(extra), "HistoryFile=%.140s\n", path);
	live_stop(l, SIGTERM);
	live_configure(l, extra);
	live_start(l);
}

static void test_the_history_is_asked_a_little_at_a_time(void **state)
{
	struct live *l = *state;
	char path[128];
	pid_t pid;

	begin_with_history(l, path, sizeof(path));
	assert_int_equal(kill(l->pid, SIGSTOP), 0);
	pid = live_fork_user();
	if (pid == 0) {
		int sock[10], refused = 0;
		struct gs_error err;
		struct gs_msg msg;

		for (int i = 0; i < 10; i++)
			sock[i] = live_ask(l, GS_MSG_HISTORY, 0);
		for (int i = 0; i < 10; i++)
			refused += gs_msg_recv(sock[i], &msg, GS_FROM_DAEMON, NULL, &err) == 1 &&
				   msg.header.type == GS_MSG_REFUSED &&
				   msg.refused.code == GS_REFUSED_NO_ROOM;
		_exit(!refused || refused == 10);
	}
	usleep(200000);
	assert_int_equal(kill(l->pid, SIGCONT), 0);
	assert_false(live_has_failed(pid));
	live_stop(l, SIGTERM);
	unlink(path);
}

/* The daemon's only child so far; 0: it has none. */
static pid_t history_helper(const struct live *l)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)l->pid, (int)l->pid);
	f = fopen(path, "r");
	assert_non_null(f);
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid;
}

static void test_one_who_is_many_users_leaves_the_history_to_others(void **state)
{
	struct live *l = *state;
	char path[128];
	struct gs_msg msg;
	pid_t helper;
	int asked;

	if (geteuid() != 0)
		skip();
	begin_with_history(l, path, sizeof(path));
	helper = history_helper(l);
	assert_true(helper > 0);
	assert_int_equal(kill(helper, SIGSTOP), 0);
	for (uid_t uid = LIVE_MANY_FIRST; uid < LIVE_MANY_FIRST + 40; uid++) {
		assert_int_equal(seteuid(uid), 0);
		live_ask(l, GS_MSG_HISTORY, 0);
		live_ask(l, GS_MSG_HISTORY, 0);
		assert_int_equal(seteuid(0), 0);
	}
	live_serves(l);
	asked = live_ask(l, GS_MSG_HISTORY, 0);
	live_serves(l);
	assert_int_equal(kill(helper, SIGCONT), 0);
	live_expect(asked, &msg, GS_MSG_TEXT, NULL);
	live_stop(l, SIGTERM);
	unlink(path);
}

/* The first question's answer must not come into the second one's. */
static void test_a_connection_has_one_question_at_a_time(void **state)
{
	struct live *l = *state;
	struct gs_msg msg;
	char path[128];
	pid_t helper;
	int sock;

	begin_with_history(l, path, sizeof(path));
	helper = history_helper(l);
	assert_true(helper > 0);
	for (int i = 0; i < 2; i++)
		live_announce(l, &(uint32_t) { 0 });
	assert_int_equal(kill(helper, SIGSTOP), 0);
	sock = live_ask(l, GS_MSG_HISTORY, 0);
	live_ask_again(sock, GS_MSG_QUERY, GS_QUERY_KERNELS);
	live_expect(sock, &msg, GS_MSG_REFUSED, NULL);
	assert_int_equal(msg.refused.code, GS_REFUSED_BAD_REQUEST);
	live_expect_closed(sock);
	assert_int_equal(kill(helper, SIGCONT), 0);
	live_serves(l);
	live_stop(l, SIGTERM);
	unlink(path);
}

/* Somebody asks the history, which does not answer, on the connection that owns a step. */
static int ask_as_owner(const struct live *l, pid_t helper)
{
	int own, before = live_ask(l, GS_MSG_HISTORY, 0);
	struct gs_msg msg;
	uint32_t job;

	live_expect(before, &msg, GS_MSG_TEXT, NULL); /* the file is made, and no journal is left */
	close(before);
	own = live_local(l, 20, UINT64_C(600) << 20, "low", &job);
	assert_true(helper > 0);
	assert_int_equal(kill(helper, SIGSTOP), 0);
	live_ask_again(own, GS_MSG_HISTORY, 0);
	live_serves(l); /* and has heard it */
	return own;
}

/* Each question is given up, and with it the connection and its step, which goes to no history. */
static void test_a_reload_ends_the_history_under_a_question(void **state)
{
	struct live *l = *state;
	char path[128];
	int own;

	begin_with_history(l, path, sizeof(path));
	sleep(6); /* another helper may be started from then on */
	own = ask_as_owner(l, history_helper(l));
	live_configure(l, "");
	assert_int_equal(kill(l->pid, SIGHUP), 0);
	live_await_log(l, "reloaded");
	live_expect_closed(own);
	live_serves(l);
	assert_int_equal(history_helper(l), 0);
	assert_int_equal(live_stop(l, SIGTERM), 0);
	unlink(path);
}

/* The step of the one who asks leaves its memory to another one, though all is being ended. */
static void test_gpushared_ends_under_a_question(void **state)
{
	struct live *l = *state;
	char path[128];
	int own, waits;
	uint32_t job;

	begin_with_history(l, path, sizeof(path));
	own = ask_as_owner(l, history_helper(l));
	waits = live_local(l, 20, UINT64_C(600) << 20, "low", &job);
	assert_int_equal(live_stop(l, SIGTERM), 0);
	assert_int_equal(live_logged(l, ": over: "), 1);
	live_expect_closed(own);
	live_expect_closed(waits);
	unlink(path);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_answers_that_nobody_reads_are_few),
		LIVE(test_who_reads_waits_for_a_daemon_that_is_late),
		LIVE(test_a_report_on_kernels_has_an_end),
#ifdef HAVE_SQLITE
		LIVE(test_the_history_is_asked_a_little_at_a_time),
		LIVE(test_one_who_is_many_users_leaves_the_history_to_others),
		LIVE(test_a_connection_has_one_question_at_a_time),
		LIVE(test_a_reload_ends_the_history_under_a_question),
		LIVE(test_gpushared_ends_under_a_question),
#endif
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
