/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's end of the helper that keeps the history, with a helper that answers each question
 * with the same words, or with more than an answer may have. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <event2/event.h>

#include "common/clock.h"
#include "config.h"
#include "gpushare/config/config.h"
#include "gpushare/daemon/history/history.h"
#include "unreadable.h"

static char path[] = "/some/history";
static struct gs_config config = { .history_file = path };
static struct gs_daemon d;
static uint32_t answered;
static char words[16];

/* Questions of this job have an answer of 129 MiB. */
#define ENDLESS 7

static int endless(int sock, const struct gs_history_answer *last)
{
	struct gs_history_answer a = *last;

	a.more = 1;
	a.length = sizeof(a.text);
	memset(a.text, 'x', sizeof(a.text));
	for (size_t sent = 0; sent < (size_t)129 << 20; sent += sizeof(a.text))
		if (send(sock, &a, sizeof(a), 0) < 0)
			return -1;
	return 0;
}

void gs_history_helper(int sock, const char *file)
{
	struct gs_history_request r;

	while (recv(sock, &r, sizeof(r), 0) == sizeof(r)) {
		struct gs_history_answer a = { .ticket = r.ticket, .failed = strcmp(file, path) };

		a.length = (uint32_t)snprintf(a.text, sizeof(a.text), "the past");
		if (r.kind == GS_HISTORY_QUERY && r.query.job_id == ENDLESS &&
		    endless(sock, &a) < 0)
			return;
		if (r.kind == GS_HISTORY_QUERY && send(sock, &a, sizeof(a), 0) < 0)
			return;
	}
}

static void on_answered(struct gs_daemon *daemon, uint32_t ticket, char *bytes, size_t size)
{
	assert_ptr_equal(daemon, &d);
	answered = ticket;
	snprintf(words, sizeof(words), "%.*s", (int)size, bytes ? bytes : "");
	free(bytes);
}

static int setup(void **state)
{
	(void)state;
	memset(&d, 0, sizeof(d));
	d.config = &config;
	d.base = event_base_new();
	answered = 0;
	gs_history_listen(on_answered);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unreadable = 0;
	gs_history_destroy(d.history);
	event_base_free(d.base);
	/* No helper is left behind, not even a dead one. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	return 0;
}

static void create(void)
{
	d.history = gs_history_create(&d);
#ifndef HAVE_SQLITE
	skip();
#endif
	assert_non_null(d.history);
}

static void ask(uint32_t job)
{
	const struct gs_msg_history query = { .json = 1, .job_id = job };
	uint64_t until = gs_clock_ns() + 40 * GS_NS_PER_S;
	uint32_t ticket = gs_history_query(d.history, &query, NULL, 0);

	assert_true(ticket);
	while (answered != ticket && gs_clock_ns() < until)
		event_base_loop(d.base, EVLOOP_ONCE);
	assert_int_equal(answered, ticket);
}

static void test_a_question_is_answered(void **state)
{
	(void)state;
	create();
	ask(0);
	assert_string_equal(words, "the past");
}

/* Its end is not taken for all of it, and the next one is answered. */
static void test_an_answer_that_is_too_long_is_none(void **state)
{
	(void)state;
	create();
	ask(ENDLESS);
	assert_string_equal(words, "");
	ask(0);
	assert_string_equal(words, "the past");
}

/* Whoever asked it would wait for ever. */
static void test_a_helper_that_cannot_be_read_is_none(void **state)
{
	const struct gs_msg_history query = { .json = 1 };

	(void)state;
	unreadable = 1;
	create();
	assert_int_equal(gs_history_query(d.history, &query, NULL, 0), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_question_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_answer_that_is_too_long_is_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_helper_that_cannot_be_read_is_none, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
