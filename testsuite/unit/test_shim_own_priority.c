/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Priorities of threads and streams: what the page says of a launch. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/shim/base/upcalls.h"
#include "device/shim/base/wraps.h"
#include "device/shim/session/own_priority.h"
#include "fake_driver.h"
#include "gpushare/api/gpushare.h"
#include "shim_rig.h"

#define OTHER ((CUstream)0x7100)
#define UNTRACKED (-1)

int gpushare_shim_set_thread_priority(int priority);
int gpushare_shim_reset_thread_priority(void);
int gpushare_shim_set_stream_priority(void *stream, int priority);
int gpushare_shim_reset_stream_priority(void *stream);
int gpushare_shim_critical(int step);

static struct shim_time *short_time;

static CUresult fake_destroy(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

/* What the page says of a short launch into that stream: 1 + its priority, 0: the client's;
 * UNTRACKED: it had no slot. */
static int said_in(CUstream stream)
{
	int is;

	assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, stream), CUDA_SUCCESS);
	if (all_prepared())
		return UNTRACKED;
	is = page->priorities.of_slot[active() - page->slot];
	finish_all();
	EVENTUALLY(all_prepared());
	return is;
}

static int setup(void **state)
{
	shim_rig_idle(state);
	shim_slot[SHIM_FN_cuStreamDestroy_v2] = (void *)(uintptr_t)fake_destroy;
	short_time = shim_kernel_time(shim_kernel_find(FAKE_MACHINE_CODE),
				      (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	short_time->tpt_ps = 1000;
	short_time->due = UINT64_MAX; /* none is timed */
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gpushare_shim_reset_thread_priority();
	shim_own_priority_forked(); /* no stream has one */
	return 0;
}

static void without_any_nothing_is_said(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		said_in(STREAM); /* the first few may need a slot */
	assert_int_equal(said_in(STREAM), UNTRACKED);
	assert_int_equal(page->priorities.used, 0);
	assert_false(shim_is_uncommon(SHIM_UNCOMMON_PRIORITIES));
}

static void *without_one(void *unused)
{
	for (int i = 0; i < 4; i++)
		said_in(STREAM);
	assert_int_equal(said_in(STREAM), UNTRACKED);
	return unused;
}

static void a_threads_is_said_of_each_of_its_launches(void **state)
{
	pthread_t other;

	(void)state;
	/* Nobody answers here, so it is remembered. */
	assert_int_equal(gpushare_shim_set_thread_priority(7), GPUSHARE_NOT_MANAGED);
	for (int i = 0; i < 3; i++)
		assert_int_equal(said_in(STREAM), 8);
	assert_int_equal(page->priorities.used, 1);
	gpushare_shim_set_thread_priority(0);
	assert_int_equal(said_in(OTHER), 1);
	assert_int_equal(pthread_create(&other, NULL, without_one, NULL), 0);
	pthread_join(other, NULL);
	gpushare_shim_reset_thread_priority();
	assert_int_equal(said_in(STREAM), UNTRACKED);
}

static void a_streams_comes_before_the_threads(void **state)
{
	(void)state;
	gpushare_shim_set_thread_priority(7);
	assert_int_equal(gpushare_shim_set_stream_priority(STREAM, 3), GPUSHARE_NOT_MANAGED);
	assert_int_equal(said_in(STREAM), 4);
	assert_int_equal(said_in(OTHER), 8);
	gpushare_shim_set_stream_priority(STREAM, 9);
	assert_int_equal(said_in(STREAM), 10);
	gpushare_shim_reset_thread_priority();
	assert_int_equal(said_in(STREAM), 10);
	assert_int_equal(said_in(OTHER), UNTRACKED);
	gpushare_shim_reset_stream_priority(STREAM);
	assert_int_equal(said_in(STREAM), UNTRACKED);
	gpushare_shim_reset_stream_priority(STREAM);
}

/* A launch without a priority of its own uses a slot that a launch with one has used before. */
static void a_slot_says_it_of_its_launch_only(void **state)
{
	(void)state;
	gpushare_shim_set_thread_priority(7);
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		said_in(STREAM);
	gpushare_shim_reset_thread_priority();
	short_time->tpt_ps = 1000000000; /* too long to go untracked */
	assert_int_equal(said_in(STREAM), GS_PRIORITY_OF_CLIENT);
	short_time->tpt_ps = 1000;
}

static void both_handles_of_the_default_stream(void **state)
{
	(void)state;
	gpushare_shim_set_stream_priority(NULL, 5);
	assert_int_equal(shim_own_priority(CU_STREAM_LEGACY), 6);
	gpushare_shim_reset_stream_priority(CU_STREAM_LEGACY);
	assert_int_equal(shim_own_priority(NULL), GS_PRIORITY_OF_CLIENT);
	assert_int_equal(shim_own_priority(CU_STREAM_PER_THREAD), GS_PRIORITY_OF_CLIENT);
}

static void a_destroyed_streams_is_forgotten(void **state)
{
	(void)state;
	gpushare_shim_set_stream_priority(OTHER, 5);
	assert_int_equal(shim_own_priority(OTHER), 6);
	assert_int_equal(cuStreamDestroy_v2(OTHER), CUDA_SUCCESS);
	assert_int_equal(shim_own_priority(OTHER), GS_PRIORITY_OF_CLIENT);
}

static void a_destroyed_contexts_are_forgotten(void **state)
{
	CUcontext ctx;

	(void)state;
	assert_int_equal(cuCtxGetCurrent(&ctx), CUDA_SUCCESS);
	gpushare_shim_set_stream_priority(OTHER, 5);
	gpushare_shim_set_stream_priority(NULL, 4);
	shim_upcalls->context_ends((CUcontext)0x10, 1);
	assert_int_equal(shim_own_priority(OTHER), 6);
	shim_upcalls->context_ends(ctx, 0); /* it is about to end */
	assert_int_equal(shim_own_priority(OTHER), 6);
	shim_upcalls->context_ends(ctx, 1);
	assert_int_equal(shim_own_priority(OTHER), GS_PRIORITY_OF_CLIENT);
	/* This handle means the default stream of whichever context is current. */
	assert_int_equal(shim_own_priority(NULL), 5);
}

static void no_such_priority_and_too_many_streams(void **state)
{
	(void)state;
	assert_int_equal(gpushare_shim_set_thread_priority(-1), GPUSHARE_INVALID);
	assert_int_equal(gpushare_shim_set_thread_priority(1001), GPUSHARE_INVALID);
	assert_int_equal(gpushare_shim_set_stream_priority(STREAM, 1001), GPUSHARE_INVALID);
	assert_int_equal(shim_own_priority(STREAM), GS_PRIORITY_OF_CLIENT);
	for (uintptr_t i = 1; i <= GPUSHARE_STREAM_PRIORITIES_MAX; i++)
		assert_int_equal(gpushare_shim_set_stream_priority((void *)(i << 8), 1),
				 GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_shim_set_stream_priority((void *)0x10, 1), GPUSHARE_INVALID);
	assert_int_equal(gpushare_shim_set_stream_priority((void *)0x100, 2), GPUSHARE_NOT_MANAGED);
	gpushare_shim_reset_stream_priority((void *)0x200);
	assert_int_equal(gpushare_shim_set_stream_priority((void *)0x10, 3), GPUSHARE_NOT_MANAGED);
	assert_int_equal(shim_own_priority((CUstream)0x100), 3);
	assert_int_equal(shim_own_priority((CUstream)0x10), 4);
	assert_int_equal(shim_own_priority((CUstream)0x200), GS_PRIORITY_OF_CLIENT);
}

static void a_critical_region_overrules_them(void **state)
{
	(void)state;
	gpushare_shim_critical(1);
	gpushare_shim_critical(1);
	assert_int_equal(page->priorities.overruled, 1);
	gpushare_shim_critical(-1);
	assert_int_equal(page->priorities.overruled, 1);
	gpushare_shim_critical(-1);
	assert_int_equal(page->priorities.overruled, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(without_any_nothing_is_said),
		CASE(a_threads_is_said_of_each_of_its_launches),
		CASE(a_streams_comes_before_the_threads),
		CASE(a_slot_says_it_of_its_launch_only),
		CASE(both_handles_of_the_default_stream),
		CASE(a_destroyed_streams_is_forgotten),
		CASE(no_such_priority_and_too_many_streams),
		CASE(a_critical_region_overrules_them),
		CASE(a_destroyed_contexts_are_forgotten), /* the last: what is loaded there is gone
							   */
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
