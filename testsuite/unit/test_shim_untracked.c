/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Short launches that go untracked without a slot: which do, how they are counted and told of, and
 * when they are timed. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/shim/context/context.h"
#include "device/shim/context/order.h"
#include "device/shim/launch/untracked.h"
#include "fake_driver.h"
#include "shim_rig.h"

/* Launches that take 0.9 ms, of `n`, that have marks of their own. */
static unsigned tracked(unsigned n)
{
	unsigned slots = 0;

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
		if (!all_prepared()) {
			slots++;
			finish_all();
			EVENTUALLY(all_prepared());
		}
	}
	return slots;
}

/* Marks cost the GPU time: fewer of them where nobody else has used it of late. */
static void test_untracked(void **unused)
{
	struct shim_time *time = shim_kernel_time(shim_kernel_find(FAKE_MACHINE_CODE),
						  (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);

	(void)unused;
	time->tpt_ps = 900 * 1000 * 1000 / LONG_GRID;
	time->due = UINT64_MAX; /* none is timed */
	tracked(4);             /* what went untracked before is with a slot by then */
	gs_page_store(page->shared, 1);
	assert_in_range(tracked(20), 10, 11); /* every other one */
	/* The daemon should see within 0.5 ms when they end, or at once. */
	time->tpt_ps = 200 * 1000 * 1000 / LONG_GRID;
	gs_page_store(page->contended, GS_CONTENDED_SPARSE);
	assert_in_range(tracked(21), 7, 8); /* one in three */
	gs_page_store(page->contended, GS_CONTENDED_TRACKED);
	assert_int_equal(tracked(20), 20);
	gs_page_store(page->contended, GS_CONTENDED_NOT);
	time->tpt_ps = 900 * 1000 * 1000 / LONG_GRID;
	gs_page_store(page->shared, 0);
	assert_in_range(tracked(54), 2, 4);  /* one in eighteen */
	gs_page_store(page->only, 1);        /* nobody else has even come */
	assert_in_range(tracked(429), 2, 4); /* one in 143 */
	gs_page_store(page->only, 0);
	tracked(17);
	time->tpt_ps = time->due = 0;
}

/* A launch that waits at the barrier may find the time slice gone by then: it needs a slot. */
static void test_none_untracked_that_grows(void **unused)
{
	struct shim_kernel *k = shim_kernel_find(FAKE_MACHINE_CODE);
	struct shim_time *time =
		shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	uint32_t was;

	(void)unused;
	tracked(1); /* its frame is counted */
	was = k->local_bytes[0];
	time->tpt_ps = 1000;
	time->due = UINT64_MAX;
	tracked(4);
	assert_int_equal(tracked(1), 0);
	k->local_bytes[0] = shim_context_current(shim_session())->local_bytes + 1024;
	assert_int_equal(tracked(2), 1); /* it grows once */
	k->local_bytes[0] = was;
	time->tpt_ps = time->due = 0;
}

#define UNTRACKED_THREADS 4
#define UNTRACKED_LAUNCHES 3000

static void *launch_untracked(void *unused)
{
	for (int i = 0; i < UNTRACKED_LAUNCHES; i++)
		assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	return unused;
}

static uint64_t highest_number(void)
{
	uint64_t highest = 0;

	for (uint32_t i = 0; i < GS_PAGE_SLOTS; i++)
		if (gs_page_load(page->slot[i].seq) > highest)
			highest = gs_page_load(page->slot[i].seq);
	return highest;
}

static const struct gs_slot *last_slot(void)
{
	uint64_t highest = highest_number();
	const struct gs_slot *slot = page->slot;

	while (gs_page_load(slot->seq) != highest)
		slot++;
	return slot;
}

/*
 * A kernel of a few block-tasks takes as long as one of a block-task per SM: what a
 * small grid has taught must not make a large one look long (PyTorch's
 * element-wise kernels come in all sizes).
 */
static void test_small_grids_do_not_make_large_ones_long(void **unused)
{
	struct shim_time *time = shim_kernel_time(shim_kernel_find(FAKE_MACHINE_CODE),
						  (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	uint64_t us;

	(void)unused;
	time->tpt_ps = time->due = 0;
	fake_driver_takes(0.003f);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
		finish_all();
		EVENTUALLY(all_prepared());
		time->due = 0;
	}
	assert_int_equal(time->tpt_ps / (3000 * 1000 / FAKE_SMS), 1);
	/* LONG_GRID times as many would take so many times as long; of a larger one it says nothing
	 * (test_time_is_of_a_size). */
	assert_int_equal(launch(FAKE_MACHINE_CODE, LONG_GRID), CUDA_SUCCESS);
	us = gs_page_load(last_slot()->alone_ns) / 1000;
	assert_in_range(us, 1, 3 * LONG_GRID / FAKE_SMS + 1);
	finish_all();
	EVENTUALLY(all_prepared());
	fake_driver_takes(0);
	time->tpt_ps = time->due = 0;
}

/* Whoever launches meanwhile: each launch has a number of its own, and each untracked launch is
 * told of once. */
static void test_untracked_are_counted(void **unused)
{
	struct shim_kernel *k = shim_kernel_find(FAKE_MACHINE_CODE);
	struct shim_time *time =
		shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	uint64_t launches, number, untracked, all = UNTRACKED_THREADS * UNTRACKED_LAUNCHES;
	pthread_t thread[UNTRACKED_THREADS];

	(void)unused;
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	launches = shim_kernel_launches(k);
	number = highest_number();
	untracked = shim_time_untracked(time);
	shim_kernel_take_untracked(k);
	time->tpt_ps = 1000;
	for (int i = 0; i < UNTRACKED_THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, launch_untracked, NULL), 0);
	/* Evictable ones among them: their slots' numbers count the untracked ones, too. */
	for (int i = 0; i < 100; i++, all++) {
		assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
		finish_all();
	}
	for (int i = 0; i < UNTRACKED_THREADS; i++)
		pthread_join(thread[i], NULL);
	time->tpt_ps = 0;
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	assert_int_equal(shim_kernel_launches(k) - launches,
			 UNTRACKED_THREADS * UNTRACKED_LAUNCHES + 1);
	assert_true(shim_time_untracked(time) - untracked >
		    UNTRACKED_THREADS * UNTRACKED_LAUNCHES / 2);
	assert_int_equal(highest_number() - number, all + 1);
}

/* What a launch finds of its kernel without a lock: nothing of what is none, nor of a parent's. */
static void test_kernels_that_are_not_known(void **unused)
{
	const struct shim_kernel *k = shim_kernel_find(FAKE_MACHINE_CODE);
	pid_t child;
	int status;

	(void)unused;
	assert_ptr_equal(shim_kernel_seen(FAKE_MACHINE_CODE), k);
	assert_null(shim_kernel_seen(NULL));
	child = fork();
	if (child == 0)
		_exit(shim_kernel_seen(FAKE_MACHINE_CODE) != NULL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Nobody has launched: the first thread that does is the owner (order.c). */
static void begin_anew(void)
{
	shim_order_forked();
	shim_order_begin();
}

/*
 * Of the thread that alone launches, too, which counts its own with plain stores: when another one
 * comes and tells of them, while it goes on.
 */
static void test_the_owners_untracked_are_counted(void **unused)
{
	struct shim_kernel *k = shim_kernel_find(FAKE_MACHINE_CODE);
	struct shim_time *time =
		shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	uint64_t launches, number, own, all = 0;
	pthread_t thread;

	(void)unused;
	time->tpt_ps = time->due = 0;
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	launches = shim_kernel_launches(k);
	number = highest_number();
	own = time->own;
	time->tpt_ps = 1000;
	time->due = UINT64_MAX;
	for (int grant = 0; grant < 20; grant++) {
		begin_anew();
		for (int i = 0; i < UNTRACKED_LAUNCHES; i++) {
			if (i == UNTRACKED_LAUNCHES / 2)
				assert_int_equal(
					pthread_create(&thread, NULL, launch_untracked, NULL), 0);
			assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
		}
		pthread_join(thread, NULL);
		assert_ptr_equal(shim_owned_here(), NULL);
		all += 2 * UNTRACKED_LAUNCHES;
	}
	assert_true(time->own - own >
		    20 * UNTRACKED_LAUNCHES /
			    4); /* as soon as others' are told of, and until others come */
	time->tpt_ps = time->due = 0;
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	assert_int_equal(shim_kernel_launches(k) - launches, all + 1);
	assert_int_equal(highest_number() - number, all + 1);
}

#define TELLERS 3

static struct {
	struct shim_time *time;
	_Atomic int begun, others_begin, done; /* so many others launch, too */
	_Atomic uint64_t told, told_ns, slots;
} account;

static void launch_and_tell(unsigned i)
{
	uint64_t ns;

	account.told += shim_may_go_untracked(page, account.time, 1) != 0;
	if (i % 16)
		return;
	shim_untracked_number(i % 3 == 0, &ns);
	account.slots++;
	if (i % 3)
		account.told_ns += ns;
}

/* Slots from the start, launches of its own only when it is time. */
static void *tell(void *unused)
{
	struct shim_section p;

	int which = account.begun++;

	for (unsigned i = 0; !account.done; i++) {
		uint64_t ns;

		if (which < account.others_begin) {
			shim_order_enter(&p, shim_context_current(shim_session()), STREAM, 0, 0);
			shim_order_leave(&p);
			launch_and_tell(i);
			continue;
		}
		shim_untracked_number(i % 3 == 0, &ns);
		account.slots++;
		if (i % 3)
			account.told_ns += ns;
	}
	return unused;
}

/* Their time is told of once, as is their number, whoever tells of it and whoever rides. */
static void test_their_time_is_told_once(void **unused)
{
	struct shim_context *c = shim_context_current(shim_session());
	pthread_t thread[TELLERS];
	struct shim_section p;
	uint64_t ns, number, told = 0;

	(void)unused;
	account.time = shim_kernel_time(shim_kernel_find(FAKE_MACHINE_CODE),
					(const unsigned int[]) { 96, 1, 1 }, LONG_GRID);
	account.time->tpt_ps = 1000; /* as many ns as untracked launches */
	account.time->due = UINT64_MAX;
	shim_untracked_number(0, &ns);
	number = shim_untracked_number(0, &ns);
	for (int grant = 0; grant < 20; grant++) {
		account.begun = account.others_begin = account.done = 0;
		begin_anew();
		shim_order_enter(&p, c, STREAM, 0, 0);
		shim_order_leave(&p);
		assert_ptr_equal(shim_owned_here(), &shim_owned);
		for (int i = 0; i < TELLERS; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, tell, NULL), 0);
		EVENTUALLY(account.begun == TELLERS);
		told = account.time->own;
		for (unsigned i = 1; i < UNTRACKED_LAUNCHES; i++) {
			if (i == UNTRACKED_LAUNCHES / 2)
				account.others_begin = grant % 2 ? TELLERS : 1;
			launch_and_tell(i);
		}
		assert_true(account.time->own > told);
		account.done = 1;
		for (int i = 0; i < TELLERS; i++)
			pthread_join(thread[i], NULL);
	}
	number = shim_untracked_number(0, &ns) - number;
	assert_int_equal(account.told_ns + ns, account.told);
	assert_int_equal(number, account.told + account.slots + 1);
	assert_int_equal(shim_time_untracked(account.time), account.told);
	account.time->tpt_ps = account.time->due = 0;
}

static CUresult captures(CUstream stream, CUstreamCaptureStatus *status)
{
	*status =
		stream == STREAM ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

/* What a capture takes is not on its way to the GPU: the owner sees that one has begun. */
static void test_none_untracked_into_a_graph(void **unused)
{
	struct shim_time *time = shim_kernel_time(shim_kernel_find(FAKE_MACHINE_CODE),
						  (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	void *requested = shim_slot[SHIM_FN_cuStreamIsCapturing];
	uint64_t n;

	(void)unused;
	time->tpt_ps = 1000;
	time->due = UINT64_MAX;
	shim_order_forked();
	shim_order_begin();
	for (int i = 0; i < 2; i++) {
		n = shim_time_untracked(time);
		tracked(4);
		if (i)
			assert_int_equal(shim_time_untracked(time) - n, 4);
	}
	assert_int_equal(cuStreamBeginCapture_v2(STREAM, 0), CUDA_SUCCESS);
	shim_slot[SHIM_FN_cuStreamIsCapturing] = (void *)(uintptr_t)captures;
	n = shim_time_launches(time);
	forget_calls();
	assert_int_equal(launch(FAKE_MACHINE_CODE, 1), CUDA_SUCCESS);
	expect_calls("launch-original");
	assert_int_equal(shim_time_launches(time), n);
	assert_int_equal(launch_in(FAKE_MACHINE_CODE, 1, FAKE_BLOCKING), CUDA_SUCCESS);
	assert_int_equal(shim_time_launches(time), n + 1);
	shim_slot[SHIM_FN_cuStreamIsCapturing] = requested;
	shim_uncommon &= ~(uint32_t)SHIM_UNCOMMON_CAPTURED; /* the other tests' launches */
	time->tpt_ps = time->due = 0;
}

/* The daemon hears of each once, however many they are. */
static void test_untracked_are_taken_once(void **unused)
{
	struct shim_kernel *k = shim_kernel_find(FAKE_MACHINE_CODE);
	struct shim_time *time =
		shim_kernel_time(k, (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);

	(void)unused;
	shim_kernel_take_untracked(k);
	time->others += 70000;
	assert_int_equal(shim_kernel_take_untracked(k), 70000);
	assert_int_equal(shim_kernel_take_untracked(k), 0);
}

/* `n` launches, each seen to be over before the next one; after how many the last untracked launch
 * came. */
static unsigned last_untracked(CUfunction f, unsigned n)
{
	struct shim_time *time = shim_kernel_time(shim_kernel_find(f),
						  (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);
	unsigned last = 0;

	for (unsigned i = 1; i <= n; i++) {
		uint64_t untracked = shim_time_untracked(time);

		assert_int_equal(launch(f, 1), CUDA_SUCCESS);
		EVENTUALLY(all_prepared());
		if (shim_time_untracked(time) != untracked)
			last = i;
	}
	return last;
}

/*
 * Riding along does not keep a kernel from being timed: the first four and every 31st launch, in
 * whatever context; every 1,023rd of what is so short while nobody else uses the GPU.
 */
static void test_untracked_are_timed(void **unused)
{
	const CUfunction f = (CUfunction)0x5000;
	unsigned timed = fake_driver_timed();
	struct shim_time *time;

	(void)unused;
	fake_driver_takes(0.001f);
	gs_page_store(page->shared, 1);
	last_untracked(f, 4);
	assert_int_equal(fake_driver_timed() - timed, 4);
	last_untracked(f, 320);
	assert_int_equal(fake_driver_timed() - timed, 14);
	time = shim_kernel_time(shim_kernel_find(f), (const unsigned int[]) { 32, 1, 1 },
				LONG_GRID);
	assert_int_equal(shim_time_untracked(time), 310);
	shim_context_gone(FAKE_CONTEXT);
	fake_driver_reuse();
	shim_context_destroyed(FAKE_CONTEXT);
	shim_rig_idle(NULL);
	last_untracked(f, 320);
	assert_int_equal(fake_driver_timed() - timed, 24);
	gs_page_store(page->shared, 0);
	last_untracked(f, 4 * 1023 + 30);
	assert_int_equal(fake_driver_timed() - timed, 28);
	assert_int_equal(fake_driver_stale(), 0);
	shim_rig_load();
	fake_driver_takes(0);
}

/* Alone, the longer it takes the sooner it is timed again: what was predicted in between is some 64
 * ms, but no more often than one of 127. */
static void test_a_longer_untracked_is_timed_sooner(void **unused)
{
	static const struct {
		CUfunction f;
		float ms;
		unsigned one_of;
	} at[] = { { (CUfunction)0xb000, 0.1f, 641 }, { (CUfunction)0xb010, 1, 127 } };

	(void)unused;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		unsigned timed = fake_driver_timed();

		fake_driver_takes(at[i].ms);
		last_untracked(at[i].f, 4 + 31); /* the next ones are as long as is known by then */
		assert_in_range(fake_driver_timed() - timed, 4, 5);
		for (timed = fake_driver_timed(); fake_driver_timed() == timed;)
			last_untracked(at[i].f, 1);
		last_untracked(at[i].f, at[i].one_of - 2);
		assert_int_equal(fake_driver_timed() - timed, 1);
		last_untracked(at[i].f, 4);
		assert_int_equal(fake_driver_timed() - timed, 2);
	}
	fake_driver_takes(0);
}

/* More work in the same grid: that is seen soon, and also when it is less again. */
static void test_a_untracked_that_becomes_long(void **unused)
{
	const CUfunction f = (CUfunction)0x6000;

	(void)unused;
	fake_driver_takes(0.1f);
	assert_in_range(last_untracked(f, 40), 38, 40);
	gs_page_store(page->shared, 1);
	fake_driver_takes(10);
	assert_in_range(last_untracked(f, 200), 0,
			31); /* what was put off while it was alone is due */
	fake_driver_takes(0.1f);
	assert_in_range(last_untracked(f, 100), 98, 100);
	/* Timed while somebody else had the GPU: once is soon forgotten. */
	gs_page_store(page->shared, 0);
	for (unsigned timed = fake_driver_timed(); fake_driver_timed() == timed;)
		last_untracked(f, 1);
	last_untracked(f, 640 - 3);
	fake_driver_takes(20);
	for (unsigned timed = fake_driver_timed(); fake_driver_timed() == timed;)
		last_untracked(f, 1);
	fake_driver_takes(0.1f);
	assert_in_range(last_untracked(f, 8), 4, 8);
	fake_driver_takes(0);
}

/* Now this long, now that: it is asked again about each surprise, but rides all the same. */
static void test_a_untracked_that_is_never_as_its_mean(void **unused)
{
	const CUfunction f = (CUfunction)0x9000;
	unsigned timed = fake_driver_timed();

	(void)unused;
	gs_page_store(page->shared, 1);
	for (unsigned i = 0; i < 354; i++) {
		fake_driver_takes(i % 2 ? 0.002f : 0.02f);
		last_untracked(f, 1);
	}
	assert_in_range(fake_driver_timed() - timed, 4 + 20, 4 + 3 + 40);
	gs_page_store(page->shared, 0);
	fake_driver_takes(0);
}

/* They are told of, and make room for no others, by what is known of them at last. */
static void test_untracked_that_took_longer(void **unused)
{
	struct shim_time *time = shim_kernel_time(shim_kernel_find(FAKE_MACHINE_CODE),
						  (const unsigned int[]) { 32, 1, 1 }, LONG_GRID);

	(void)unused;
	time->tpt_ps = 0;
	last_untracked(FAKE_MACHINE_CODE,
		       1); /* what went untracked before is with a slot by then */
	time->tpt_ps =
		100 * 1000 * 1000 / FAKE_SMS; /* a block-task takes as long as one for each SM */
	time->due = UINT64_MAX;
	assert_int_equal(last_untracked(FAKE_MACHINE_CODE, 5), 5);
	shim_untracked_longer(1000, 100000);
	assert_int_equal(last_untracked(FAKE_MACHINE_CODE, 1), 0);
	assert_int_equal(last_slot()->leave_ns, 50 * GS_NS_PER_MS);
	/* As much as the word holds, and no carry into their number. */
	assert_int_equal(last_untracked(FAKE_MACHINE_CODE, 5), 5);
	shim_untracked_longer(1, UINT64_MAX);
	assert_int_equal(last_untracked(FAKE_MACHINE_CODE, 1), 0);
	assert_in_range(last_slot()->leave_ns, GS_NS_PER_S, 2 * GS_NS_PER_S);
	time->tpt_ps = 0;
	time->due = 0;
}

int shim_untracked(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_untracked),
		SHIM(test_none_untracked_that_grows),
		SHIM(test_small_grids_do_not_make_large_ones_long),
		SHIM(test_untracked_are_counted),
		SHIM(test_the_owners_untracked_are_counted),
		SHIM(test_kernels_that_are_not_known),
		SHIM(test_their_time_is_told_once),
		SHIM(test_untracked_are_taken_once),
		SHIM(test_untracked_are_timed),
		SHIM(test_a_longer_untracked_is_timed_sooner),
		SHIM(test_a_untracked_that_becomes_long),
		SHIM(test_a_untracked_that_is_never_as_its_mean),
		SHIM(test_untracked_that_took_longer),
		SHIM(test_none_untracked_into_a_graph),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
