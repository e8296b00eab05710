/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arbiter's thread with fake clients: no request is lost, calls are carried out, and when it
 * may poll. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu_rig.h"
#include "gpushare/daemon/base/users.h"
#include "gpushare/daemon/gpu/arbiter.h"
#include "gpushare/arbiter/account.h"
#include "gpushare/arbiter/gpu_core.h"

/* ---- when it polls ------------------------------------------------------- */

static void test_where_polling_is_allowed(void **unused)
{
	static const struct {
		enum gs_arbiter_mode mode;
		struct gs_arbiter_place place;
		int may;
	} is[] = {
		{ GS_ARBITER_AUTO, { .cpu = -1, .processors = 8, .load = 3 }, 1 },
		{ GS_ARBITER_AUTO, { .cpu = -1, .processors = 7, .load = 0 }, 0 },
		{ GS_ARBITER_AUTO, { .cpu = -1, .processors = 64, .load = 0, .emulated = 1 }, 0 },
		/* The jobs have all processors but one, then all. */
		{ GS_ARBITER_AUTO, { .cpu = -1, .processors = 64, .load = 63 }, 1 },
		{ GS_ARBITER_AUTO, { .cpu = -1, .processors = 64, .load = 63.5 }, 0 },
		/* One of its own. */
		{ GS_ARBITER_AUTO, { .cpu = 63, .processors = 64, .load = 64 }, 1 },
		{ GS_ARBITER_AUTO, { .cpu = 1, .processors = 2, .load = 0 }, 0 },
		{ GS_ARBITER_POLL, { .cpu = -1, .processors = 2, .load = 5, .emulated = 1 }, 1 },
		{ GS_ARBITER_SLEEP, { .cpu = 63, .processors = 64 }, 0 },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++)
		assert_int_equal(gs_arbiter_may_poll(is[i].mode, &is[i].place), is[i].may);
}

static void test_when_polling_is_wanted(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	assert_false(gs_gpu_wants_polling(gpu, now));
	a = join(1, 1);
	b = join(2, 5);
	assert_false(gs_gpu_wants_polling(gpu, now));
	occupy(a, 100);
	grant(1 * MS);
	assert_false(gs_gpu_wants_polling(gpu, now)); /* alone */
	launch(b, 0, 100, 1);
	grant(0);
	assert_true(gs_gpu_wants_polling(gpu, now)); /* it waits */
	evicted(a, 0, 10);
	grant(5 * US);
	agent(b);
	grant(5 * US);
	assert_true(gs_gpu_wants_polling(gpu, now)); /* the other one does */
	finish(b, 0);
	go(b, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	grant(1 * MS);
	agent(a);
	grant(1 * MS);
	assert_true(has_turn(a));
	assert_true(gs_gpu_wants_polling(gpu, now)); /* it may come again at any moment */
	grant(11 * MS);
	assert_false(gs_gpu_wants_polling(gpu, now));
	all_leave(a, b);
}

/* ---- the thread ---------------------------------------------------------- */

static struct gs_arbiter *arbiter;
static int news;

static void start(enum gs_arbiter_mode mode)
{
	struct gs_gpu_options o = options_of("rr");
	struct gs_arbiter_options ao = { .mode = mode, .cpu = -1, .emulated = 1 };
	struct gs_error err;

	o.clock = gs_clock_ns;
	gpu = gs_gpu_create(0, &o, gs_clock_ns(), &err);
	assert_non_null(gpu);
	news = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ao.news_fd = news;
	arbiter = gs_arbiter_create(gpu, &ao);
	assert_non_null(arbiter);
	now = gs_clock_ns();
}

static void end(struct client **c, size_t n)
{
	gs_arbiter_stop(arbiter);
	for (size_t i = 0; i < n; i++)
		leave(c[i]);
	gs_arbiter_destroy(arbiter);
	close(news);
}

static void count(struct gs_gpu *g, void *arg)
{
	assert_ptr_equal(g, gpu);
	++*(unsigned *)arg;
}

static void test_calls_are_carried_out(void **unused)
{
	struct gs_error err;
	unsigned calls = 0;

	(void)unused;
	start(GS_ARBITER_SLEEP);
	gs_arbiter_call(arbiter, count, &calls); /* without a thread, here */
	assert_int_equal(calls, 1);
	assert_int_equal(gs_arbiter_start(arbiter, &err), 0);
	for (unsigned i = 0; i < 2000; i++) {
		gs_arbiter_call(arbiter, count, &calls);
		assert_int_equal(calls, i + 2);
	}
	gs_arbiter_stop(arbiter);
	gs_arbiter_call(arbiter, count, &calls);
	assert_int_equal(calls, 2002);
	end(NULL, 0);
}

#define BUSY_NS (50 * GS_NS_PER_MS)

static void be_busy(struct gs_gpu *g, void *unused)
{
	(void)g;
	(void)unused;
	while (gs_thread_clock_ns() < BUSY_NS)
		;
}

/* Whose message it is pays for what the arbiter does for it. */
static void test_calls_are_counted_as_the_loops_time(void **unused)
{
	struct gs_error err;
	uint64_t begun;

	(void)unused;
	start(GS_ARBITER_SLEEP);
	assert_int_equal(gs_arbiter_start(arbiter, &err), 0);
	begun = gs_user_clock_ns();
	gs_arbiter_call(arbiter, be_busy, NULL); /* its thread has just begun */
	assert_true(gs_user_clock_ns() - begun >= BUSY_NS / 2);
	end(NULL, 0);
}

#define ASKERS 3
#define REQUESTS 300
#define PATIENCE_NS (20 * GS_NS_PER_S)

/* A client of the thread's: it asks for each launch, and runs it for as long as it is allowed to.
 */
static void *play(void *arg)
{
	struct client *c = arg;

	for (unsigned i = 0; i < REQUESTS; i++) {
		uint64_t until = gs_clock_ns() + PATIENCE_NS;

		prepare(c, 0, 10, 1);
		gs_page_store(c->page->slot[0].leave_ns, 10 * US);
		go(c, 0, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
		gs_page_request(c->page);
		while (state(c, 0) != GS_K_DONE) {
			if (gs_clock_ns() > until)
				return "a request was lost";
			gs_page_store(c->page->heard, gs_page_load(c->page->doorbell));
			if (gs_slot_move(&c->page->slot[0], GS_K_TORUN, GS_K_RUNNING))
				gs_page_store(c->page->slot[0].started, 1);
			else if (gs_slot_move(&c->page->slot[0], GS_K_TOEVICT, GS_K_READY))
				gs_page_request(c->page);
			else if (state(c, 0) == GS_K_RUNNING)
				gs_slot_move(&c->page->slot[0], GS_K_RUNNING, GS_K_DONE);
			if (i % 3 == 0)
				usleep(20);
		}
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		if (i % 16 == 0)
			usleep(i % 64 ? 100 : 12000); /* that it goes to sleep in between */
	}
	return NULL;
}

/* Whoever asks while the arbiter goes to sleep is heard. */
static void no_request_is_lost(enum gs_arbiter_mode mode)
{
	struct client *c[ASKERS];
	pthread_t thread[ASKERS];
	struct gs_error err;

	start(mode);
	for (unsigned i = 0; i < ASKERS; i++)
		c[i] = join(i + 1, 1);
	assert_int_equal(gs_arbiter_start(arbiter, &err), 0);
	for (unsigned i = 0; i < ASKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, play, c[i]), 0);
	for (unsigned i = 0; i < ASKERS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(thread[i], &wrong), 0);
		assert_null(wrong);
	}
	gs_arbiter_stop(arbiter);
	grant(gs_clock_ns() - now);
	/* On a busy machine the last one may have ended unseen. A client says how many it made. */
	for (unsigned i = 0; i < ASKERS; i++) {
		assert_in_range(gs_gpu_client_counted(c[i]->gpu_client).launches, REQUESTS - 1,
				REQUESTS);
		gs_gpu_client_launched(c[i]->gpu_client, REQUESTS);
		assert_int_equal(gs_gpu_client_counted(c[i]->gpu_client).launches, REQUESTS);
	}
	now = gs_clock_ns();
	end(c, ASKERS);
}

static void test_no_request_is_lost_asleep(void **unused)
{
	(void)unused;
	no_request_is_lost(GS_ARBITER_SLEEP);
}

static void test_no_request_is_lost_polling(void **unused)
{
	(void)unused;
	no_request_is_lost(GS_ARBITER_POLL);
}

static _Atomic int woken_enough;

/* Wakes the arbiter without asking for anything. */
static void *wake_without_end(void *arg)
{
	struct client *c = arg;

	while (!woken_enough)
		syscall(SYS_futex, &c->page->requested, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static void test_waking_is_limited_as_requests_are(void **unused)
{
	struct gs_arbiter_status before, after;
	uint64_t took = 300 * GS_NS_PER_MS, begun;
	struct gs_error err;
	struct client *c;
	pthread_t thread;

	(void)unused;
	start(GS_ARBITER_SLEEP);
	c = join(1, 1);
	assert_int_equal(gs_arbiter_start(arbiter, &err), 0);
	assert_int_equal(pthread_create(&thread, NULL, wake_without_end, c), 0);
	begun = gs_clock_ns();
	gs_arbiter_status(arbiter, &before);
	usleep((useconds_t)(took / GS_NS_PER_US));
	gs_arbiter_status(arbiter, &after);
	took = gs_clock_ns() - begun;
	woken_enough = 1;
	pthread_join(thread, NULL);
	gs_arbiter_stop(arbiter);
	/* a fifteenth by requests, and two fifths where only those count */
	assert_in_range(after.cpu_ns - before.cpu_ns, 0, took / 5);
	now = gs_clock_ns();
	end(&c, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_polling_is_allowed),
		cmocka_unit_test(test_when_polling_is_wanted),
		cmocka_unit_test(test_calls_are_carried_out),
		cmocka_unit_test(test_calls_are_counted_as_the_loops_time),
		cmocka_unit_test(test_no_request_is_lost_asleep),
		cmocka_unit_test(test_waking_is_limited_as_requests_are),
		cmocka_unit_test(test_no_request_is_lost_polling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
