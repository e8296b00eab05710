/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches that wait for their turn in their streams (grant.h). */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/launch/grant.h"
#include "fake_driver.h"
#include "shim_rig.h"

#define PAUSE_US 20000

static CUresult rc;
static _Atomic int over;
static pthread_t thread;

static void *launch_long(void *unused)
{
	(void)unused;
	rc = launch(kernel, LONG_GRID);
	over = 1;
	return NULL;
}

static int is_preenqueued(const struct gs_slot *slot)
{
	return (gs_page_load(slot->flags) & GS_SLOT_PREENQUEUED) != 0;
}

/* Another client has the GPU. */
static int setup(void **state)
{
	shim_rig_idle(state);
	/* Other tests have made contexts in which the kernel has no variant yet. */
	assert_int_equal(launch(kernel, 1), CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(all_prepared());
	forget_calls();
	gs_page_store(page->grant, 0);
	gs_page_store(page->preenqueue, 1);
	over = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gs_page_store(page->preenqueue, 0);
	shim_session()->absent = GS_ABSENT_WAIT;
	gs_page_store(page->grant, 1);
	finish_all();
	EVENTUALLY(all_prepared());
	return 0;
}

static struct gs_slot *begin(void)
{
	assert_int_equal(pthread_create(&thread, NULL, launch_long, NULL), 0);
	EVENTUALLY(gs_page_load(active()->state) == GS_K_READY);
	return active();
}

/* What the daemon does: the flag first. */
static void let_go(struct gs_slot *slot)
{
	assert_true(atomic_fetch_and(&slot->flags, ~GS_SLOT_PREENQUEUED) & GS_SLOT_PREENQUEUED);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_RUNNING));
	ring();
}

static void end(CUresult expected)
{
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(rc, expected);
	assert_int_equal(gs_page_load(page->awake), 0);
}

static void test_it_is_in_its_stream_before_its_turn(void **unused)
{
	struct gs_slot *slot = begin();

	(void)unused;
	EVENTUALLY(is_preenqueued(slot));
	usleep(PAUSE_US);
	expect_calls("wait batch launch-variant wait");
	/* Rung for, it looks for its time slice: but it is let go without its thread, which is
	 * awake for nobody. */
	ring();
	for (uint64_t until = gs_clock_ns() + PAUSE_US * GS_NS_PER_US; gs_clock_ns() < until;)
		assert_int_equal(gs_page_load(page->awake), 0);
	assert_int_equal(over, 0);
	let_go(slot);
	end(CUDA_SUCCESS);
	usleep(PAUSE_US);
	expect_calls(""); /* neither launched again, nor taken for one that was evicted */
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	assert_int_equal(gs_page_load(slot->evictions), 0);
}

/* While a daemon is there the time slice, which may be gone again, does not let it go: the GPU
 * could not be called back. */
static void test_the_turn_alone_is_not_enough(void **unused)
{
	static struct gs_page other; /* the agent looks after this process's own */
	struct shim_session s = { .page = &other, .connected = 1, .absent = GS_ABSENT_RUN };
	struct shim_launch l = { .slot = &other.slot[0], .preenqueued = 1 };

	(void)unused;
	gs_page_store(other.grant, 1);
	gs_page_store(l.slot->state, GS_K_READY);
	gs_page_store(l.slot->flags, GS_SLOT_PREENQUEUED);
	assert_false(shim_grant_went(&s, &l));
	assert_int_equal(gs_page_load(l.slot->state), GS_K_READY);
	assert_true(is_preenqueued(l.slot));
	s.connected = 0;
	assert_true(shim_grant_went(&s, &l));
	assert_int_equal(gs_page_load(l.slot->state), GS_K_RUNNING);
	assert_false(is_preenqueued(l.slot));
}

/* A daemon that has not seen the flag: it goes by its own hand, and is pre-enqueued no more. */
static void test_scheduled_while_it_was_preenqueued(void **unused)
{
	struct gs_slot *slot = begin();

	(void)unused;
	EVENTUALLY(is_preenqueued(slot));
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	end(CUDA_SUCCESS);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	assert_false(is_preenqueued(slot));
	expect_calls("");
}

/* It began, was evicted, and is READY again before its thread has looked: it has gone, and the rest
 * is the agent's. */
static void test_evicted_before_it_looked(void **unused)
{
	struct gs_slot *slot = begin();

	(void)unused;
	EVENTUALLY(is_preenqueued(slot));
	usleep(PAUSE_US); /* it sleeps */
	forget_calls();
	assert_true(atomic_fetch_and(&slot->flags, ~GS_SLOT_PREENQUEUED) & GS_SLOT_PREENQUEUED);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_RUNNING));
	gs_page_store(slot->started, 1);
	gs_page_store(slot->done, 100);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_READY));
	ring();
	end(CUDA_SUCCESS);
	usleep(PAUSE_US);
	expect_calls("");
	assert_int_equal(gs_page_load(slot->state), GS_K_READY);
	assert_false(is_preenqueued(slot));
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	await_calls("relaunch-variant");
	assert_int_equal(gs_page_load(slot->evictions), 1);
}

/* The wait is refused: it waits as it would without. */
static void test_no_wait(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	fake_driver_fail("wait", CUDA_ERROR_NOT_SUPPORTED);
	slot = begin();
	usleep(PAUSE_US);
	expect_calls("wait");
	assert_false(is_preenqueued(slot));
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	end(CUDA_SUCCESS);
	expect_calls("batch launch-variant wait");
}

/* The launch is refused behind the wait: that ends without a turn, and the program has its error.
 */
static void test_refused_behind_the_wait(void **unused)
{
	(void)unused;
	fake_driver_fail("launch-variant", CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(pthread_create(&thread, NULL, launch_long, NULL), 0);
	end(CUDA_ERROR_INVALID_VALUE);
	expect_calls("wait batch launch-variant write-5");
	EVENTUALLY(all_prepared());
	assert_int_equal(atomic_load(&shim_held[0]), 0);
}

/* Nothing that an error may be said of later is in any stream; nor where the daemon does not want
 * it. */
static void test_where_it_is_not_preenqueued(void **unused)
{
	(void)unused;
	shim_session()->absent = GS_ABSENT_FAIL;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_ERROR_SYSTEM_NOT_READY);
	expect_calls("");
	shim_session()->absent = GS_ABSENT_WAIT;
	gs_page_store(page->preenqueue, 0);
	begin();
	usleep(PAUSE_US);
	expect_calls("");
	assert_false(is_preenqueued(active()));
	gs_page_store(page->grant, 1);
	ring();
	end(CUDA_SUCCESS);
	expect_calls("batch launch-variant wait");
}

/* No daemon is left, and the time slice is our own: nobody takes it away. */
static void test_the_daemon_is_gone(void **unused)
{
	struct gs_slot *slot = begin();

	(void)unused;
	EVENTUALLY(is_preenqueued(slot));
	gs_page_store(page->grant, 1);
	ring();
	end(CUDA_SUCCESS);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	assert_false(is_preenqueued(slot));
}

static void *launch_code(void *unused)
{
	(void)unused;
	rc = launch(FAKE_MACHINE_CODE, LONG_GRID);
	return NULL;
}

/* What cannot leave waits with its thread: a call that blocks in the driver would wait for it
 * there. */
static void test_what_cannot_leave_is_not_preenqueued(void **unused)
{
	(void)unused;
	assert_int_equal(pthread_create(&thread, NULL, launch_code, NULL), 0);
	EVENTUALLY(gs_page_load(active()->state) == GS_K_READY);
	usleep(PAUSE_US);
	expect_calls("");
	assert_true(gs_slot_move(active(), GS_K_READY, GS_K_TORUN));
	ring();
	end(CUDA_SUCCESS);
}

#define PREENQUEUED(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int shim_preenqueued(void)
{
	const struct CMUnitTest tests[] = {
		PREENQUEUED(test_it_is_in_its_stream_before_its_turn),
		PREENQUEUED(test_the_turn_alone_is_not_enough),
		PREENQUEUED(test_scheduled_while_it_was_preenqueued),
		PREENQUEUED(test_evicted_before_it_looked),
		PREENQUEUED(test_no_wait),
		PREENQUEUED(test_refused_behind_the_wait),
		PREENQUEUED(test_where_it_is_not_preenqueued),
		PREENQUEUED(test_the_daemon_is_gone),
		PREENQUEUED(test_what_cannot_leave_is_not_preenqueued),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
