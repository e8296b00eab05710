/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a launch took while others' kernels were on the GPU, too, is not the kernel's own time. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/shim/kernel/kernels.h"
#include "fake_driver.h"
#include "shim_rig.h"

static void say_beside(uint32_t beside)
{
	if (beside && !gs_page_load(page->beside))
		gs_page_store(page->besides, gs_page_load(page->besides) + 1);
	gs_page_store(page->beside, beside);
}

/*
 * Launches the kernel, which takes so many ms. The page says in turn what it says of neighbours
 * before the kernel goes out, while it runs, and as its launch is reclaimed. Returns the time per
 * block-task that is known then.
 */
static uint64_t tpt_after(struct shim_time *time, float ms, const uint32_t beside[3])
{
	struct gs_slot *slot;

	time->due = 0;
	fake_driver_takes(ms);
	say_beside(beside[0]);
	assert_int_equal(launch(kernel, LONG_GRID), CUDA_SUCCESS);
	slot = active();
	say_beside(beside[1]);
	say_beside(beside[2]);
	gs_page_store(slot->state, GS_K_DONE);
	EVENTUALLY(gs_page_load(slot->state) == GS_K_PREP);
	say_beside(GS_BESIDE_NOBODY);
	return time->tpt_ps;
}

/* Not even if the neighbour has gone by the time that somebody looks. */
static void is_not_its_own(void **unused)
{
	const uint32_t none[3] = { 0 }, begins[3] = { GS_BESIDE_SLICED, 0, 0 },
		       between[3] = { 0, GS_BESIDE_SLICED, 0 },
		       ends[3] = { 0, 0, GS_BESIDE_SLICED };
	struct shim_time *time = shim_kernel_time(shim_kernel_find(kernel),
						  (const unsigned int[3]) { 32, 1, 1 }, LONG_GRID);
	uint64_t alone;

	(void)unused;
	time->tpt_ps = 0;
	alone = tpt_after(time, 2, none);
	assert_int_equal(alone, 2 * GS_NS_PER_MS * 1000 / LONG_GRID + 1);
	assert_int_equal(tpt_after(time, 7, begins), alone);
	assert_int_equal(tpt_after(time, 7, between), alone);
	assert_int_equal(tpt_after(time, 7, ends), alone);
	/* Its own is no longer than that, though. */
	assert_true(tpt_after(time, 1, between) < alone);
	alone = time->tpt_ps;
	assert_true(tpt_after(time, 2, none) > alone);
	fake_driver_takes(0);
	time->tpt_ps = time->due = 0;
}

int shim_neighbours(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(is_not_its_own),
	};

	return cmocka_run_group_tests_name("neighbours", tests, shim_rig_setup, NULL);
}
