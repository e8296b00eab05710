/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a launch took while others' kernels were on the GPU, too, is not the kernel's own time, and
 * tells nothing of what a variant costs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/shim/kernel/kernels.h"
#include "device/shim/variant/variant.h"
#include "fake_driver.h"
#include "shim_rig.h"

static struct shim_time *own;

static void say_beside(uint32_t beside)
{
	int came = beside && !gs_page_load(page->beside);

	gs_page_store(page->beside, beside);
	if (came)
		gs_page_store(page->besides, gs_page_load(page->besides) + 1);
}

/* The kernel can be evicted, so the test says when it ends. It has taken 2 ms so far. */
static int setup(void **state)
{
	shim_rig_idle(state);
	/* Other tests have made contexts in which the kernel has no variant yet. */
	assert_int_equal(launch(kernel, 1), CUDA_SUCCESS);
	finish_all();
	EVENTUALLY(all_prepared());
	/* Nothing is known of what its variants cost, and they are not compared with it. */
	for (struct shim_variant *v = shim_kernel_find(kernel)->code->variants; v; v = v->next)
		v->cost = (struct shim_cost) { .launches = SHIM_COMPARED };
	gs_page_store(page->shared, 1);
	own = shim_kernel_time(shim_kernel_find(kernel), (const unsigned int[3]) { 32, 1, 1 },
			       LONG_GRID);
	own->tpt_ps = 2 * GS_NS_PER_MS * 1000 / LONG_GRID;
	own->due = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	finish_all();
	gs_page_store(page->grant, 1);
	gs_page_store(page->shared, 0);
	gs_page_store(page->preenqueue, 0);
	say_beside(GS_BESIDE_NOBODY);
	EVENTUALLY(all_prepared());
	fake_driver_takes(0);
	own->tpt_ps = own->due = 0;
	return 0;
}

static void ends(struct gs_slot *slot)
{
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_DONE));
	EVENTUALLY(gs_page_load(slot->state) == GS_K_PREP);
}

/*
 * Launches the kernel, which takes so many ms. The page says in turn what it says of neighbours
 * before the kernel goes out, while it runs, and as its launch is reclaimed. Returns the time per
 * block-task that is known then.
 */
static uint64_t tpt_after(float ms, const uint32_t beside[3])
{
	struct gs_slot *slot;

	own->due = 0;
	fake_driver_takes(ms);
	say_beside(beside[0]);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	assert_int_equal(gs_page_load(slot->state), GS_K_RUNNING);
	say_beside(beside[1]);
	say_beside(beside[2]);
	ends(slot);
	say_beside(GS_BESIDE_NOBODY);
	return own->tpt_ps;
}

/* Not even if the neighbour has gone by the time that somebody looks. */
static void is_not_its_own(void **unused)
{
	const uint32_t none[3] = { 0 }, begins[3] = { GS_BESIDE_SLICED, 0, 0 },
		       between[3] = { 0, GS_BESIDE_SLICED, 0 },
		       ends_so[3] = { 0, 0, GS_BESIDE_SLICED };
	uint64_t alone = own->tpt_ps;

	(void)unused;
	assert_int_equal(tpt_after(7, begins), alone);
	assert_int_equal(tpt_after(7, between), alone);
	assert_int_equal(tpt_after(7, ends_so), alone);
	/* Its own is no longer than that, though. */
	assert_true(tpt_after(1, between) < alone);
	alone = own->tpt_ps;
	assert_true(tpt_after(2, none) > alone);
}

/* Where nothing is known yet it is better than nothing, under MPS as well. */
static void is_better_than_none(void **unused)
{
	const uint32_t between[3] = { 0, GS_BESIDE_TOGETHER, 0 };

	(void)unused;
	own->tpt_ps = 0;
	assert_int_equal(tpt_after(7, between), 7 * GS_NS_PER_MS * 1000 / LONG_GRID + 1);
	assert_int_equal(tpt_after(2, between), 2 * GS_NS_PER_MS * 1000 / LONG_GRID + 1);
}

static void *launch_it(void *rc)
{
	*(CUresult *)rc = launch(kernel, LONG_GRID);
	return NULL;
}

/* A neighbour that has come and gone while the launch waited for the GPU is none of its own. */
static void counts_from_when_it_goes_out(void **unused)
{
	(void)unused;
	for (uint32_t preenqueue = 0; preenqueue < 2; preenqueue++) {
		uint64_t known = own->tpt_ps;
		CUresult rc = CUDA_ERROR_UNKNOWN;
		struct gs_slot *slot;
		pthread_t thread;

		own->due = 0;
		fake_driver_takes(3);
		gs_page_store(page->preenqueue, preenqueue);
		gs_page_store(page->grant, 0);
		say_beside(GS_BESIDE_SLICED);
		assert_int_equal(pthread_create(&thread, NULL, launch_it, &rc), 0);
		EVENTUALLY(gs_page_load(active()->state) == GS_K_READY);
		slot = active();
		if (preenqueue)
			EVENTUALLY(gs_page_load(slot->flags) & GS_SLOT_PREENQUEUED);
		say_beside(GS_BESIDE_NOBODY);
		say_beside(GS_BESIDE_SLICED);
		say_beside(GS_BESIDE_NOBODY);
		/* The daemon takes back the flag first. */
		atomic_fetch_and(&slot->flags, ~GS_SLOT_PREENQUEUED);
		assert_true(gs_slot_move(slot, GS_K_READY, preenqueue ? GS_K_RUNNING : GS_K_TORUN));
		ring();
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(rc, CUDA_SUCCESS);
		ends(slot);
		assert_true(own->tpt_ps > known);
	}
}

/* A launch as written keeps the GPU, so a variant's comparison is over before many others come, and
 * none is made beside them. */
static void a_variant_is_compared_at_once(void **unused)
{
	struct shim_variant *v = shim_kernel_find(kernel)->code->variants;

	(void)unused;
	gs_page_store(page->shared, 0);
	own->due = 0;
	fake_driver_takes(2);
	v->cost = (struct shim_cost) { 0 };
	say_beside(GS_BESIDE_SLICED);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	ends(active());
	EVENTUALLY(all_prepared());
	assert_int_equal(v->cost.launches, 0);
	say_beside(GS_BESIDE_NOBODY);
	/* Nothing else makes one be timed, and none goes out without a slot. */
	own->due = UINT64_MAX;
	gs_page_store(page->shared, 1);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	finish_all();
	assert_int_equal(v->cost.launches, 0);
	for (int i = 0; i < SHIM_COMPARED && !shim_variant_is_compared(v); i++) {
		assert_int_equal(v->cost.launches, i);
		assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
		finish_all();
		EVENTUALLY(all_prepared());
	}
	assert_true(shim_variant_is_compared(v));
	/* One more is timed, and then few again. */
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	assert_true(own->due > 0);
	v->cost = (struct shim_cost) { .launches = SHIM_COMPARED };
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int shim_neighbours(void)
{
	const struct CMUnitTest tests[] = {
		TEST(is_not_its_own),
		TEST(is_better_than_none),
		TEST(counts_from_when_it_goes_out),
		TEST(a_variant_is_compared_at_once),
	};

	return cmocka_run_group_tests_name("neighbours", tests, shim_rig_setup, NULL);
}
