/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a program waits for a channel (channels.h).  Run by test_shim_channels.c, in a process of its own.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_streams.h"

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

/* What is evicted ends when the turn comes, not by waiting for the program; and a wait of some use restores the patience. */
static void test_without_the_turn_it_takes_longer(void **unused)
{
	struct call call;
	pthread_t thread;

	(void)unused;
	begin_full();
	assert_int_equal(pthread_create(&thread, NULL, let_end, NULL), 0);
	ms_of_wait(8);
	pthread_join(thread, NULL);
	gs_page_store(page->turn, 0);
	begin_waiting(&call, wait_there, 9);
	sleep(3);
	assert_int_equal(call.done, 0);
	gs_page_store(page->turn, 1);
	assert_int_equal(call.done, 0);
	over();
	expect_done(&call);
}

/* A program that waits for itself is not to be held up each time. */
static void test_waits_in_vain_become_shorter(void **unused)
{
	uint64_t ms;

	(void)unused;
	begin_full();
	ms = ms_of_wait(8);
	assert_in_range(ms, 1900, 4000);
	for (unsigned int i = 9; i < 12; i++) {
		uint64_t next = ms_of_wait(i);

		assert_true(next < ms * 3 / 4);
		ms = next;
	}
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
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
