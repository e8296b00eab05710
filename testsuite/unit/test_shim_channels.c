/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams with something to do while kernels are held (channels.h): never so many that the
 * stream of the relaunches would find no channel of its own.  The tests go on from each other, as a
 * program does: first it has few streams, then many.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_streams.h"

static uint64_t default_ns; /* of shim_channels_patience_ns */

static void test_few_streams_are_nobodys_care(void **unused)
{
	(void)unused;
	make(BUSY - 1);
	requested = 0;
	for (unsigned int i = 0; i < HELD; i++)
		assert_true(launches(i));
	for (unsigned int i = HELD; i < BUSY - 1; i++)
		assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(i)), CUDA_SUCCESS);
	assert_int_equal(requested, 0);
	over();
}

/* Branches count beside whatever streams there are. */
static void test_a_wide_graph_and_a_held_kernel(void **unused)
{
	struct call call;

	(void)unused;
	shim_kernel_graph(FAKE_GRAPH, 0, 12, 12);
	assert_true(launches(0));
	begin_waiting(&call, launch_graph, 1);
	assert_false(launches(2)); /* or the graph would wait for ever */
	over();
	expect_done(&call);
	/* While it is out nothing is held. */
	fake_driver_busy(1);
	assert_int_equal(cuGraphLaunch(FAKE_GRAPH, AT(1)), CUDA_SUCCESS);
	assert_false(launches(0));
	fake_driver_busy(0);
	over();
	assert_true(launches(0));
	over();
	/* What is not known may be wide; one that is narrow goes beside it. */
	shim_kernel_graph(FAKE_GRAPH, 0, 12, 0);
	assert_true(launches(0));
	begin_waiting(&call, launch_graph, 1);
	over();
	expect_done(&call);
	shim_kernel_graph(FAKE_GRAPH, 0, 12, 1);
	assert_true(launches(0));
	assert_int_equal(cuGraphLaunch(FAKE_GRAPH, AT(1)), CUDA_SUCCESS);
	over();
}

/* What was launched before anybody took note is busy as long as the driver says so. */
static void test_one_stream_more(void **unused)
{
	(void)unused;
	make(BUSY);
	for (unsigned int i = 1; i < BUSY; i++)
		occupy(i);
	assert_false(shim_is_uncommon(SHIM_UNCOMMON_CROWDED));
	fake_driver_busy(1);
	assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(1)), CUDA_SUCCESS);
	fake_driver_busy(0);
	assert_false(launches(0));
	assert_true(shim_is_uncommon(SHIM_UNCOMMON_CROWDED));
	pending[2] = 0;
	assert_true(launches(0));
	over();
}

static void *wait_in_own(void *arg)
{
	struct call *c = arg;

	c->done = cuStreamWaitEvent(CU_STREAM_PER_THREAD, NULL, 0) == CUDA_SUCCESS;
	while (c->begun)
		usleep(100);
	return NULL;
}

/* Each thread that uses its own default stream has one more, whatever it does there first. */
static void test_a_threads_stream_more(void **unused)
{
	struct call call = { .begun = 1 };

	(void)unused;
	make(BUSY - 1);
	for (unsigned int i = 1; i < BUSY - 1; i++)
		occupy(i);
	assert_int_equal(pthread_create(&call.thread, NULL, wait_in_own, &call), 0);
	EVENTUALLY(call.done);
	fake_driver_busy(1);
	assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(1)), CUDA_SUCCESS);
	fake_driver_busy(0);
	assert_false(launches(0));
	pending[2] = 0;
	assert_true(launches(0));
	call.begun = 0;
	pthread_join(call.thread, NULL);
	over();
}

static void test_of_many_streams_the_busy_ones_count(void **unused)
{
	struct call call;
	unsigned int i;
	uint64_t from;

	(void)unused;
	make(MADE);
	for (i = 0; i < HELD; i++)
		assert_true(launches(i));
	assert_true(shim_is_uncommon(SHIM_UNCOMMON_CROWDED));
	for (; i < BUSY - 1; i++)
		occupy(i);
	/* One too many waits until another one has nothing to do; one that is busy is no more. */
	begin_waiting(&call, launch_as_is, i);
	assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(HELD)), CUDA_SUCCESS);
	pending[HELD + 1] = 0;
	expect_done(&call);
	/* A wait for an event is as good as a launch. */
	begin_waiting(&call, wait_there, HELD + 1);
	pending[HELD] = 0;
	expect_done(&call);
	/* The default one has its place beside as many others as may be. */
	finish_all();
	EVENTUALLY(all_prepared());
	assert_true(launches(0)); /* no slot is out: whoever was busy has ended */
	for (i = 1; i < BUSY - 1; i++)
		occupy(i);
	from = gs_clock_ns();
	assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, NULL), CUDA_SUCCESS);
	assert_true(gs_clock_ns() - from < GS_NS_PER_S);
	over();
}

/* Whatever the driver says: what a program waits for may be in its own hands. */
static void test_nobody_waits_for_ever(void **unused)
{
	uint64_t from = gs_clock_ns();
	unsigned int i;

	(void)unused;
	assert_true(launches(0));
	for (i = 1; i < BUSY - 1; i++)
		occupy(i);
	assert_true(gs_clock_ns() - from < GS_NS_PER_S);
	assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(i)), CUDA_SUCCESS);
	assert_true(gs_clock_ns() - from > GS_NS_PER_S);
	over();
}

/* Programs wait for a moment only: then the kernels that are out stay until they end. */
static void test_a_wait_is_short(void **unused)
{
	uint64_t from;
	unsigned int i;

	(void)unused;
	assert_in_range(default_ns, 1, 200 * GS_NS_PER_MS);
	shim_channels_patience_ns = default_ns;
	assert_true(launches(0));
	for (i = 1; i < BUSY - 1; i++)
		occupy(i);
	from = gs_clock_ns();
	assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(i)), CUDA_SUCCESS);
	assert_true(gs_clock_ns() - from < GS_NS_PER_S);
	over();
	shim_channels_patience_ns = 2 * GS_NS_PER_S;
}

/* One stream more than there are channels may share one with the relaunches until it is idle. */
static void test_nothing_is_preemptible_in_a_crowd(void **unused)
{
	unsigned int i;

	(void)unused;
	shim_channels_patience_ns = default_ns;
	assert_true(launches(0));
	for (i = 1; i < BUSY; i++) /* the last one waits in vain */
		occupy(i);
	for (i = 1; i < BUSY - 1; i++)
		pending[i] = 0;
	assert_false(launches(BUSY)); /* though there is room by now */
	pending[0] = 0;
	assert_false(launches(BUSY + 1));
	pending[BUSY - 1] = 0;
	assert_true(launches(BUSY + 2));
	assert_true(launches(BUSY - 1));
	over();
	shim_channels_patience_ns = 2 * GS_NS_PER_S;
}

static struct call beside;

/* The launch is out, but does its slot say so? */
static void as_it_leaves(void)
{
	if (!is_out)
		return;
	is_out = 0;
	lock_watch_unlocked = NULL;
	begin_waiting(&beside, wait_there, BUSY - 1);
}

/* Nothing is idle for want of a slot between the driver's call and the mark that it has been made.
 */
static void test_a_launch_is_always_inside_or_out(void **unused)
{
	(void)unused;
	begin_idle();
	for (unsigned int i = 1; i < BUSY - 1; i++)
		occupy_by_event(i);
	is_out = 0;
	lock_watch_unlocked = as_it_leaves;
	assert_true(launches(0));
	assert_null(lock_watch_unlocked);
	over();
	expect_done(&beside);
}

static void *launch_held(void *arg)
{
	struct call *c = arg;

	c->begun = 1;
	pending[c->stream] = 1;
	c->done = launch_in(kernel, LONG_GRID, AT(c->stream)) == CUDA_SUCCESS;
	return NULL;
}

/* What waits in its stream for its time slice is out: who is behind it is not idle. */
static void test_what_is_preenqueued_is_out(void **unused)
{
	struct call preenqueued, more;
	struct gs_slot *slot;

	(void)unused;
	begin_idle();
	gs_page_store(page->grant, 0);
	gs_page_store(page->preenqueue, 1);
	begin_waiting(&preenqueued, launch_held, 0);
	slot = active();
	EVENTUALLY(gs_page_load(slot->flags) & GS_SLOT_PREENQUEUED);
	/* Others' streams come to wait for it. */
	for (unsigned int i = 1; i < BUSY - 1; i++)
		occupy_by_event(i);
	begin_waiting(&more, wait_there, BUSY - 1);
	gs_page_store(page->preenqueue, 0);
	atomic_fetch_and(&slot->flags, ~GS_SLOT_PREENQUEUED);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_RUNNING));
	gs_page_store(page->grant, 1);
	ring();
	expect_done(&preenqueued);
	over();
	expect_done(&more);
}

/* The driver goes on with a stream that the program has destroyed. */
static void test_a_destroyed_stream_has_its_channel_until_it_ends(void **unused)
{
	struct call call;
	unsigned int i;

	(void)unused;
	assert_true(launches(0));
	for (i = 1; i < BUSY - 1; i++)
		occupy(i);
	assert_int_equal(cuStreamDestroy_v2(AT(1)), CUDA_SUCCESS); /* busy */
	begin_waiting(&call, launch_as_is, i);
	pending[2] = 0;
	assert_int_equal(cuStreamDestroy_v2(AT(2)), CUDA_SUCCESS); /* idle */
	expect_done(&call);
	over();
	for (i = 3; i < 3 + BUSY - 1; i++) { /* all, without the default one */
		pending[i] = 1;
		fake_driver_busy(1);
		assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(i)), CUDA_SUCCESS);
		fake_driver_busy(0);
	}
	assert_true(launches(3));
	over();
}

static void *capture(void *arg)
{
	struct call *c = arg;

	c->begun = 1;
	c->done = cuStreamBeginCapture_v2(AT(c->stream), CU_STREAM_CAPTURE_MODE_GLOBAL) ==
		  CUDA_SUCCESS;
	return NULL;
}

/* The question would end a capture: who asks already is through before the first one begins. */
static void test_after_a_capture_nobody_is_requested(void **unused)
{
	struct call requesting, beginning;

	(void)unused;
	begin_full();
	stands = 1;
	begin_waiting(&requesting, wait_there, 8);
	EVENTUALLY(usage);
	begin_waiting(&beginning, capture, 9);
	assert_int_equal(captured, 0);
	stands = 0;
	expect_done(&beginning);
	over();
	expect_done(&requesting);
	requested = 0;
	assert_true(launches(3));
	for (unsigned int i = 4; i < 3 + BUSY - 1; i++)
		assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, AT(i)), CUDA_SUCCESS);
	over();
	assert_true(launches(3)); /* nothing else is out */
	over();
	assert_int_equal(requested, 0);
}

static int threads(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_a_threads_stream_more),
	};

	return cmocka_run_group_tests(tests, streams_setup, NULL);
}

/* What has once been too many is so for a process's life. */
static int in_child(int (*group)(void))
{
	int failed = 1;
	pid_t child = fork();

	if (child == 0)
		exit(group());
	waitpid(child, &failed, 0);
	return failed;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_few_streams_are_nobodys_care),
		SHIM(test_a_wide_graph_and_a_held_kernel),
		SHIM(test_one_stream_more),
		SHIM(test_of_many_streams_the_busy_ones_count),
		SHIM(test_nobody_waits_for_ever),
		SHIM(test_a_wait_is_short),
		SHIM(test_nothing_is_preemptible_in_a_crowd),
		SHIM(test_a_launch_is_always_inside_or_out),
		SHIM(test_what_is_preenqueued_is_out),
		SHIM(test_a_destroyed_stream_has_its_channel_until_it_ends),
		SHIM(test_after_a_capture_nobody_is_requested),
	};
	int failed;

	default_ns = shim_channels_patience_ns;
	failed = in_child(threads) || in_child(shim_patience) ||
		 in_child(shim_connections_default) || in_child(shim_connections_one) ||
		 in_child(shim_connections_five) || in_child(shim_connections_seven) ||
		 in_child(shim_connections_most);

	return cmocka_run_group_tests(tests, streams_setup, NULL) || shim_branches() || failed;
}
