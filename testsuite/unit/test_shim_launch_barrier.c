/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits in the stream for more urgent clients, and telling of one's own launches. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/context/launch_barrier.h"
#include "fake_driver.h"
#include "shim_rig.h"

#define OTHER_STREAM ((CUstream)0x7100)
#define FRONT_STREAM ((CUstream)0x7200)

static struct shim_time *time_of_kernel(void)
{
	return shim_kernel_time(shim_kernel_find(FAKE_MACHINE_CODE),
				(const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
}

/* A launch takes so many us from now on. */
static void takes(unsigned us)
{
	struct shim_time *time = time_of_kernel();

	time->tpt_ps = us * UINT64_C(1000000) / LONG_GRID;
	time->due = UINT64_MAX; /* none is timed */
}

static int begin(void **state)
{
	int rc = shim_rig_idle(state);

	gs_page_store(page->priorities.launches_open, 1);
	gs_page_store(page->shared, 1);
	/* What nothing is in front of does not wait while the barrier is open. */
	assert_int_equal(launch_in(kernel, LONG_GRID, FRONT_STREAM), CUDA_SUCCESS);
	forget_calls();
	return rc;
}

static int end(void **unused)
{
	(void)unused;
	gs_page_store(page->priorities.wait_every_us, 0);
	gs_page_store(page->priorities.tell, 0);
	gs_page_store(page->contended, GS_CONTENDED_NOT);
	gs_page_store(page->shared, 0);
	takes(0);
	time_of_kernel()->due = 0;
	finish_all();
	EVENTUALLY(all_prepared());
	return 0;
}

static void more_urgent_ones_may_come(uint32_t every_us)
{
	gs_page_store(page->contended, GS_CONTENDED_QUEUE);
	gs_page_store(page->priorities.wait_every_us, every_us);
}

/* The waits of n launches without a slot. */
static unsigned waits(unsigned n, CUstream stream)
{
	char text[4096];
	unsigned found = 0;

	forget_calls();
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(launch_in(FAKE_MACHINE_CODE, LONG_GRID, stream), CUDA_SUCCESS);
	await_call("launch-original", text, sizeof(text));
	for (const char *at = text; (at = strstr(at, "wait")) != NULL; at++)
		found++;
	return found;
}

static void waits_once_for_so_much_time(void **unused)
{
	(void)unused;
	takes(10);
	assert_int_equal(waits(20, STREAM), 0);
	more_urgent_ones_may_come(50);
	assert_int_equal(waits(20, STREAM), 4);
	/* Another stream is not stopped by this one's waits. */
	assert_int_equal(waits(1, OTHER_STREAM), 1);
	assert_int_equal(waits(1, STREAM), 1);
	takes(60);
	assert_int_equal(waits(3, STREAM), 3);
}

/* Where it stops the kernel has not started: the daemon sees that it is not on the GPU. */
static void waits_before_it_starts(void **unused)
{
	(void)unused;
	more_urgent_ones_may_come(50);
	takes(0);
	forget_calls();
	assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
	expect_calls("wait write-1 launch-original write-5");
}

/* What can be evicted is. */
static void evictable_ones_do_not_wait(void **unused)
{
	(void)unused;
	more_urgent_ones_may_come(50);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_calls("batch launch-variant wait"); /* this wait is behind it */
}

static void one_launch(void)
{
	assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
}

/* It rings once when the daemon wants to know of the next launch, and says until when all of them
 * should take. */
static void tells_of_the_next_launch(void **unused)
{
	uint32_t requested = gs_page_load(page->requested);
	_Atomic uint32_t *tell = &page->priorities.tell;
	uint64_t until, from = gs_clock_ns();

	(void)unused;
	takes(200);
	gs_page_store(page->attended, GS_ATTENDED_AWAKE);
	gs_page_store(page->contended, GS_CONTENDED_SPARSE);
	gs_page_store(page->priorities.until_ns, 0);
	one_launch();
	assert_int_equal(gs_page_load(page->requested), requested);
	assert_int_equal(gs_page_load(page->priorities.until_ns), 0);
	gs_page_store(*tell, GS_LAUNCH_TELL_NEXT);
	one_launch();
	assert_int_equal(gs_page_load(page->requested), requested + 1);
	assert_int_equal(gs_page_load(*tell), GS_LAUNCH_TELL_SEEN);
	until = gs_page_load(page->priorities.until_ns);
	assert_in_range(until, from + 200000, gs_clock_ns() + 200000);
	one_launch();
	assert_int_equal(gs_page_load(page->requested), requested + 1);
	assert_true(gs_page_load(page->priorities.until_ns) >= until + 200000);
	gs_page_store(*tell, GS_LAUNCH_TELL_NEXT);
	one_launch();
	assert_int_equal(gs_page_load(page->requested), requested + 2);
	/* The daemon does not believe more than a ms. */
	takes(5000);
	one_launch();
	assert_true(gs_page_load(page->priorities.until_ns) < gs_clock_ns() + GS_NS_PER_MS);
	gs_page_store(page->attended, GS_ATTENDED_NOT);
}

/* A daemon that closes and opens it again and again is well. */
static void leaves_it_to_the_daemon(void **unused)
{
	uint64_t until = gs_clock_ns() + 150 * GS_NS_PER_MS;

	(void)unused;
	more_urgent_ones_may_come(50);
	takes(60);
	assert_int_equal(waits(1, STREAM), 1);
	gs_page_store(page->priorities.launches_open, 0);
	while (gs_clock_ns() < until) {
		gs_page_store(page->priorities.closings, page->priorities.closings + 1);
		gs_page_store(page->priorities.launches_open, 0);
		usleep(1000);
	}
	assert_int_equal(gs_page_load(page->priorities.launches_open), 0);
	gs_page_store(page->priorities.launches_open, 1);
}

/* The daemon that would open it is gone, or hangs. */
static void opens_by_itself(void **unused)
{
	uint64_t closed_ns;

	(void)unused;
	more_urgent_ones_may_come(50);
	takes(60);
	assert_int_equal(waits(1, STREAM), 1);
	closed_ns = gs_clock_ns();
	gs_page_store(page->priorities.launches_open, 0);
	EVENTUALLY(gs_page_load(page->priorities.launches_open));
	assert_true(gs_clock_ns() - closed_ns > 20 * GS_NS_PER_MS); /* as long as the daemon may */
	assert_int_equal(gs_page_load(page->priorities.wait_every_us), 50);
	shim_launch_barrier_leave_open(shim_session());
	assert_int_equal(gs_page_load(page->priorities.wait_every_us), 0);
}

#define BARRIER(f) cmocka_unit_test_setup_teardown(f, begin, end)

int shim_launch_barriers(void)
{
	const struct CMUnitTest tests[] = {
		BARRIER(waits_once_for_so_much_time), BARRIER(waits_before_it_starts),
		BARRIER(evictable_ones_do_not_wait),  BARRIER(tells_of_the_next_launch),
		BARRIER(leaves_it_to_the_daemon),     BARRIER(opens_by_itself),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
