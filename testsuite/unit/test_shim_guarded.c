/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guarded kernels: launched with the program's grid, told to leave, launched again from what has
 * run. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/base/origin.h"
#include "fake_driver.h"
#include "guarded_rig.h"

#define RESIDENT (FAKE_SMS * FAKE_BLOCKS_PER_SM)

/* What it needs beside its variant is made once, with the barrier closed. */
static void test_it_has_the_programs_grid(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	slot = guarded_launched("alloc batch launch-guarded launch-end wait");
	assert_int_equal(fake_driver_grid(), LONG_GRID);
	assert_int_equal(guarded_sent()->p, 0x1122334455667788);
	assert_int_equal(guarded_sent()->n, 0x99aabbcc);
	assert_int_equal(guarded_sent()->guard.base, 0);
	assert_int_equal(guarded_sent()->guard.group, 0);
	assert_int_equal(*guarded_word(), 0);
	assert_int_equal(gs_page_load(slot->started), 1);
	assert_true(gs_page_load(slot->flags) & GS_SLOT_EVICTABLE);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	guarded_ends(guarded_launched("batch launch-guarded launch-end wait"), LONG_GRID,
		     GS_K_DONE);
}

/* It is told to leave, and does so when 400 of its blocks have run. */
static void leaves_at_400(struct gs_slot *slot)
{
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*guarded_word() == GS_GUARD_LEAVE);
	*guarded_word() = GS_GUARD_LEAVE | 400;
	guarded_ends(slot, 400, GS_K_READY);
	usleep(20000);
	forget_calls();
}

/* Told to leave, it goes on where it left, and gets somewhere whatever is ordered then. */
static void test_it_goes_on(void **unused)
{
	struct gs_slot *slot = guarded_launched("batch launch-guarded launch-end wait");
	struct shim_launch *l = shim_launch_at((uint32_t)(slot - page->slot));

	(void)unused;
	leaves_at_400(slot);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	await_calls("write-control-0 record-control await-relaunch batch relaunch-guarded "
		    "relaunch-end");
	assert_int_equal(fake_driver_grid(), LONG_GRID);
	assert_int_equal(guarded_sent()->guard.base, 400);
	assert_int_equal(*guarded_word(), 400 + RESIDENT);
	/* Told again before it heeded anything, within 1 us: the next time it gets twice as far. */
	EVENTUALLY(l->progress.began == 400);
	l->progress.left_ns = l->progress.out_ns + 1000;
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	guarded_ends(slot, 400 + RESIDENT, GS_K_READY);
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(*guarded_word() == 400 + RESIDENT + 2 * RESIDENT);
	assert_int_equal(gs_page_load(slot->started), 1);
	assert_int_equal(gs_page_load(slot->evictions), 2);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
}

/* It is given four times the time that all other blocks take to leave. */
static void test_a_slice_is_worth_the_way(void **unused)
{
	const uint64_t tasks = 100000, way_us = shim_emulated() ? 100000 : 60;
	struct shim_launch *l;
	struct gs_slot *slot;

	(void)unused;
	assert_int_equal(launch(guarded, (unsigned int)tasks), CUDA_SUCCESS);
	slot = active();
	l = shim_launch_at((uint32_t)(slot - page->slot));
	l->time->tpt_ps = 4 * way_us * 1000000 / 2400; /* 2,400 blocks are worth it */
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*guarded_word() == GS_GUARD_LEAVE);
	guarded_ends(slot, 5000, GS_K_READY);
	ring();
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	forget_calls();
	ring();
	EVENTUALLY(*guarded_word() != GS_GUARD_LEAVE);
	assert_int_equal(*guarded_word(), 5000 + 2400);
	l->time->tpt_ps = 0;
	guarded_ends(slot, tasks, GS_K_DONE);
}

/* Told to leave as it ended: the slot's next launch does not leave for that. */
static void test_a_late_order_is_nobodys(void **unused)
{
	struct gs_slot *slot = guarded_launched("batch launch-guarded launch-end wait");

	(void)unused;
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*guarded_word() == GS_GUARD_LEAVE);
	gs_page_store(slot->done, LONG_GRID);
	gs_page_store(slot->state, GS_K_DONE);
	EVENTUALLY(all_prepared());
	forget_calls();
	for (uint32_t i = 0; i < 8; i++) { /* each slot that is used comes along */
		slot = guarded_launched("batch launch-guarded launch-end wait");
		assert_int_equal(*guarded_word(), 0);
		guarded_ends(slot, LONG_GRID, GS_K_DONE);
		EVENTUALLY(all_prepared());
	}
}

/*
 * Called back, it may begin before the agent knows.  If the agent then lifted the order, blocks
 * that ask later would run and count the earlier ones, which have left, as done.
 */
static void test_an_order_stands(void **unused)
{
	struct guarded_out o = guarded_launched_in(STREAM);
	char text[4096];

	(void)unused;
	gs_page_store(page->grant, 0);
	guarded_tell_unstarted(&o);
	forget_calls();
	gs_page_store(page->grant, 1);
	assert_true(gs_slot_move(o.slot, GS_K_TOEVICT, GS_K_RUNNING));
	ring();
	EVENTUALLY(gs_page_load(page->heard) == gs_page_load(page->doorbell));
	usleep(20000);
	fake_driver_calls(text, sizeof(text));
	assert_null(strstr(text, "write-control-0"));
	assert_int_equal(*o.word, GS_GUARD_LEAVE);
	/* It has begun only to leave, and is relaunched without the order. */
	forget_calls();
	guarded_ends(o.slot, 0, GS_K_READY);
	await_calls("write-control-0 record-control await-relaunch batch relaunch-guarded "
		    "relaunch-end");
	assert_int_equal(*o.word, RESIDENT);
	guarded_ends(o.slot, LONG_GRID, GS_K_DONE);
}

/* What waits in the stream of one that has left cannot have begun: its order is lifted before that
 * one's relaunch, so that it need not start only to leave. */
static void test_orders_behind_are_lifted(void **unused)
{
	struct guarded_out first, behind, other, reused;

	(void)unused;
	first = guarded_launched_in(STREAM);
	behind = guarded_launched_in(STREAM);
	other = guarded_launched_in((CUstream)0x7100);
	assert_int_equal(cuStreamDestroy_v2(STREAM), CUDA_SUCCESS);
	reused = guarded_launched_in(STREAM); /* another stream, which has got its handle */
	gs_page_store(page->grant, 0);
	guarded_tell_unstarted(&behind);
	guarded_tell_unstarted(&other);
	guarded_tell_unstarted(&reused);
	assert_true(gs_slot_move(first.slot, GS_K_RUNNING, GS_K_TOEVICT));
	*first.word = GS_GUARD_LEAVE | 400;
	guarded_ends(first.slot, 400, GS_K_READY);
	usleep(20000);
	forget_calls();
	assert_true(gs_slot_move(first.slot, GS_K_READY, GS_K_TORUN));
	assert_true(gs_slot_move(behind.slot, GS_K_TOEVICT, GS_K_RUNNING));
	assert_true(gs_slot_move(other.slot, GS_K_TOEVICT, GS_K_RUNNING));
	assert_true(gs_slot_move(reused.slot, GS_K_TOEVICT, GS_K_RUNNING));
	ring();
	await_calls("write-control-0 write-control-0 record-control await-relaunch batch "
		    "relaunch-guarded relaunch-end");
	assert_int_equal(*first.word, 400 + RESIDENT);
	assert_int_equal(*behind.word, 0);
	assert_int_equal(*other.word, GS_GUARD_LEAVE);
	assert_int_equal(*reused.word, GS_GUARD_LEAVE);
	*first.word = *behind.word = *other.word = *reused.word = 0;
	finish_all();
}

static CUresult launch_with(CUlaunchAttributeID id, unsigned int value)
{
	static CUdeviceptr p;
	static uint32_t n;
	void *args[] = { &p, &n };
	CUlaunchAttribute attr = { .id = id, .value.clusterDim = { value, 1, 1 } };
	CUlaunchConfig config = { LONG_GRID, 1, 1, 32, 1, 1, 0, STREAM, &attr, 1 };

	return cuLaunchKernelEx(&config, guarded, args, NULL);
}

static void expect_as_written(CUlaunchAttributeID id, unsigned int value, enum ptx_reason why)
{
	assert_int_equal(launch_with(id, value), CUDA_SUCCESS);
	assert_ptr_equal(fake_launched, guarded);
	assert_int_equal(shim_kernel_why(guarded_record), why);
	EVENTUALLY(all_prepared());
	forget_calls();
}

/* Its grid and its blocks are the program's, so what is said of them holds. */
static void test_attributes(void **unused)
{
	(void)unused;
	expect_as_written(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1, PTX_REASON_COOPERATIVE);
	expect_as_written(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1, PTX_REASON_PDL);
	expect_as_written(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, 1, PTX_REASON_PDL);
	expect_as_written(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 2, PTX_REASON_CLUSTER);
	expect_as_written(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, 1,
			  PTX_REASON_LAUNCH_ATTRIBUTE);
	assert_int_equal(launch_with(CU_LAUNCH_ATTRIBUTE_PRIORITY, 0), CUDA_SUCCESS);
	expect_calls("batch attribute launch-guarded launch-end wait");
	guarded_ends(active(), LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	assert_int_equal(launch_with(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 0), CUDA_SUCCESS);
	expect_calls("batch launch-guarded launch-end wait");
	guarded_ends(active(), LONG_GRID, GS_K_DONE);
}

/* The daemon's bound for the time that a kernel takes to leave. */
static void test_one_that_leaves_late_goes_as_written(void **unused)
{
	const unsigned int dims[3] = { 32, 1, 1 };
	struct shim_time *time = shim_kernel_time(guarded_record, dims, LONG_GRID);
	uint64_t tpt_ps = time->tpt_ps, leave_us;
	struct gs_slot *slot;

	(void)unused;
	time->tpt_ps = GS_NS_PER_S; /* a ms for each block */
	slot = guarded_launched("batch launch-guarded launch-end wait");
	leave_us = gs_page_load(slot->leave_ns) / GS_NS_PER_US;
	assert_in_range(leave_us, 1000, 1000000);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	for (unsigned int more = 0; more < 2; more++) {
		gs_page_store(page->priorities.leave_most_us, leave_us - 1 + 2 * more);
		time->tpt_ps = GS_NS_PER_S; /* that launch may have been timed */
		assert_int_equal(launch(guarded, LONG_GRID), CUDA_SUCCESS);
		assert_ptr_equal(fake_launched, more ? FAKE_GUARDED : guarded);
		if (more)
			guarded_ends(active(), LONG_GRID, GS_K_DONE);
		else
			assert_int_equal(shim_kernel_why(guarded_record), PTX_REASON_LEAVES_LATE);
		finish_all();
		EVENTUALLY(all_prepared());
	}
	forget_calls();
	gs_page_store(page->priorities.leave_most_us, 0);
	time->tpt_ps = tpt_ps;
}

/* A cluster runs or leaves as a whole, and is asked with others. */
static void test_clusters_and_groups(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	guarded_variant->by_cluster = 1;
	guarded_variant->group = 3;
	assert_int_equal(launch_with(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 2), CUDA_SUCCESS);
	expect_calls("batch attribute launch-guarded launch-end wait");
	assert_int_equal(guarded_sent()->guard.group, 3);
	slot = active();
	gs_page_store(page->grant, 0);
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*guarded_word() == GS_GUARD_LEAVE);
	guarded_ends(slot, 320, GS_K_READY); /* 160 clusters, 20 groups */
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(*guarded_word() != GS_GUARD_LEAVE);
	assert_int_equal(*guarded_word(), 21); /* 4 clusters more */
	EVENTUALLY(guarded_sent()->guard.base == 160);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
	guarded_variant->by_cluster = guarded_variant->group = 0;
}

/* The driver takes the kernel and refuses what belongs behind it: the program has its error, and
 * the slot stays taken until the kernel has ended. The next one is right. */
static void test_a_refused_end(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	fake_driver_fail("launch-end", CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(launch(guarded, LONG_GRID), CUDA_ERROR_OUT_OF_MEMORY);
	expect_calls("batch launch-guarded launch-end write-5");
	EVENTUALLY(all_prepared());
	assert_int_equal(atomic_load(&shim_held[0]), 0);
	*guarded_word() = 7; /* as the kernel left it */
	for (uint32_t i = 0; i < 8; i++) {
		slot = guarded_launched("batch launch-guarded launch-end wait");
		assert_int_equal(*guarded_word(), 0);
		guarded_ends(slot, LONG_GRID, GS_K_DONE);
		EVENTUALLY(all_prepared());
	}
}

/* All of it is in the stream but the wait behind it: it runs to its end, and nobody evicts it,
 * since what the program enqueues next would run too early. */
static void test_a_refused_wait(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	fake_driver_fail("wait", CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(launch(guarded, LONG_GRID), CUDA_ERROR_OUT_OF_MEMORY);
	expect_calls("batch launch-guarded launch-end wait");
	slot = active();
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	assert_false(gs_page_load(slot->flags) & GS_SLOT_EVICTABLE);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
	EVENTUALLY(all_prepared());
	assert_int_equal(atomic_load(&shim_held[0]), 0);
	guarded_ends(guarded_launched("batch launch-guarded launch-end wait"), LONG_GRID,
		     GS_K_DONE);
	EVENTUALLY(all_prepared());
}

/* The driver takes the relaunch, but not what belongs behind it: the kernel is in the stream, and
 * launched once more it would run its blocks twice. */
static void test_a_refused_end_of_a_relaunch(void **unused)
{
	struct gs_slot *slot = guarded_launched("batch launch-guarded launch-end wait");

	(void)unused;
	leaves_at_400(slot);
	fake_driver_fail("relaunch-end", CUDA_ERROR_OUT_OF_MEMORY);
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	EVENTUALLY(gs_page_load(slot->state) == GS_K_READY);
	*guarded_word() += 100; /* as its blocks do */
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	await_calls("relaunch-end");
	assert_int_equal(*guarded_word(), 400 + RESIDENT + 100);
	assert_int_equal(gs_page_load(slot->started), 1);
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	/* And the next one is a whole one again. */
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_TOEVICT));
	ring();
	EVENTUALLY(*guarded_word() & GS_GUARD_LEAVE);
	guarded_ends(slot, 600, GS_K_READY);
	usleep(20000);
	forget_calls();
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	await_calls("write-control-0 record-control await-relaunch batch relaunch-guarded "
		    "relaunch-end");
	assert_int_equal(guarded_sent()->guard.base, 600);
	guarded_ends(slot, LONG_GRID, GS_K_DONE);
}

int shim_guarded_launches(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_it_has_the_programs_grid),
		SHIM(test_it_goes_on),
		SHIM(test_a_slice_is_worth_the_way),
		SHIM(test_a_late_order_is_nobodys),
		SHIM(test_an_order_stands),
		SHIM(test_orders_behind_are_lifted),
		SHIM(test_one_that_leaves_late_goes_as_written),
		SHIM(test_attributes),
		SHIM(test_clusters_and_groups),
		SHIM(test_a_refused_end),
		SHIM(test_a_refused_wait),
		SHIM(test_a_refused_end_of_a_relaunch),
	};

	return cmocka_run_group_tests(tests, guarded_setup, NULL);
}
