/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attendants of a live gpushared: asked through the page, for ever, by nobody any more. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "live_util.h"

static unsigned threads(const struct live *l)
{
	char path[64], line[128];
	unsigned n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)l->pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (!n && fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %u", &n);
	fclose(f);
	return n;
}

static void await_threads(const struct live *l, unsigned n)
{
	for (int i = 0; i < 500 && threads(l) != n; i++)
		usleep(10000);
	assert_int_equal(threads(l), n);
}

/* A launch in stub 0, asked for through the page. */
static void ask_to_launch(struct gs_page *page, uint64_t seq)
{
	gs_page_store(page->stub[0].nt, 10);
	gs_page_store(page->stub[0].flags, GS_STUB_EVICTABLE);
	gs_page_store(page->stub[0].seq, seq);
	gs_page_store(page->used, 1);
	live_move(page, 0, GS_K_PREP, GS_K_READY);
	gs_page_ask(page);
}

static void test_asked_through_the_page(void **state)
{
	struct live *l = *state;
	struct gs_page *page[2];
	int own[2], sock[2];
	uint32_t job[2];

	assert_int_equal(threads(l), 1);
	for (int i = 0; i < 2; i++) {
		own[i] = live_local(l, 40, 0, i ? "high" : "low", &job[i]);
		sock[i] = live_hello(l, job[i], &page[i], NULL);
		assert_int_equal(gs_page_load(page[i]->attended), 1);
	}
	await_threads(l, 3);
	/* No message is sent: the page's word alone. */
	ask_to_launch(page[0], 0);
	live_await(page[0], 0, GS_K_TORUN);
	live_run_stub(page[0], 0);
	ask_to_launch(page[1], 0); /* above it */
	live_await(page[0], 0, GS_K_TOEVICT);
	live_move(page[0], 0, GS_K_TOEVICT, GS_K_READY);
	live_await(page[1], 0, GS_K_TORUN);
	live_run_stub(page[1], 0);
	live_end_stub(page[1], 0, GS_K_RUNNING);
	live_await(page[0], 0, GS_K_TORUN);
	for (int i = 0; i < 2; i++) {
		gs_page_unmap(page[i]);
		close(sock[i]);
		close(own[i]);
		await_threads(l, 2 - (unsigned)i);
	}
	live_serves(l);
}

/* It pays with its own processor's time; the others are heard. */
static void test_asking_without_end(void **state)
{
	struct live *l = *state;
	struct gs_page *page[2];
	int own[2], sock[2];
	uint32_t job[2];
	pid_t flood;

	for (int i = 0; i < 2; i++) {
		own[i] = live_local(l, 40, 0, "low", &job[i]);
		sock[i] = live_hello(l, job[i], &page[i], NULL);
	}
	flood = fork();
	assert_true(flood >= 0);
	if (flood == 0) {
		for (uint32_t i = 0;; i++) {
			gs_page_ask(page[0]);
			gs_page_store(page[0]->cpu, i % 5000); /* and there is no such processor */
		}
	}
	for (uint64_t seq = 0; seq < 20; seq++) {
		ask_to_launch(page[1], seq);
		live_await(page[1], 0, GS_K_TORUN);
		live_run_stub(page[1], 0);
		live_end_stub(page[1], 0, GS_K_RUNNING);
		live_move(page[1], 0, GS_K_DONE, GS_K_PREP);
	}
	live_serves(l);
	kill(flood, SIGKILL);
	waitpid(flood, NULL, 0);
	for (int i = 0; i < 2; i++) {
		gs_page_unmap(page[i]);
		close(sock[i]);
		close(own[i]);
	}
	await_threads(l, 1);
}

#define DEAF 100

/* Let the attendant sleep on another word, which nobody wakes it from. */
static void deafen(struct gs_page *page)
{
	for (int i = 0; i < 5000; i++) {
		if (syscall(SYS_futex, &page->asked, FUTEX_REQUEUE, 0, INT_MAX, &page->reserved[0], 0) == 1)
			return;
		usleep(1000);
	}
	fail_msg("nobody waits to be asked");
}

/* The page is shared for as long as the client likes, but no attendant outlives its peer for that. */
static void test_attendants_that_hear_nothing(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	unsigned most = 0;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock;

	for (int i = 0; i < DEAF; i++) {
		sock = live_hello(l, job, &page, NULL);
		if (gs_page_load(page->attended))
			deafen(page);
		close(sock);
		gs_page_unmap(page);
		most = threads(l) > most ? threads(l) : most;
	}
	assert_true(most < DEAF / 2); /* without one it sends BELL */
	await_threads(l, 1);
	sock = live_hello(l, job, &page, NULL);
	assert_int_equal(gs_page_load(page->attended), 1);
	close(sock);
	gs_page_unmap(page);
	close(own);
	await_threads(l, 1);
}

/* What an attendant finds and may not do itself, the loop does. */
static void test_a_page_that_cannot_be(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock = live_hello(l, job, &page, NULL);

	gs_page_store(page->stub[3].seq, 7);
	gs_page_store(page->stub[3].kstate, 77);
	gs_page_ask(page);
	live_expect_closed(sock);
	live_await_log(l, "its page holds the state 77");
	await_threads(l, 1);
	gs_page_unmap(page);
	close(own);
	live_serves(l);
}

static void test_stopping_with_attendants(void **state)
{
	struct live *l = *state;
	struct gs_page *page;
	uint32_t job;
	int own = live_local(l, 40, 0, "low", &job), sock = live_hello(l, job, &page, NULL), status;

	await_threads(l, 2);
	ask_to_launch(page, 0);
	live_await(page, 0, GS_K_TORUN);
	status = live_stop(l, SIGTERM);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	gs_page_ask(page); /* nobody is there */
	gs_page_unmap(page);
	close(sock);
	close(own);
	live_start(l);
	live_serves(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_asked_through_the_page, live_setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_asking_without_end, live_setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_attendants_that_hear_nothing, live_setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_a_page_that_cannot_be, live_setup, live_teardown),
		cmocka_unit_test_setup_teardown(test_stopping_with_attendants, live_setup, live_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
