/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches and modules: what is called in which order, whatever the daemon does to the page. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/ptx/ctl.h"
#include "device/shim/base/more_cuda.h"
#include "device/shim/launch/untracked.h"
#include "fake_driver.h"
#include "shim_rig.h"

static void test_evictable_launch_is_held(void **unused)
{
	const unsigned char *params = fake_driver_params();
	const struct gs_ctl *ctl;
	CUdeviceptr at;

	(void)unused;
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_calls("batch launch-variant wait");
	assert_int_equal(gs_page_load(active()->state), GS_K_RUNNING);
	assert_int_equal(gs_page_load(active()->flags) & 0xffff,
			 GS_SLOT_EVICTABLE | GS_SLOT_DIVIDES);
	assert_int_not_equal(gs_page_load(active()->flags) >> GS_SLOT_DIMS_SHIFT, 0);
	assert_int_equal(gs_page_load(active()->nt), LONG_GRID);
	assert_int_equal(fake_driver_grid(), FAKE_SMS * FAKE_BLOCKS_PER_SM);
	assert_int_equal(*(const uint64_t *)params, 0x1122334455667788);
	assert_int_equal(*(const uint32_t *)(params + 8), 0x99aabbcc);
	memcpy(&at, params + 16, sizeof(at));
	ctl = (const struct gs_ctl *)(uintptr_t)at;
	assert_int_equal(ctl->total, LONG_GRID);
	assert_int_equal(ctl->workers, FAKE_SMS * FAKE_BLOCKS_PER_SM);
	assert_int_equal(ctl->limit, UINT32_MAX);
	assert_int_equal(ctl->done, 0);
	/* The same slot, at an address of the context's own. */
	gs_page_store(active()->state, GS_K_DONE);
	assert_int_equal(gs_page_load(((const struct gs_slot *)(uintptr_t)ctl->slot)->state),
			 GS_K_DONE);
}

static void test_one_wave_goes_as_is(void **unused)
{
	(void)unused;
	assert_int_equal(launch(kernel, FAKE_SMS * FAKE_BLOCKS_PER_SM), CUDA_SUCCESS);
	/* started = 1, the kernel, DONE: the fake GPU does each at once. */
	expect_calls("write-1 launch-original write-5");
}

/* The flags of the launch of so many blocks. */
static uint32_t flags_of(unsigned int blocks)
{
	assert_int_equal(launch(FAKE_MACHINE_CODE, blocks), CUDA_SUCCESS);
	forget_calls();
	for (unsigned i = 0; i < GS_PAGE_SLOTS; i++)
		if (gs_page_load(page->slot[i].nt) == blocks)
			return gs_page_load(page->slot[i].flags);
	fail_msg("no launch of %u blocks", blocks);
	return 0;
}

/* A kernel that leaves half of the multiprocessors to others says so, as a collective's does. */
static void test_few_blocks_are_told(void **unused)
{
	(void)unused;
	assert_true(flags_of(FAKE_SMS / 2) & GS_SLOT_FEW);
	assert_false(flags_of(FAKE_SMS / 2 + 1) & GS_SLOT_FEW);
}

static void test_machine_code_goes_as_is(void **unused)
{
	(void)unused;
	assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
	expect_calls("write-1 launch-original write-5");
}

/* What it takes in blocks of one shape says nothing of another. */
static void test_time_is_of_the_block_dimensions(void **unused)
{
	static CUdeviceptr p;
	static uint32_t n;
	void *args[] = { &p, &n };
	const unsigned int dims[][3] = {
		{ 32, 1, 1 }, { 8, 4, 1 }, { 4, 4, 2 }, { 2, 4, 4 }, { 1, 1, 32 }
	};
	struct shim_kernel *k = shim_kernel_find(kernel);

	(void)unused;
	shim_kernel_time(k, dims[0], LONG_GRID)->tpt_ps = 1000;
	shim_kernel_time(k, dims[0], LONG_GRID)->due =
		UINT64_MAX; /* it is not timed, so it rides */
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	expect_calls("launch-original");
	assert_int_equal(cuLaunchKernel(kernel, LONG_GRID, 1, 1, 8, 4, 1, 0, STREAM, args, NULL),
			 CUDA_SUCCESS);
	expect_calls("batch launch-variant wait");
	gs_page_store(active()->state, GS_K_DONE);
	shim_kernel_time(k, dims[0], LONG_GRID)->tpt_ps =
		shim_kernel_time(k, dims[0], LONG_GRID)->due = 0;
	/* Beyond what is told apart they are one. */
	assert_ptr_not_equal(shim_kernel_time(k, dims[1], LONG_GRID),
			     shim_kernel_time(k, dims[2], LONG_GRID));
	assert_ptr_equal(shim_kernel_time(k, dims[3], LONG_GRID),
			 shim_kernel_time(k, dims[4], LONG_GRID));
	assert_ptr_equal(shim_kernel_time(k, dims[2], LONG_GRID),
			 shim_kernel_time(k, dims[2], LONG_GRID));
}

/*
 * Nor does what a few blocks take say what many do: by the time of a launch of 16, which is mostly
 * what any launch takes, one of 2^20 would be taken for a long kernel.
 */
static void test_time_is_of_a_size(void **unused)
{
	static const unsigned int block[3] = { 32, 1, 1 };
	struct shim_kernel *k = shim_kernel_find(kernel);
	struct shim_time *few = shim_kernel_time(k, block, LONG_GRID),
			 *many = shim_kernel_time(k, block, 1 << 20);

	(void)unused;
	assert_ptr_not_equal(few, many);
	assert_ptr_equal(many, shim_kernel_time(k, block, 1 << 18));
	assert_ptr_not_equal(many, shim_kernel_time(k, block, (1 << 18) - 1));
	few->tpt_ps = UINT64_C(5000000) / FAKE_SMS;
	many->tpt_ps = 1000;
	few->due = many->due = UINT64_MAX;
	assert_int_equal(launch(kernel, 1 << 20), CUDA_SUCCESS);
	expect_calls("launch-original");
	assert_int_equal(shim_time_untracked(many), 1);
	few->tpt_ps = few->due = many->tpt_ps = many->due = 0;
}

/* A launch says what it took as it is reclaimed, though its events come after its last word. */
static void test_what_it_took_is_told(void **unused)
{
	struct shim_time *time = shim_kernel_time(shim_kernel_find(kernel),
						  (const unsigned int[3]) { 32, 1, 1 }, LONG_GRID);
	struct gs_slot *slot;

	(void)unused;
	time->tpt_ps = time->due = 0;
	fake_driver_takes(2);
	fake_driver_late(2);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	assert_int_equal(gs_page_load(slot->alone_ns), 0);
	assert_int_equal(gs_page_load(slot->flags) & GS_SLOT_TIMED, 0);
	gs_page_store(slot->state, GS_K_DONE);
	EVENTUALLY(gs_page_load(slot->state) == GS_K_PREP);
	assert_int_equal(gs_page_load(slot->alone_ns), 2 * GS_NS_PER_MS);
	assert_true(gs_page_load(slot->flags) & GS_SLOT_TIMED);
	/* Not if they never come. */
	time->due = 0;
	fake_driver_late(INT32_MAX);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	gs_page_store(slot->state, GS_K_DONE);
	EVENTUALLY(gs_page_load(slot->state) == GS_K_PREP);
	assert_int_equal(gs_page_load(slot->flags) & GS_SLOT_TIMED, 0);
	fake_driver_late(0);
	fake_driver_takes(0);
	time->tpt_ps = time->due = 0;
}

static void *launch_in_thread(void *rc)
{
	*(CUresult *)rc = launch(kernel, LONG_GRID);
	return NULL;
}

static void test_without_the_turn_it_waits(void **unused)
{
	CUresult rc = CUDA_ERROR_UNKNOWN;
	struct gs_slot *slot;
	pthread_t thread;

	(void)unused;
	gs_page_store(page->grant, 0);
	pthread_create(&thread, NULL, launch_in_thread, &rc);
	EVENTUALLY(gs_page_load(active()->state) == GS_K_READY);
	slot = active();
	usleep(30000);
	expect_calls("");
	assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
	ring();
	pthread_join(thread, NULL);
	assert_int_equal(rc, CUDA_SUCCESS);
	expect_calls("batch launch-variant wait");
	gs_page_store(slot->state, GS_K_DONE);
}

static void *by_launch(void *rc)
{
	*(CUresult *)rc = cuLaunch(FAKE_ORIGINAL);
	return NULL;
}

static void *by_grid(void *rc)
{
	*(CUresult *)rc = cuLaunchGrid(FAKE_ORIGINAL, 3, LONG_GRID);
	return NULL;
}

static void *by_grid_async(void *rc)
{
	*(CUresult *)rc = cuLaunchGridAsync(FAKE_ORIGINAL, 3, LONG_GRID, STREAM);
	return NULL;
}

static void *on_devices(void *rc)
{
	CUDA_LAUNCH_PARAMS list[3] = { {
		.function = FAKE_ORIGINAL,
		.gridDimX = LONG_GRID,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = STREAM,
	} };

	*(CUresult *)rc = cuLaunchCooperativeKernelMultiDevice(list, 3, 0);
	return NULL;
}

/* The calls of CUDA 2 and 3, and the one on several devices, wait for the time slice as well, and
 * are told of. */
static void test_no_launch_goes_without_the_turn(void **unused)
{
	static const struct {
		void *(*body)(void *);
		const char *calls;
		unsigned int grid;
	} by[] = {
		{ by_launch, "write-1 launch-old write-5", 0 },
		{ by_grid, "write-1 launch-grid write-5", 3 * LONG_GRID },
		{ by_grid_async, "write-1 launch-async write-5", 3 * LONG_GRID },
		{ on_devices, "write-1 launch-devices write-5", 3 * LONG_GRID },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
		CUresult rc = CUDA_ERROR_UNKNOWN;
		struct gs_slot *slot;
		pthread_t thread;

		gs_page_store(page->grant, 0);
		pthread_create(&thread, NULL, by[i].body, &rc);
		EVENTUALLY(gs_page_load(active()->state) == GS_K_READY);
		slot = active();
		usleep(20000);
		expect_calls("");
		assert_true(gs_slot_move(slot, GS_K_READY, GS_K_TORUN));
		ring();
		pthread_join(thread, NULL);
		assert_int_equal(rc, CUDA_SUCCESS);
		expect_calls(by[i].calls);
		if (by[i].grid)
			assert_int_equal(fake_driver_grid(), by[i].grid);
		gs_page_store(page->grant, 1);
		EVENTUALLY(all_prepared());
	}
}

/* It says that it looks for its time slice, and that it has gone to sleep. */
static void test_awake_while_it_waits(void **unused)
{
	CUresult rc = CUDA_ERROR_UNKNOWN;
	pthread_t thread;

	(void)unused;
	gs_page_store(page->grant, 0);
	assert_int_equal(gs_page_load(page->awake), 0);
	assert_int_equal(pthread_create(&thread, NULL, launch_in_thread, &rc), 0);
	EVENTUALLY(gs_page_load(active()->state) == GS_K_READY);
	EVENTUALLY(gs_page_load(page->awake) == 0); /* after 200 us */
	assert_true(gs_slot_move(active(), GS_K_READY, GS_K_TORUN));
	gs_page_doorbell_for(page, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(rc, CUDA_SUCCESS);
	assert_int_equal(gs_page_load(page->awake), 0);
	finish_all();
}

/* Who has its launch away does not count: the daemon would take it for somebody who looks. */
static void test_not_awake_once_it_goes(void **unused)
{
	CUresult rc = CUDA_ERROR_UNKNOWN;
	pthread_t thread;
	unsigned counted = 0;

	(void)unused;
	for (int i = 0; i < 500; i++) {
		struct gs_slot *slot;

		gs_page_store(page->grant, 0);
		assert_int_equal(pthread_create(&thread, NULL, launch_in_thread, &rc), 0);
		EVENTUALLY(gs_page_load(active()->state) == GS_K_READY);
		slot = active();
		gs_page_store(page->grant, 1);
		ring();
		while (gs_page_load(slot->state) != GS_K_RUNNING)
			;
		counted += gs_page_load(page->awake);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(rc, CUDA_SUCCESS);
		finish_all();
		EVENTUALLY(all_prepared());
	}
	assert_int_equal(counted, 0);
	assert_int_equal(gs_page_load(page->awake), 0);
}

/* The daemon reads the page up to there. */
static void test_few_slots_are_used(void **unused)
{
	(void)unused;
	for (int i = 0; i < 40; i++) {
		assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
		assert_true(active() < &page->slot[gs_page_slots(page)]);
		finish_all();
		EVENTUALLY(all_prepared());
	}
	assert_true(gs_page_slots(page) <= 16);
}

static void test_failed_launch_leaves_nothing(void **unused)
{
	(void)unused;
	fake_driver_fail("launch-variant", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	assert_int_equal(gs_page_load(page->slot[0].state), GS_K_PREP);
	assert_true(all_prepared());
	/* Nor does a hold: this returns at once. */
	assert_int_equal(cuMemFree_v2(0), CUDA_SUCCESS);
}

/* What a failed launch meant to write is not taken for written by the next one that wants the same.
 */
static void test_failed_writes_are_made_again(void **unused)
{
	const unsigned char *params = fake_driver_params();
	const struct gs_ctl *ctl;
	CUdeviceptr at;

	(void)unused;
	for (int i = 0; i < (int)GS_PAGE_SLOTS; i++) {
		fake_driver_fail("batch", CUDA_ERROR_OUT_OF_MEMORY);
		assert_int_equal(launch(kernel, 3 * LONG_GRID), CUDA_ERROR_OUT_OF_MEMORY);
	}
	forget_calls();
	assert_int_equal(launch(kernel, 3 * LONG_GRID), CUDA_SUCCESS);
	expect_calls("batch launch-variant wait");
	memcpy(&at, params + 16, sizeof(at));
	ctl = (const struct gs_ctl *)(uintptr_t)at;
	assert_int_equal(ctl->total, 3 * LONG_GRID);
	gs_page_store(active()->state, GS_K_DONE);
	EVENTUALLY(all_prepared());
	/* Nor after one that was refused because no daemon is there. */
	gs_page_store(page->grant, 0);
	shim_session()->absent = GS_ABSENT_FAIL;
	for (int i = 0; i < (int)GS_PAGE_SLOTS; i++)
		assert_int_equal(launch(kernel, 4 * LONG_GRID), CUDA_ERROR_SYSTEM_NOT_READY);
	shim_session()->absent = GS_ABSENT_WAIT;
	gs_page_store(page->grant, 1);
	assert_int_equal(launch(kernel, 4 * LONG_GRID), CUDA_SUCCESS);
	expect_calls("batch launch-variant wait");
	memcpy(&at, params + 16, sizeof(at));
	ctl = (const struct gs_ctl *)(uintptr_t)at;
	assert_int_equal(ctl->total, 4 * LONG_GRID);
	gs_page_store(active()->state, GS_K_DONE);
}

/* A kernel may wait for what its program does after the next launch: that one returns. */
static void test_a_full_queue_is_no_wall(void **unused)
{
	struct shim_launch *waits = shim_launch_take(shim_session());
	uint64_t from = gs_clock_ns();

	(void)unused;
	alarm(10);
	shim_launch_queue(waits, STREAM, 2 * SHIM_ALONE_NS, 0);
	assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
	alarm(0);
	expect_calls("write-1 launch-original write-5");
	/* Not at once: it might have ended. */
	assert_true(gs_clock_ns() - from > 40 * GS_NS_PER_MS);
	shim_launch_drop(waits);
	EVENTUALLY(shim_launch_queued_ns() == 0);
}

/* More launches than slots: the pool reclaims and goes on. */
static void test_pool_is_reclaimed(void **unused)
{
	(void)unused;
	for (int i = 0; i < 3 * (int)GS_PAGE_SLOTS; i++)
		assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
}

/* The handle of a destroyed context comes again: nothing of the first one may be used in the
 * second. */
static void test_a_context_with_the_handle_of_another(void **unused)
{
	const CUfunction fresh = (CUfunction)0x4000; /* its first four launches are timed */

	(void)unused;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(launch(fresh, 1), CUDA_SUCCESS);
		assert_true(fake_driver_events() >= 2);
		gs_page_store(active()->state, GS_K_DONE);
		if (i == 1)
			shim_rig_idle(NULL); /* one is seen to be over before its context goes, the
						others after */
		shim_context_gone(FAKE_CONTEXT);
		fake_driver_reuse();
		shim_context_destroyed(FAKE_CONTEXT);
		shim_rig_idle(NULL);
	}
	assert_int_equal(fake_driver_stale(), 0);
	shim_rig_load();
}

static _Atomic int waited;

static void *end_context(void *unused)
{
	(void)unused;
	shim_context_gone(FAKE_CONTEXT);
	waited = 1;
	return NULL;
}

/* Whoever is in a context is awaited before it is destroyed, and nobody gets in any more; unless
 * the driver refuses. */
static void test_a_context_in_use_is_not_destroyed(void **unused)
{
	struct shim_context *c = shim_context_current(shim_session());
	pthread_t thread;

	(void)unused;
	assert_non_null(c);
	assert_true(shim_context_use(c));
	assert_int_equal(pthread_create(&thread, NULL, end_context, NULL), 0);
	while (!c->gone)
		usleep(1000);
	usleep(20000);
	assert_int_equal(waited, 0);
	assert_false(shim_context_use(c));
	shim_context_unuse(c);
	pthread_join(thread, NULL);
	assert_int_equal(waited, 1);
	shim_context_stays(FAKE_CONTEXT);
	assert_true(shim_context_use(c));
	shim_context_unuse(c);
	assert_ptr_equal(shim_context_current(shim_session()), c);
	shim_rig_load(); /* its functions have been forgotten */
}

static void test_broken_ptx_goes_to_the_driver(void **unused)
{
	CUmodule module;

	(void)unused;
	assert_int_equal(cuModuleLoadData(&module, ".version 7.0 @#!"), CUDA_SUCCESS);
	expect_calls("load");
}

static void test_proc_address_gives_wrappers(void **unused)
{
	(void)unused;
	assert_ptr_equal(shim_wrapper_of(shim_real(SHIM_FN_cuLaunchKernel)),
			 (void *)(uintptr_t)cuLaunchKernel);
	assert_null(shim_wrapper_of((void *)(uintptr_t)shim_wrapper_of));
	/* What keeps the barrier rule and nothing else, too, and what is only counted. */
	assert_ptr_equal(shim_wrapper_of(shim_real(SHIM_FN_cuMemcpyDtoH_v2)),
			 (void *)(uintptr_t)cuMemcpyDtoH);
	assert_ptr_equal(shim_wrapper_of(shim_real(SHIM_FN_cuStreamGetFlags)),
			 (void *)(uintptr_t)cuStreamGetFlags);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_evictable_launch_is_held),
		SHIM(test_one_wave_goes_as_is),
		SHIM(test_machine_code_goes_as_is),
		SHIM(test_time_is_of_a_size), /* of this kernel, before the next */
		SHIM(test_time_is_of_the_block_dimensions),
		SHIM(test_what_it_took_is_told),
		SHIM(test_without_the_turn_it_waits),
		SHIM(test_no_launch_goes_without_the_turn),
		SHIM(test_awake_while_it_waits),
		SHIM(test_not_awake_once_it_goes),
		SHIM(test_few_slots_are_used),
		SHIM(test_failed_launch_leaves_nothing),
		SHIM(test_failed_writes_are_made_again),
		SHIM(test_a_full_queue_is_no_wall),
		SHIM(test_pool_is_reclaimed),
		SHIM(test_a_context_with_the_handle_of_another),
		SHIM(test_a_context_in_use_is_not_destroyed),
		SHIM(test_broken_ptx_goes_to_the_driver),
		SHIM(test_proc_address_gives_wrappers),
		SHIM(test_few_blocks_are_told),
	};
	int failures = cmocka_run_group_tests(tests, shim_rig_setup, NULL);

	failures += shim_preenqueued() + shim_untracked() + shim_evictions() + shim_signals() +
		    shim_guarded_launches() + shim_watchers() + shim_holds() + shim_graphs() +
		    shim_queues() + shim_unlisted() + shim_waits() + shim_reports() +
		    shim_launch_barriers();
	failures += shim_neighbours();
	return failures + shim_contexts();
}
