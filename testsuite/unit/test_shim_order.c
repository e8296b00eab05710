/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several threads' launches (order.h): what one enqueues stays together where
 * it must, and nobody waits for a thread that is inside the driver with another
 * stream.  The second thread begins while the first is inside a driver call.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/context/order.h"
#include "fake_driver.h"
#include "shim_rig.h"

#define OTHER ((CUstream)0x7100)
/* So long a launch is watched that must not get through, and one that must. */
#define WATCH_NS (50 * GS_NS_PER_MS)
#define LIMIT_NS (5 * GS_NS_PER_S)

/* The second thread's launch, begun inside the first thread's call `at`. */
static struct {
	const char *at;
	CUfunction f;
	CUstream stream;
	uint64_t watch_ns;
	pthread_t thread;
	_Atomic int begun, launched, through;
	int through_inside; /* it got through before that call ended */
	CUresult rc;
	struct shim_context *ctx; /* as it sees it */
} second;

/* The first thread's launch is the first of the process, as far as order.c knows: it has the way of
 * one thread alone. */
static int alone;

/* The second thread is cancelled once it has been watched. */
static int cancelled;

/* Each call goes down as "NAME@STREAM". */
static char seen[1024];
static pthread_spinlock_t seen_lock;

static void *launch_second(void *unused)
{
	second.rc = launch_in(second.f, LONG_GRID, second.stream);
	second.launched = 1;
	second.ctx = shim_context_current(shim_session());
	second.through = 1;
	return unused;
}

static void begin_second(void)
{
	uint64_t until = gs_clock_ns() + second.watch_ns;

	pthread_create(&second.thread, NULL, launch_second, NULL);
	while (!second.through && gs_clock_ns() < until)
		usleep(200);
	second.through_inside = second.through;
	if (cancelled)
		pthread_cancel(second.thread);
}

static void hook(const char *call, CUstream stream)
{
	char text[64];

	if (second.at && strcmp(call, second.at) == 0 && !atomic_exchange(&second.begun, 1))
		begin_second();
	snprintf(text, sizeof(text), "%s%s@%lx", seen[0] ? " " : "", call,
		 (unsigned long)(uintptr_t)stream);
	pthread_spin_lock(&seen_lock);
	strncat(seen, text, sizeof(seen) - strlen(seen) - 1);
	pthread_spin_unlock(&seen_lock);
}

/* f in `stream`, and the second launch begun inside its call `at`; 1 if that got through meanwhile,
 * within watch_ns. */
static int two(uint64_t watch_ns, CUfunction f, CUstream stream, const char *at, CUfunction f2,
	       CUstream stream2)
{
	memset(&second, 0, sizeof(second));
	second.at = at;
	second.f = f2;
	second.stream = stream2;
	second.watch_ns = watch_ns;
	seen[0] = 0;
	shim_order_forked();
	if (alone)
		shim_order_begin();
	fake_driver_inside(hook);
	assert_int_equal(launch_in(f, LONG_GRID, stream), CUDA_SUCCESS);
	assert_true(second.begun);
	pthread_join(second.thread, NULL);
	fake_driver_inside(NULL);
	assert_int_equal(second.rc, CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(all_prepared());
	return second.through_inside;
}

/* The second waits for the first; it does not. */
#define apart(...) (!two(WATCH_NS, __VA_ARGS__))
#define mixed(...) two(LIMIT_NS, __VA_ARGS__)

static int setup(void **state)
{
	if (!page)
		pthread_spin_init(&seen_lock, PTHREAD_PROCESS_PRIVATE);
	return shim_rig_setup(state);
}

static void test_held_kernel_comes_not_between_the_marks(void **unused)
{
	(void)unused;
	assert_true(apart(FAKE_MACHINE_CODE, STREAM, "launch-original", kernel, STREAM));
	assert_string_equal(seen, "write-1@7000 launch-original@7000 write-5@7000 "
				  "batch@7000 launch-variant@7000 wait@7000");
}

static void test_nothing_comes_between_a_variant_and_its_wait(void **unused)
{
	(void)unused;
	assert_true(apart(kernel, STREAM, "wait", FAKE_MACHINE_CODE, STREAM));
	assert_non_null(strstr(
		seen,
		"launch-variant@7000 wait@7000 write-1@7000 launch-original@7000 write-5@7000"));
	assert_true(apart(kernel, STREAM, "launch-variant", kernel, STREAM));
	assert_non_null(strstr(seen, "launch-variant@7000 wait@7000"));
	assert_non_null(strstr(strstr(seen, "wait@7000"), "launch-variant@7000 wait@7000"));
}

/* FAKE_MACHINE_CODE is too short for marks of its own. */
static void untracked(int is)
{
	struct shim_time *time = shim_kernel_time(shim_kernel_find(FAKE_MACHINE_CODE),
						  (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);

	time->tpt_ps = is ? 1000 : 0;
	time->due = is ? UINT64_MAX : 0; /* it is not timed */
}

/* Nor does a kernel that is too short for marks of its own. */
static void test_a_untracked_comes_not_between_them_either(void **unused)
{
	(void)unused;
	untracked(1);
	assert_true(apart(kernel, STREAM, "wait", FAKE_MACHINE_CODE, STREAM));
	untracked(0);
	assert_non_null(strstr(seen, "launch-variant@7000 wait@7000 launch-original@7000"));
	assert_null(strstr(seen, "write-1"));
}

static void test_the_legacy_default_stream_orders_blocking_ones(void **unused)
{
	(void)unused;
	assert_true(apart(kernel, NULL, "wait", FAKE_MACHINE_CODE, FAKE_BLOCKING));
	assert_true(apart(FAKE_MACHINE_CODE, FAKE_BLOCKING, "launch-original", kernel, NULL));
	assert_true(apart(kernel, FAKE_BLOCKING, "wait", FAKE_MACHINE_CODE, CU_STREAM_LEGACY));
	assert_true(apart(kernel, CU_STREAM_LEGACY, "wait", kernel, CU_STREAM_PER_THREAD));
}

/* Else the second would be behind the hold, and the first behind the second with its mark already
 * there. */
static void test_the_legacy_default_stream_passes_a_hold_on(void **unused)
{
	(void)unused;
	assert_true(mixed(FAKE_MACHINE_CODE, FAKE_BLOCKING, "launch-original", FAKE_MACHINE_CODE,
			  NULL));
	assert_int_equal(launch_in(kernel, LONG_GRID, CU_STREAM_PER_THREAD), CUDA_SUCCESS);
	assert_true(apart(FAKE_MACHINE_CODE, FAKE_BLOCKING, "launch-original", FAKE_MACHINE_CODE,
			  NULL));
	assert_int_equal(launch_in(kernel, LONG_GRID, CU_STREAM_PER_THREAD), CUDA_SUCCESS);
	assert_true(apart(FAKE_MACHINE_CODE, NULL, "launch-original", FAKE_MACHINE_CODE,
			  FAKE_BLOCKING));
}

/* A lock over the driver's calls would keep these out until the first thread is through. */
static void test_other_streams_do_not_wait(void **unused)
{
	static const char *const call[] = { "launch-variant", "wait" };

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		assert_true(mixed(kernel, STREAM, call[i], kernel, OTHER));
		assert_true(mixed(kernel, STREAM, call[i], FAKE_MACHINE_CODE, OTHER));
		assert_true(mixed(kernel, STREAM, call[i], FAKE_MACHINE_CODE, NULL));
		assert_true(mixed(kernel, NULL, call[i], FAKE_MACHINE_CODE, OTHER));
		assert_true(
			mixed(kernel, CU_STREAM_PER_THREAD, call[i], kernel, CU_STREAM_PER_THREAD));
	}
	assert_true(mixed(FAKE_MACHINE_CODE, STREAM, "launch-original", kernel, OTHER));
	assert_true(mixed(FAKE_MACHINE_CODE, STREAM, "launch-original", kernel, NULL));
	/* What holds nothing may mix. */
	assert_true(mixed(FAKE_MACHINE_CODE, STREAM, "launch-original", FAKE_MACHINE_CODE, STREAM));
}

/* Else the two would not know each other's streams. */
static void test_two_that_come_first_share_a_context(void **unused)
{
	(void)unused;
	fake_driver_renew();
	assert_true(mixed(kernel, STREAM, "register", kernel, STREAM));
	assert_non_null(second.ctx);
	assert_ptr_equal(second.ctx, shim_context_current(shim_session()));
	assert_true(apart(kernel, STREAM, "wait", kernel, STREAM));
}

#define CROWD (RIG_CONNECTIONS + 2)
static pthread_barrier_t crowd;

static void *launch_and_stay(void *rc)
{
	*(CUresult *)rc = launch_in(kernel, LONG_GRID, CU_STREAM_PER_THREAD);
	pthread_barrier_wait(&crowd);
	pthread_barrier_wait(&crowd);
	return NULL;
}

/* Every thread's own default stream is one more that a held kernel blocks: the shim's own must find
 * a connection. */
static void test_per_thread_streams_are_counted_one_by_one(void **unused)
{
	CUresult rc[CROWD];
	pthread_t thread[CROWD];
	int held = 0;

	(void)unused;
	pthread_barrier_init(&crowd, NULL, CROWD + 1);
	for (int i = 0; i < CROWD; i++)
		pthread_create(&thread[i], NULL, launch_and_stay, &rc[i]);
	pthread_barrier_wait(&crowd);
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		held += gs_page_load(page->slot[i].state) == GS_K_RUNNING;
	pthread_barrier_wait(&crowd);
	for (int i = 0; i < CROWD; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(rc[i], CUDA_SUCCESS);
	}
	finish_all();
	EVENTUALLY(all_prepared());
	assert_in_range(held, 2, RIG_CONNECTIONS - 7);
	/* All of them have been given back. */
	assert_true(mixed(kernel, CU_STREAM_PER_THREAD, "wait", kernel, OTHER));
}

/* It ends once it has launched: others would wait for ever for what it has. */
static void test_who_waits_is_cancelled(void **unused)
{
	(void)unused;
	alarm(60);
	cancelled = 1;
	for (int i = 0; i < 3; i++) {
		untracked(i == 2);
		assert_true(apart(kernel, STREAM, "wait", i ? FAKE_MACHINE_CODE : kernel, STREAM));
		assert_true(second.launched);
	}
	untracked(0);
	cancelled = 0;
	assert_true(mixed(kernel, STREAM, "wait", kernel, OTHER));
	alarm(0);
}

static void fork_inside(const char *call, CUstream stream)
{
	int status;
	pid_t child;

	(void)stream;
	if (strcmp(call, "launch-variant") != 0)
		return;
	fake_driver_inside(NULL);
	child = fork();
	if (child == 0) {
		alarm(10);
		_exit(launch(FAKE_MACHINE_CODE, LONG_GRID) != CUDA_SUCCESS ||
		      cuMemFree_v2(0) != CUDA_SUCCESS);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The parent's thread does not go on in a child, nor does what it holds. */
static void test_a_forked_child_waits_for_nobody(void **unused)
{
	(void)unused;
	fake_driver_inside(fork_inside);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(all_prepared());
}

static int begin_alone(void **state)
{
	alone = 1;
	return setup(state);
}

static int begin_shared(void **state)
{
	alone = 0;
	return setup(state);
}

#define BOTH(test) \
	{ #test ", at first one thread", test, begin_alone, NULL, NULL }, \
	{ \
#test ", not so", test, begin_shared, NULL, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_held_kernel_comes_not_between_the_marks),
		BOTH(test_nothing_comes_between_a_variant_and_its_wait),
		BOTH(test_a_untracked_comes_not_between_them_either),
		BOTH(test_the_legacy_default_stream_orders_blocking_ones),
		BOTH(test_the_legacy_default_stream_passes_a_hold_on),
		BOTH(test_other_streams_do_not_wait),
		BOTH(test_two_that_come_first_share_a_context),
		BOTH(test_per_thread_streams_are_counted_one_by_one),
		BOTH(test_who_waits_is_cancelled),
		BOTH(test_a_forked_child_waits_for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
