/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps that say a period or a deadline, at a real gpushared: what is taken, kept and reported. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "live_util.h"

#define MS GS_NS_PER_MS

/* PERIODIC on a connection of its own, or on that one; the answer's type. */
static unsigned tell_period(int sock, uint64_t period_ns, uint64_t deadline_ns)
{
	struct gs_error err;
	struct gs_msg msg;

	gs_msg_init(&msg, GS_MSG_PERIODIC, 1);
	msg.periodic.period_ns = period_ns;
	msg.periodic.deadline_ns = deadline_ns;
	live_send(sock, &msg, -1);
	assert_int_equal(gs_msg_recv(sock, &msg, GS_FROM_DAEMON, NULL, &err), 1);
	return msg.header.type;
}

static void periods_are_bounded(void **state)
{
	static const struct {
		uint64_t period, deadline;
		enum gs_msg_type answer;
	} told[] = { { 20 * GS_NS_PER_MS, 0, GS_MSG_OK },
		     { 20 * GS_NS_PER_MS, 30 * GS_NS_PER_MS, GS_MSG_OK },
		     { 0, 5 * GS_NS_PER_MS, GS_MSG_OK },
		     { 0, 0, GS_MSG_OK },
		     { 99999, 0, GS_MSG_REFUSED },
		     { 20 * GS_NS_PER_MS, 99999, GS_MSG_REFUSED },
		     { 86401 * GS_NS_PER_S, 0, GS_MSG_REFUSED },
		     { 0, UINT64_MAX, GS_MSG_REFUSED } };
	struct live *l = *state;
	struct gs_msg msg;

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		int sock = live_connect(l);

		assert_int_equal(tell_period(sock, told[i].period, told[i].deadline),
				 told[i].answer);
		if (told[i].answer == GS_MSG_REFUSED) {
			live_expect_closed(sock);
			continue;
		}
		gs_msg_init(&msg, GS_MSG_LOCAL, 1);
		msg.local.shares = 1;
		live_send(sock, &msg, -1);
		live_expect(sock, &msg, GS_MSG_REGISTERED, NULL);
		/* Too late now: it says so. */
		assert_int_equal(tell_period(sock, 20 * GS_NS_PER_MS, 0), GS_MSG_REFUSED);
		live_expect_closed(sock);
	}
	live_serves(l);
}

/* A LOCAL step with that deadline, every 20 ms; its connection. */
static int own_step(const struct live *l, uint64_t deadline_ns, uint32_t *job)
{
	int sock = live_connect(l);
	struct gs_msg msg;

	if (deadline_ns)
		assert_int_equal(tell_period(sock, 20 * MS, deadline_ns), GS_MSG_OK);
	gs_msg_init(&msg, GS_MSG_LOCAL, 1);
	msg.local.shares = 20;
	live_send(sock, &msg, -1);
	live_expect(sock, &msg, GS_MSG_REGISTERED, NULL);
	*job = msg.registered.job_id;
	return sock;
}

static void await_bursts(const struct live *l, uint32_t job, double bursts)
{
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;

	while (live_figure(l, job, "bursts") < bursts && gs_clock_ns() < until)
		usleep(5000);
	assert_true(live_figure(l, job, "bursts") == bursts);
}

static void missed_deadlines_are_told(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	uint32_t job, other;
	char *metrics;
	int own = own_step(l, 5 * MS, &job), plain = own_step(l, 0, &other);
	int sock = live_hello(l, job, &page, NULL);

	assert_true(live_figure(l, job, "period_ms") == 20);
	assert_true(live_figure(l, job, "deadline_ms") == 5);
	live_launch(sock, page, 0, 0);
	live_await(page, 0, GS_K_TORUN);
	live_run_slot(page, 0);
	usleep(30000);
	live_end_slot(page, 0, GS_K_RUNNING);
	await_bursts(l, job, 1);
	assert_true(live_figure(l, job, "missed") == 1);
	assert_true(live_figure(l, job, "response_p50_ms") >= 30);
	assert_true(live_figure(l, job, "tardiness_max_ms") >= 25);
	live_await_log(l, "missed 1 deadlines; in all 1 of 1 bursts");
	metrics = live_query(l, GS_QUERY_METRICS, 0);
	assert_non_null(strstr(metrics, "\ngpushare_step_deadlines_missed_total{job="));
	assert_null(strstr(strstr(metrics, "\ngpushare_step_deadlines_missed_total{job=") + 1,
			   "\ngpushare_step_deadlines_missed_total{job="));
	free(metrics);
	gs_page_unmap(page);
	close(sock);
	close(own);
	close(plain);
}

static void a_period_outlives_the_daemon(void **state)
{
	struct live *l = *state;
	uint32_t job;
	int own = own_step(l, 5 * MS, &job);

	live_stop(l, SIGKILL);
	live_start(l);
	assert_true(live_figure(l, job, "period_ms") == 20);
	assert_true(live_figure(l, job, "deadline_ms") == 5);
	close(own);
}

static void the_deadline_goes_first(void **state)
{
	struct live *l = *state;
	struct gs_page *none, *due;
	uint32_t job_none, job_due;
	int own_none, own_due, sock_none, sock_due;

	live_stop(l, SIGTERM);
	live_configure(l, "Policy=edf\n");
	live_start(l);
	own_none = own_step(l, 0, &job_none);
	own_due = own_step(l, 5 * MS, &job_due);
	sock_none = live_hello(l, job_none, &none, NULL);
	sock_due = live_hello(l, job_due, &due, NULL);
	live_launch(sock_none, none, 0, 0);
	live_await(none, 0, GS_K_TORUN);
	live_run_slot(none, 0);
	live_launch(sock_due, due, 0, 0);
	live_await(none, 0, GS_K_TOEVICT);
	live_move(none, 0, GS_K_TOEVICT, GS_K_READY);
	live_await(due, 0, GS_K_TORUN);
	live_run_slot(due, 0);
	live_end_slot(due, 0, GS_K_RUNNING);
	live_await(none, 0, GS_K_TORUN);
	gs_page_unmap(none);
	gs_page_unmap(due);
	close(sock_none);
	close(sock_due);
	close(own_none);
	close(own_due);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(periods_are_bounded),
		LIVE(missed_deadlines_are_told),
		LIVE(a_period_outlives_the_daemon),
		LIVE(the_deadline_goes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
