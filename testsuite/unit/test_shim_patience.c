/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a program waits for a channel (channels.h), and what is held then: what went out all the
 * same may wait for it, so it leaves no more.  Run by test_shim_channels.c, in a process of its
 * own.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/ptx/transform.h"
#include "fake_driver.h"
#include "shim_streams.h"

/* The slot of the kernel that is held. */
static struct gs_slot *held_slot(void)
{
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		if (shim_launch_at(i)->evictable && gs_page_load(page->slot[i].state) != GS_K_PREP)
			return &page->slot[i];
	return NULL;
}

static int may_leave(const struct gs_slot *slot)
{
	return (gs_page_load(slot->flags) & GS_SLOT_EVICTABLE) != 0;
}

static unsigned int why(const struct gs_slot *slot)
{
	return gs_page_load(slot->flags) >> GS_SLOT_WHY_SHIFT & GS_SLOT_WHY_MAX;
}

static uint64_t ms_of_wait(unsigned int stream)
{
	uint64_t from = gs_clock_ns();

	pending[stream] = 1;
	assert_int_equal(cuStreamWaitEvent(AT(stream), NULL, 0), CUDA_SUCCESS);
	return (gs_clock_ns() - from) / GS_NS_PER_MS;
}

static void *let_end(void *arg)
{
	(void)arg;
	usleep(50000);
	pending[1] = 0;
	return NULL;
}

/* A wait of some use restores the patience. */
static void wait_of_use(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, let_end, NULL), 0);
	ms_of_wait(8);
	pthread_join(thread, NULL);
}

/* What is evicted ends when the time slice comes, not by waiting for the program. */
static void test_without_the_turn_it_takes_longer(void **unused)
{
	struct call call;

	(void)unused;
	begin_full();
	wait_of_use();
	gs_page_store(page->grant, 0);
	begin_waiting(&call, wait_there, 9);
	sleep(3);
	assert_int_equal(call.done, 0);
	gs_page_store(page->grant, 1);
	assert_int_equal(call.done, 0);
	over();
	expect_done(&call);
}

static int become_shorter(void)
{
	uint64_t ms = ms_of_wait(8);
	int shorter = 1;

	assert_true(ms >= 1900);
	for (unsigned int i = 9; i < 12; i++) {
		uint64_t next = ms_of_wait(i);

		shorter &= next < ms * 3 / 4;
		ms = next;
	}
	return shorter;
}

/* A program that waits for itself is not to be held up each time.  What a busy machine adds to one
 * of them would look as if it were: again. */
static void test_waits_in_vain_become_shorter(void **unused)
{
	int shorter = 0;

	(void)unused;
	for (int i = 0; i < 5 && !shorter; i++) {
		begin_full();
		if (i) {
			wait_of_use();
			over();
			begin_full();
		}
		shorter = become_shorter();
		over();
	}
	assert_true(shorter);
}

/* Whoever is one too many may be put where the relaunch would go: what is held stays on the GPU
 * from then on. */
static void test_what_is_held_then_is_not_evicted(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	begin_full();
	slot = held_slot();
	assert_non_null(slot);
	assert_true(may_leave(slot));
	ms_of_wait(8);
	assert_false(may_leave(slot));
	assert_int_equal(why(slot), PTX_REASON_STREAMS);
	assert_int_equal(gs_page_load(slot->leave_ns), 0);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	over();
	assert_true(launches(0));
	assert_true(may_leave(held_slot()));
	over();
}

/* What is away has to come back first. */
static void test_what_is_evicted_comes_back_before(void **unused)
{
	struct gs_slot *slot;
	struct call call;

	(void)unused;
	begin_full();
	slot = held_slot();
	gs_page_store(slot->started, 1);
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	begin_waiting(&call, wait_there, 8);
	sleep(2); /* in vain, often enough, by now */
	assert_int_equal(call.done, 0);
	assert_true(gs_slot_move(slot, GS_K_TOEVICT, GS_K_READY)); /* the GPU */
	sleep(1);
	assert_int_equal(call.done, 0);
	gs_page_store(page->grant, 1);
	ring();
	expect_done(&call);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	assert_false(may_leave(slot));
	over();
}

static int setup(void **state)
{
	if (streams_setup(state) < 0)
		return -1;
	make(MADE);
	return 0;
}

int shim_patience(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_without_the_turn_it_takes_longer), /* first: nothing has been in vain */
		SHIM(test_waits_in_vain_become_shorter),
		SHIM(test_what_is_held_then_is_not_evicted),
		SHIM(test_what_is_evicted_comes_back_before),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
