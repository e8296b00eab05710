/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's end of the helper that keeps the history, with a helper that answers each question
 * with the same words. */
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

void gs_history_helper(int sock, const char *file)
{
	struct gs_history_request r;

	while (recv(sock, &r, sizeof(r), 0) == sizeof(r)) {
		struct gs_history_answer a = { .ticket = r.ticket, .failed = strcmp(file, path) };

		a.length = (uint32_t)snprintf(a.text, sizeof(a.text), "the past");
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

static void test_a_question_is_answered(void **state)
{
	const struct gs_msg_history query = { .json = 1 };
	uint64_t until = gs_clock_ns() + 20 * GS_NS_PER_S;
	uint32_t ticket;

	(void)state;
	create();
	ticket = gs_history_query(d.history, &query, NULL, 0);
	assert_true(ticket);
	while (!answered && gs_clock_ns() < until)
		event_base_loop(d.base, EVLOOP_ONCE);
	assert_int_equal(answered, ticket);
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
		cmocka_unit_test_setup_teardown(test_a_helper_that_cannot_be_read_is_none, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
