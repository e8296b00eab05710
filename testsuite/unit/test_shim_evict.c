/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel leaves and comes back: evicted, called back, relaunched. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_rig.h"

static void test_eviction_and_relaunch(void **unused)
{
	struct gs_slot *slot;
	char text[4096];

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	fake_driver_calls(text, sizeof(text));
	assert_true(strncmp(text, "write-control-0", 15) == 0);
	/* The last block out leaves it with work remaining. */
	gs_page_store(slot->done, 400);
	gs_page_store(slot->state, GS_K_READY);
	usleep(20000);
	forget_calls();
	usleep(20000);
	expect_calls("");
	/* Scheduled again. */
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	/* Behind every signal, which may be late, and before the relaunch. */
	await_calls("write-control-4294967295 record-control await-relaunch relaunch-variant");
	assert_int_equal(gs_page_load(slot->evictions), 1);
	gs_page_store(slot->state, GS_K_DONE);
}

/* Told to leave and called back before it started: its limit is lifted, nothing is relaunched. */
static void test_call_back(void **unused)
{
	struct gs_slot *slot;
	char text[4096];

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	gs_page_store(page->grant, 1);
	assert_true(gs_slot_move(slot, GS_K_TOEVICT, GS_K_RUNNING));
	forget_calls();
	ring();
	await_call("write-control-4294967295", text, sizeof(text));
	assert_null(strstr(text, "relaunch"));
	usleep(20000);
	fake_driver_calls(text, sizeof(text));
	assert_null(strstr(text, "relaunch"));
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	gs_page_store(slot->state, GS_K_DONE);
}

/* It left although the time slice is ours: the agent relaunches it without asking. */
static void test_relaunch_with_the_turn(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	forget_calls();
	gs_page_store(slot->state, GS_K_READY);
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	await_calls("relaunch-variant");
	gs_page_store(slot->state, GS_K_DONE);
}

/*
 * A signal of the slot's last launch arrives late, and the kernel leaves without
 * having been told: the limit of 0 is in the device's memory and nowhere else.
 * Relaunched without more ado it would leave again and again.
 */
static void test_late_signal_is_lifted(void **unused)
{
	const unsigned int grid = 12 * FAKE_SMS * FAKE_BLOCKS_PER_SM; /* too few for a proxy */
	struct gs_slot *slot;

	(void)unused;
	assert_int_equal(launch(kernel, grid), CUDA_SUCCESS);
	slot = active();
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	gs_page_store(slot->state, GS_K_DONE);
	EVENTUALLY(all_prepared());
	/* Until a launch gets that slot again. */
	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++) {
		assert_int_equal(launch(kernel, grid), CUDA_SUCCESS);
		if (active() == slot)
			break;
		finish_all();
		EVENTUALLY(all_prepared());
	}
	assert_ptr_equal(active(), slot);
	forget_calls();
	gs_page_store(slot->state, GS_K_READY);
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	await_calls("write-control-4294967295 record-control await-relaunch relaunch-variant");
	/* Once is enough. */
	gs_page_store(slot->state, GS_K_READY);
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	await_calls("relaunch-variant");
	gs_page_store(slot->state, GS_K_DONE);
}

static void test_refused_relaunch_is_tried_again(void **unused)
{
	struct gs_slot *slot;
	char text[4096];

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	gs_page_store(page->grant, 0);
	fake_driver_fail("relaunch-variant", CUDA_ERROR_OUT_OF_MEMORY);
	gs_page_store(slot->state, GS_K_TORUN);
	ring();
	EVENTUALLY(gs_page_load(slot->state) == GS_K_READY);
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	await_call("relaunch-variant", text, sizeof(text));
	gs_page_store(slot->state, GS_K_DONE);
}

static CUresult launch_with(unsigned int shared)
{
	CUdeviceptr p = 0;
	uint32_t n = 0;
	void *args[] = { &p, &n };

	return cuLaunchKernel(kernel, LONG_GRID, 1, 1, 32, 1, 1, shared, STREAM, args, NULL);
}

/* A variant of which far fewer blocks fit is not launched, and the report says why; the driver is
 * asked once. */
static void test_a_variant_that_costs_blocks(void **unused)
{
	struct shim_kernel *k = shim_kernel_find(kernel);
	char text[4096];

	(void)unused;
	fake_driver_fits(4, 3);
	assert_int_equal(launch_with(16), CUDA_SUCCESS);
	fake_driver_calls(text, sizeof(text));
	assert_non_null(strstr(text, "launch-variant"));
	assert_int_equal(fake_driver_grid(), FAKE_SMS * 3);
	finish_all();
	EVENTUALLY(all_prepared());
	fake_driver_fits(3, 2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(launch_with(32), CUDA_SUCCESS);
		fake_driver_calls(text, sizeof(text));
		assert_non_null(strstr(text, "launch-original"));
		assert_null(strstr(text, "launch-variant"));
		finish_all();
		EVENTUALLY(all_prepared());
	}
	assert_int_equal(fake_driver_fit_requested(), 2);
	assert_int_equal(k->why, PTX_REASON_OCCUPANCY);
	/* Of none at all: the same. */
	fake_driver_fits(1, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(launch_with(48), CUDA_SUCCESS);
		fake_driver_calls(text, sizeof(text));
		assert_non_null(strstr(text, "launch-original"));
		finish_all();
		EVENTUALLY(all_prepared());
	}
	assert_int_equal(fake_driver_fit_requested(), 2);
	/* In blocks of another shape it may be evicted as before. */
	fake_driver_fits(FAKE_BLOCKS_PER_SM, FAKE_BLOCKS_PER_SM);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_calls("batch launch-variant wait");
	finish_all();
}

/* It runs until it is evicted with so many block-tasks done, and is relaunched. */
static void evict_at(struct gs_slot *slot, uint64_t done)
{
	gs_page_store(slot->done, done);
	gs_page_store(slot->state, GS_K_READY);
	forget_calls();
	ring();
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
}

/* A first launch may have waited in its stream, so how long it was out says nothing; how long a
 * relaunch was does, if nothing else has told the kernel's time. */
static void test_a_time_is_learned_from_a_relaunch(void **unused)
{
	struct gs_slot *slot;
	uint64_t least_ns = 20 * GS_NS_PER_MS;

	(void)unused;
	assert_int_equal(launch_with(64), CUDA_SUCCESS);
	slot = active();
	assert_int_equal(gs_page_load(slot->alone_ns), 0);
	usleep(20000);
	evict_at(slot, 500);
	finish_all();
	EVENTUALLY(all_prepared());
	assert_int_equal(launch_with(64), CUDA_SUCCESS);
	slot = active();
	assert_int_equal(gs_page_load(slot->alone_ns), 0);
	evict_at(slot, 500);
	usleep((unsigned)(least_ns / GS_NS_PER_US));
	evict_at(slot, 750);
	finish_all();
	EVENTUALLY(all_prepared());
	assert_int_equal(launch_with(64), CUDA_SUCCESS);
	slot = active();
	/* A quarter took so long. */
	assert_true(gs_page_load(slot->alone_ns) >= 3 * least_ns);
	shim_launch_at((uint32_t)(slot - page->slot))->time->tpt_ps = 0; /* other tests know none */
	finish_all();
}

/* The context's kernels hear of another part of the GPU while they wait in their streams, and a
 * relaunch goes out behind that. */
static void test_kernels_hear_of_their_part(void **unused)
{
	struct gs_slot *slot;
	const struct gs_ctl *ctl;
	CUdeviceptr at;
	char text[4096];

	(void)unused;
	gs_page_store(page->priorities.part, GS_PAGE_PARTS);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	memcpy(&at, (const char *)fake_driver_params() + 16, sizeof(at));
	ctl = (const struct gs_ctl *)(uintptr_t)at;
	assert_int_not_equal(ctl->stay_at, 0);
	forget_calls();
	gs_page_store(page->priorities.part, GS_PAGE_PARTS / 2);
	ring();
	await_call("write-control-2147484160", text, sizeof(text));
	assert_int_equal(*(const uint32_t *)((const char *)ctl + ctl->stay_at),
			 gs_ctl_part(GS_CTL_PARTS / 2));
	forget_calls();
	gs_page_store(slot->state, GS_K_READY);
	EVENTUALLY(gs_page_load(slot->state) == GS_K_RUNNING);
	await_call("relaunch-variant", text, sizeof(text));
	assert_non_null(strstr(text, "record-control await-relaunch relaunch-variant"));
	/* All of it again, although nothing is out. */
	finish_all();
	EVENTUALLY(all_prepared());
	forget_calls();
	gs_page_store(page->priorities.part, GS_PAGE_PARTS);
	ring();
	await_call("write-control-0", text, sizeof(text));
	/* Who launches does not wait for the agent, which does not know yet. */
	forget_calls();
	gs_page_store(page->priorities.part, GS_PAGE_PARTS / 2);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	fake_driver_calls(text, sizeof(text));
	assert_non_null(strstr(text, "write-control-2147484160"));
	finish_all();
	EVENTUALLY(all_prepared());
	/* Then nobody looks any more. */
	gs_page_store(page->priorities.part, 0);
	ring();
	await_call("write-control-0", text, sizeof(text));
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	memcpy(&at, (const char *)fake_driver_params() + 16, sizeof(at));
	assert_int_equal(((const struct gs_ctl *)(uintptr_t)at)->stay_at, 0);
	finish_all();
}

int shim_evictions(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_eviction_and_relaunch),
		SHIM(test_call_back),
		SHIM(test_relaunch_with_the_turn),
		SHIM(test_late_signal_is_lifted),
		SHIM(test_refused_relaunch_is_tried_again),
		SHIM(test_a_variant_that_costs_blocks),
		SHIM(test_a_time_is_learned_from_a_relaunch),
		SHIM(test_kernels_hear_of_their_part),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
