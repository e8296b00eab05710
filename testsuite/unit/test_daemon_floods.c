/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared and users who want too much of it: time, log, memory, answers. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/clock.h"
#include "config.h"
#include "live_util.h"

#define KERNELS 4096
#define ASKS_TOO_MUCH ": its programs ask for more than a fifth of gpushared's time"

/* What waits_who_asks() is told about who asks. */
#define HAS_STEP 1
#define READS 2 /* its answers, so that its connections stay open */

/* Ask on many connections until somebody ends it. */
static void ask_for_ever(const struct live *l, int reads)
{
	int sock[100];
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_WHERE, 1);
	for (int i = 0; i < 100; i++)
		sock[i] = live_connect(l);
	for (;;)
		for (int i = 0; i < 100; i++) {
			char answer[4096];

			while (reads && recv(sock[i], answer, sizeof(answer), MSG_DONTWAIT) > 0)
				;
			for (int j = 0; j < 32; j++)
				if (send(sock[i], &msg, sizeof(msg.header) + msg.header.length,
					 MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
				    errno == EPIPE) {
					/* closed, as its answers were not read in time */
					close(sock[i]);
					sock[i] = live_connect(l);
				}
		}
}

/* How long the daemon's event loop, its first thread, has been on a processor, ns. */
static uint64_t loop_ns(const struct live *l)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)l->pid, (int)l->pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llu", &ns), 1);
	fclose(f);
	return ns;
}

/* Until the log has both lines, for a minute at most. On a busy machine nobody may get so far as to
 * be over a fifth of the loop's time; then the loop has had less than that, and there is nothing to
 * be logged. */
static void waits_who_asks(const struct live *l, int who, const char *logged, const char *besides)
{
	uint64_t begun = gs_clock_ns(), spent = loop_ns(l), after;
	pid_t pid = live_fork_user();

	if (pid == 0) {
		if (who & HAS_STEP)
			live_local(l, 20, UINT64_C(1) << 20, "low", &(uint32_t) { 0 });
		ask_for_ever(l, who & READS);
	}
	while ((!live_logged(l, logged) || !live_logged(l, besides)) &&
	       gs_clock_ns() - begun < 60 * GS_NS_PER_S) {
		live_serves(l);
		usleep(10000);
	}
	after = loop_ns(l);
	sleep(1);
	after = loop_ns(l) - after;
	kill(pid, SIGKILL);
	assert_true(live_has_failed(pid));
	assert_in_range(after, 0, GS_NS_PER_S / 2); /* a fifth, and what is nobody's */
	assert_true(live_logged(l, logged) > 0 || loop_ns(l) - spent < (gs_clock_ns() - begun) / 5);
}

static void test_who_asks_without_end_waits(void **state)
{
	waits_who_asks(*state, HAS_STEP | READS, ASKS_TOO_MUCH, "");
}

/* Its many closed connections, each with a line, do not keep that one line out of the log. */
static void test_who_asks_and_never_reads_waits(void **state)
{
	waits_who_asks(*state, HAS_STEP, ASKS_TOO_MUCH, "more complaints about clients");
}

/* However many users they are. */
static void test_who_has_no_step_waits_for_all_others_without(void **state)
{
	waits_who_asks(*state, READS, "users who have no step here ask for more than a fifth", "");
}

/* Programs that come and go are not to fill the disk. */
static void test_the_log_grows_by_so_much(void **state)
{
	struct live *l = *state;
	pid_t pid = live_fork_user();

	if (pid == 0) {
		struct gs_page *page;
		uint32_t job;

		live_local(l, 20, UINT64_C(1) << 20, "low", &job);
		for (int i = 0; i < 4000; i++) {
			int sock = live_hello(l, job, &page, NULL);

			gs_page_unmap(page);
			close(sock);
		}
		_exit(0);
	}
	assert_false(live_has_failed(pid));
	assert_in_range(live_logged(l, " on gpu 0, "), 2400, 3500);
}

/* A client that announces as many kernels as it may. */
static int announce(const struct live *l, uint32_t *job)
{
	struct gs_page *page;
	struct gs_msg msg;
	int sock;

	live_local(l, 20, UINT64_C(1) << 20, "low", job);
	sock = live_hello(l, *job, &page, NULL);
	for (uint32_t i = 0; i < KERNELS; i++) {
		gs_msg_init(&msg, GS_MSG_KERNEL, 0);
		msg.kernel.number = i;
		snprintf(msg.kernel.name, sizeof(msg.kernel.name), "%0100u", i);
		live_send(sock, &msg, -1);
	}
	live_alloc(sock, 0); /* all are heard */
	return sock;
}

static int ask_kernels(const struct live *l)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_QUERY, 1);
	msg.query.what = GS_QUERY_KERNELS;
	live_send(sock, &msg, -1);
	return sock;
}

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
	announce(l, &(uint32_t) { 0 });
	for (int i = 0; i < 20; i++)
		sock[i] = ask_kernels(l);
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

/* It is closed for those who take nothing of an answer for five seconds, but not if the daemon
 * itself has done nothing meanwhile. */
static void test_who_reads_waits_for_a_daemon_that_is_late(void **state)
{
	struct live *l = *state;
	int sock;

	for (int i = 0; i < 2; i++)
		announce(l, &(uint32_t) { 0 });
	sock = ask_kernels(l);
	assert_int_equal(poll(&(struct pollfd) { .fd = sock, .events = POLLIN }, 1, 20000), 1);
	usleep(200000); /* the socket is full, and the daemon waits until it is not */
	assert_int_equal(kill(l->pid, SIGSTOP), 0);
	assert_false(read_text(sock, 0));
	sleep(6);
	assert_int_equal(kill(l->pid, SIGCONT), 0);
	assert_true(read_text(sock, 20000));
	close(sock);
}

/* The processor time that GPU 0's arbiter has had, s. */
static double arbiter_s(const struct live *l)
{
	char *text = live_query(l, GS_QUERY_STATUS, 0);
	json_t *all = json_loads(text, 0, NULL), *gpu;
	double s;

	gpu = json_array_get(json_object_get(all, "gpus"), 0);
	s = json_number_value(json_object_get(gpu, "arbiter_cpu_s"));
	json_decref(all);
	free(text);
	return s;
}

/* What so many questions about a job take of it. */
static double questions_s(const struct live *l, enum gs_query what, uint32_t job)
{
	double before = arbiter_s(l);

	for (int i = 0; i < 200; i++)
		free(live_query(l, what, job));
	return arbiter_s(l) - before;
}

/* The arbiter, which serves everybody, copies no kernels that nobody has asked for: it has no more
 * to do than for a report, which has none. */
static void test_questions_about_other_jobs_keep_no_arbiter_busy(void **state)
{
	struct live *l = *state;
	uint32_t job, other;
	double least;

	for (int i = 0; i < 4; i++)
		announce(l, &job);
	live_local(l, 1, UINT64_C(1) << 20, "low", &other);
	least = questions_s(l, GS_QUERY_REPORT, other);
	assert_true(questions_s(l, GS_QUERY_KERNELS, other) < 4 * least);
	assert_true(questions_s(l, GS_QUERY_KERNELS, 1) < 4 * least);
}

static void test_a_report_on_kernels_has_an_end(void **state)
{
	struct live *l = *state;
	uint32_t job;
	size_t rows;
	json_t *all;
	char *text;

	for (int i = 0; i < 3; i++)
		announce(l, &job);
	text = live_query(l, GS_QUERY_KERNELS, job);
	all = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(all, "kernels")), KERNELS);
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
static void test_the_history_is_asked_a_little_at_a_time(void **state)
{
	struct live *l = *state;
	char path[128], extra[160];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/history", l->dir);
	snprintf(extra, sizeof(extra), "HistoryFile=%s\n", path);
	live_stop(l, SIGTERM);
	live_configure(l, extra);
	live_start(l);
	assert_int_equal(kill(l->pid, SIGSTOP), 0);
	pid = live_fork_user();
	if (pid == 0) {
		int sock[10], refused = 0;
		struct gs_error err;
		struct gs_msg msg;

		for (int i = 0; i < 10; i++) {
			sock[i] = live_connect(l);
			gs_msg_init(&msg, GS_MSG_HISTORY, 1);
			live_send(sock[i], &msg, -1);
		}
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

static int ask_history(const struct live *l)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_HISTORY, 1);
	live_send(sock, &msg, -1);
	return sock;
}

/* The daemon's only child so far. */
static pid_t history_helper(const struct live *l)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)l->pid, (int)l->pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	fclose(f);
	return pid;
}

static void test_one_who_is_many_users_leaves_the_history_to_others(void **state)
{
	struct live *l = *state;
	char path[128], extra[160];
	struct gs_msg msg;
	pid_t helper;
	int asked;

	if (geteuid() != 0)
		skip();
	snprintf(path, sizeof(path), "%s/history", l->dir);
	snprintf(extra, sizeof(extra), "HistoryFile=%s\n", path);
	live_stop(l, SIGTERM);
	live_configure(l, extra);
	live_start(l);
	helper = history_helper(l);
	assert_int_equal(kill(helper, SIGSTOP), 0);
	for (uid_t uid = LIVE_MANY_FIRST; uid < LIVE_MANY_FIRST + 40; uid++) {
		assert_int_equal(seteuid(uid), 0);
		ask_history(l);
		ask_history(l);
		assert_int_equal(seteuid(0), 0);
	}
	live_serves(l);
	asked = ask_history(l);
	live_serves(l);
	assert_int_equal(kill(helper, SIGCONT), 0);
	live_expect(asked, &msg, GS_MSG_TEXT, NULL);
	live_stop(l, SIGTERM);
	unlink(path);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_who_asks_without_end_waits),
		LIVE(test_who_asks_and_never_reads_waits),
		LIVE(test_who_has_no_step_waits_for_all_others_without),
		LIVE(test_the_log_grows_by_so_much),
		LIVE(test_answers_that_nobody_reads_are_few),
		LIVE(test_who_reads_waits_for_a_daemon_that_is_late),
		LIVE(test_questions_about_other_jobs_keep_no_arbiter_busy),
		LIVE(test_a_report_on_kernels_has_an_end),
#ifdef HAVE_SQLITE
		LIVE(test_the_history_is_asked_a_little_at_a_time),
		LIVE(test_one_who_is_many_users_leaves_the_history_to_others),
#endif
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
