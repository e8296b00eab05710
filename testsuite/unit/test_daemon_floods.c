/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A real gpushared and users who want too much of it: time, log, memory, answers. */
#define _GNU_SOURCE
#include <limits.h>
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

#define ASKS_TOO_MUCH ": its programs ask for more than a fifth of gpushared's time"

/* What waits_who_asks() is told about who asks. */
#define HAS_STEP 1
#define READS 2 /* and reads its answers; otherwise its connections are closed */

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
	assert_true(ns > 0); /* a kernel that does not count it says 0 */
	return ns;
}

/* Until the log has both lines, for a minute at most. On a busy machine the user may never exceed
 * its fifth of the loop's time; then the loop has had little, and there is nothing to be logged. */
static void waits_who_asks(const struct live *l, int who, const char *logged, const char *besides)
{
	uint64_t begun = gs_clock_ns(), spent = loop_ns(l), second, after;
	pid_t pid = live_fork_user();

	if (pid == 0) {
		if (who & HAS_STEP)
			live_local(l, 20, UINT64_C(1) << 20, "low", &(uint32_t) { 0 });
		live_ask_for_ever(l, who & READS);
	}
	while ((!live_logged(l, logged) || !live_logged(l, besides)) &&
	       gs_clock_ns() - begun < 60 * GS_NS_PER_S) {
		live_serves(l);
		usleep(10000);
	}
	second = gs_clock_ns();
	after = loop_ns(l);
	sleep(1);
	after = loop_ns(l) - after;
	second = gs_clock_ns() - second;
	kill(pid, SIGKILL);
	assert_true(live_has_failed(pid));
	assert_in_range(after, 0, second / 2); /* a fifth, and what is nobody's */
	if (!live_logged(l, besides))
		print_message("not a single time did the log have '%s'\n", besides);
	/* A quarter: not all of it is the user's. */
	assert_true(live_logged(l, logged) > 0 || loop_ns(l) - spent < (gs_clock_ns() - begun) / 4);
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

#define MANY 30

/* A user number of its own, with a step, asks what takes long until somebody ends it. */
static pid_t fork_one_of_many(const struct live *l, unsigned i, uint32_t job)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid != 0)
		return pid;
	if (setuid(LIVE_MANY_FIRST + i) < 0)
		_exit(1);
	live_local(l, 1, UINT64_C(1) << 20, "low", &(uint32_t) { 0 });
	for (;;)
		free(live_query(l, GS_QUERY_KERNELS, job));
}

/* However many users have a step and ask without end: root, who registers steps, is answered. */
static void test_many_users_leave_the_loop_to_root(void **state)
{
	struct live *l = *state;
	uint64_t spent, begun, answered = 0;
	pid_t pid[MANY];
	uint32_t job;

	if (geteuid() != 0)
		skip();
	live_announce(l, &job);
	for (unsigned i = 0; i < MANY; i++)
		pid[i] = fork_one_of_many(l, i, job);
	sleep(2);
	spent = loop_ns(l);
	begun = gs_clock_ns();
	for (int i = 0; i < 20; i++) {
		uint64_t asked = gs_clock_ns();

		live_serves(l);
		answered += gs_clock_ns() - asked;
		usleep(100000);
	}
	spent = loop_ns(l) - spent;
	begun = gs_clock_ns() - begun;
	for (unsigned i = 0; i < MANY; i++) {
		kill(pid[i], SIGKILL);
		assert_true(live_has_failed(pid[i]));
	}
	/* One answer to each of them takes a second. */
	assert_true(answered / 20 < 400 * GS_NS_PER_MS);
	assert_in_range(spent, 0, begun / 10 * 9);
}

/* Who connects and closes without end has some of the loop's time, and all others are answered. */
static void test_connecting_without_end_takes_little_time(void **state)
{
	struct live *l = *state;
	uint64_t spent, begun;
	pid_t pid = live_fork_user();

	if (pid == 0)
		for (;;)
			close(live_connect(l));
	sleep(1);
	spent = loop_ns(l);
	begun = gs_clock_ns();
	for (int i = 0; i < 40; i++) {
		live_serves(l);
		usleep(50000);
	}
	spent = loop_ns(l) - spent;
	begun = gs_clock_ns() - begun;
	kill(pid, SIGKILL);
	assert_true(live_has_failed(pid));
	assert_in_range(begun, 0, 6 * GS_NS_PER_S);
	assert_in_range(spent, 0, begun / 2);
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
		live_announce(l, &job);
	live_local(l, 1, UINT64_C(1) << 20, "low", &other);
	least = questions_s(l, GS_QUERY_REPORT, other);
	assert_true(questions_s(l, GS_QUERY_KERNELS, other) < 4 * least);
	assert_true(questions_s(l, GS_QUERY_KERNELS, 1) < 4 * least);
}

/* Clients of one step, whose launches all wait, and who ask the arbiter to look at each of them
 * without end. */
static void ring_for_ever(const struct live *l)
{
	enum { CLIENTS = 60 };
	int sock[CLIENTS];
	struct gs_msg msg;
	uint32_t job;

	live_local(l, 1, UINT64_C(1) << 20, "low", &job);
	for (int i = 0; i < CLIENTS; i++) {
		struct gs_page *page;

		sock[i] = live_hello(l, job, &page, NULL);
		for (unsigned k = 0; k < GS_PAGE_SLOTS; k++)
			gs_page_store(page->slot[k].state, GS_K_READY);
		gs_page_store(page->used, GS_PAGE_SLOTS);
	}
	gs_msg_init(&msg, GS_MSG_DOORBELL, 0);
	for (;;)
		for (int i = 0; i < CLIENTS; i++)
			if (gs_msg_send(sock[i], &msg, -1) < 0)
				_exit(1);
}

/* A step of the arbiter's takes the longer the more clients there are, so it counts as the time of
 * the user who makes it necessary. */
static void test_who_rings_without_end_waits(void **state)
{
	struct live *l = *state;
	uint64_t begun;
	double before;
	pid_t pid = live_fork_user();

	if (pid == 0)
		ring_for_ever(l);
	/* On a busy machine it may never exceed its fifth. */
	for (int i = 0; i < 500 && !live_logged(l, ASKS_TOO_MUCH); i++)
		usleep(20000);
	begun = gs_clock_ns();
	before = arbiter_s(l);
	sleep(2);
	before = arbiter_s(l) - before;
	begun = gs_clock_ns() - begun;
	kill(pid, SIGKILL);
	assert_true(live_has_failed(pid));
	/* Its fifth, and what the arbiter does by itself for clients that wait: up to half of a
	 * processor under the sanitizers. Without a limit it takes more than nine tenths. */
	assert_true(before * GS_NS_PER_S < (double)begun * 0.7);
	live_serves(l);
}

/* The answers to WHERE have the driver's descriptor. */
static void ask_for_the_driver(int sock)
{
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_WHERE, 1);
	msg.where.driver = 1;
	live_send(sock, &msg, -1);
}

/* The daemon begins anew with a driver whose file it can pass. */
static void knows_the_driver(struct live *l)
{
	char driver[PATH_MAX], shim[PATH_MAX], extra[2 * PATH_MAX + 32];

	if (!realpath("src/device/emu/.libs/libcuda.so.1", driver) ||
	    !realpath("src/device/shim/.libs", shim))
		skip();
	live_stop(l, SIGTERM);
	snprintf(extra, sizeof(extra), "Driver=%s\nShimDir=%s\n", driver, shim);
	live_configure(l, extra);
	live_start(l);
}

/* Asks, does not read the answer, and sends what is taken for its end. Was there an answer? */
static int is_answered(const struct live *l)
{
	struct pollfd p = { .fd = live_connect(l), .events = POLLIN };
	struct gs_msg msg;
	char c;

	gs_msg_init(&msg, GS_MSG_WHERE, 1);
	msg.where.driver = 1;
	if (gs_msg_send(p.fd, &msg, -1) < 0 || poll(&p, 1, 20000) != 1 ||
	    recv(p.fd, &c, 1, MSG_PEEK) != 1)
		return 0;
	send(p.fd, "", 0, MSG_NOSIGNAL);
	p.events = POLLRDHUP;
	return poll(&p, 1, 20000) == 1;
}

/* Descriptors that nobody reads are counted to gpushared's user: with enough of them it could pass
 * none to anybody. */
static void test_descriptors_are_read_before_there_are_more(void **state)
{
	struct live *l = *state;
	pid_t pid;

	knows_the_driver(l);
	for (int again = 0; again < 2; again++) {
		pid = live_fork_user();
		if (pid == 0) {
			int n = 1, sock;

			for (int i = 0; i < 400 && !is_answered(l); i++)
				usleep(50000); /* the one before has just ended */
			/* On one connection there is one... */
			sock = live_connect(l);
			ask_for_the_driver(sock);
			ask_for_the_driver(sock);
			/* ...and a user has so many connections, with those that are closed. */
			for (int i = 0; i < 200; i++)
				n += is_answered(l);
			_exit(n < 100 || n > 128);
		}
		/* All of them are gone with the process. */
		assert_false(live_has_failed(pid));
		if (!again)
			live_await_log(l, "before it has read its answers: closed");
		live_serves(l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(test_who_asks_without_end_waits),
		LIVE(test_who_asks_and_never_reads_waits),
		LIVE(test_who_has_no_step_waits_for_all_others_without),
		LIVE(test_many_users_leave_the_loop_to_root),
		LIVE(test_connecting_without_end_takes_little_time),
		LIVE(test_the_log_grows_by_so_much),
		LIVE(test_questions_about_other_jobs_keep_no_arbiter_busy),
		LIVE(test_who_rings_without_end_waits),
		LIVE(test_descriptors_are_read_before_there_are_more),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
