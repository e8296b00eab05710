/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the shim does once a fault has ended a context, over a recording
 * driver: nobody waits for what will never report its end, and the program
 * gets the driver's own error; and in a context that lacks what it needs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_rig.h"
#include "device/shim/context/barrier.h"

/* An evictable launch in a stream of its own, in the context that is current. */
static struct gs_slot *launch_new(void)
{
	static uintptr_t stream = 0x7000;

	assert_int_equal(launch_in(kernel, LONG_GRID, (CUstream)(stream += 0x10)), CUDA_SUCCESS);
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		if (gs_page_load(page->slot[i].state) == GS_K_RUNNING)
			return &page->slot[i];
	fail_msg("nothing is running");
	return NULL;
}

static int sound(void **unused)
{
	(void)unused;
	shim_rig_idle(NULL);
	fake_driver_renew();
	return 0;
}

static void *free_in_thread(void *rc)
{
	*(_Atomic int *)rc = (int)cuMemFree_v2(0);
	return NULL;
}

/* A call that waits for held kernels: the fault ends the waiting, the driver's error is its result.
 */
static void test_waiting_call(void **unused)
{
	_Atomic int rc = -1;
	pthread_t thread;

	(void)unused;
	launch_new();
	pthread_create(&thread, NULL, free_in_thread, &rc);
	usleep(50000);
	assert_int_equal(rc, -1);
	fake_driver_break(CUDA_ERROR_ILLEGAL_ADDRESS);
	EVENTUALLY(rc != -1);
	pthread_join(thread, NULL);
	assert_int_equal(rc, CUDA_ERROR_ILLEGAL_ADDRESS);
	EVENTUALLY(all_prepared());
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_true(all_prepared());
}

/* In whatever state a launch is, its slot comes to PREP: the daemon waits for none of them. */
static void test_every_state(void **unused)
{
	static const uint32_t state[] = { GS_K_RUNNING, GS_K_TOEVICT, GS_K_READY,
					  GS_K_TORUN,   GS_K_DONE,    77 };
	struct gs_slot *slot;

	(void)unused;
	for (size_t i = 0; i < sizeof(state) / sizeof(state[0]); i++) {
		sound(NULL);
		slot = launch_new();
		gs_page_store(page->grant, 0);
		fake_driver_break(CUDA_ERROR_LAUNCH_FAILED);
		gs_page_store(slot->state, state[i]);
		EVENTUALLY(all_prepared());
		assert_int_equal(cuMemFree_v2(0), CUDA_ERROR_LAUNCH_FAILED);
	}
}

/* A launch that is refused for it leaves nothing behind, nor does one that went out as the program
 * wrote it. */
static void test_as_is(void **unused)
{
	(void)unused;
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	EVENTUALLY(all_prepared());
	fake_driver_break(CUDA_ERROR_MISALIGNED_ADDRESS);
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_ERROR_MISALIGNED_ADDRESS);
	EVENTUALLY(all_prepared());
}

/* The driver refuses a relaunch because of a fault: it is not tried for ever. */
static void test_relaunch_meets_the_fault(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	slot = launch_new();
	gs_page_store(page->grant, 0);
	gs_page_store(slot->state, GS_K_READY);
	usleep(5000);
	fake_driver_fail("relaunch-variant", CUDA_ERROR_ILLEGAL_INSTRUCTION);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(all_prepared());
}

/* Anything else that the driver says ends nothing. */
static void test_other_errors(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	slot = launch_new();
	fake_driver_break(CUDA_ERROR_NOT_READY);
	usleep(60000);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	fake_driver_break(CUDA_ERROR_OUT_OF_MEMORY);
	usleep(60000);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	gs_page_store(slot->state, GS_K_DONE);
}

/* One context's fault is not another's. */
static void test_other_contexts(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	launch_new();
	fake_driver_break(CUDA_ERROR_ILLEGAL_ADDRESS);
	EVENTUALLY(all_prepared());
	fake_driver_renew();
	slot = launch_new();
	usleep(60000);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	gs_page_store(slot->state, GS_K_DONE);
}

/* A context is destroyed with a kernel out that reports nothing any more. */
static void test_destroyed(void **unused)
{
	CUcontext ctx = fake_driver_renew();
	struct gs_slot *slot;

	(void)unused;
	slot = launch_new();
	/* As if it were not evictable: destroying waits for those that are. */
	shim_blocked_end(shim_launch_at((uint32_t)(slot - page->slot))->streams.blocked, 0);
	shim_launch_at((uint32_t)(slot - page->slot))->evictable = 0;
	assert_int_equal(cuCtxDestroy_v2(ctx), CUDA_SUCCESS);
	EVENTUALLY(all_prepared());
}

/* A driver without one of the operations that go with a launch: the program's own launches, no
 * error. */
static void test_without_memory_operations(void **unused)
{
	static const char *const lacking[] = { "write-relaunch-0", "batch", "wait" };
	char text[4096];

	(void)unused;
	for (size_t i = 0; i < sizeof(lacking) / sizeof(lacking[0]); i++) {
		fake_driver_renew();
		shim_context_changes();
		fake_driver_fail(lacking[i], CUDA_ERROR_NOT_SUPPORTED);
		assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
		forget_calls();
		assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
		fake_driver_calls(text, sizeof(text));
		assert_string_equal(text, "launch-original");
	}
	fake_driver_renew();
	shim_context_changes();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_waiting_call, sound),
		cmocka_unit_test_setup(test_every_state, sound),
		cmocka_unit_test_setup(test_as_is, sound),
		cmocka_unit_test_setup(test_relaunch_meets_the_fault, sound),
		cmocka_unit_test_setup(test_other_errors, sound),
		cmocka_unit_test_setup(test_other_contexts, sound),
		cmocka_unit_test_setup(test_destroyed, sound),
		cmocka_unit_test_setup(test_without_memory_operations, sound),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
