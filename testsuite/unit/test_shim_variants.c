/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is short goes out as the program wrote it (request.c). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_driver.h"
#include "shim_rig.h"

#define GRID 2000 /* of a size of its own (times.h), so the other tests' launches teach nothing */

static struct shim_time *its_time(void)
{
	return shim_kernel_time(shim_kernel_find(kernel), (const unsigned int[]) { 32, 1, 1 },
				GRID);
}

/* Launches it so often, one after the other, where it takes so long; how many of them were the
 * variant. */
static unsigned launch_taking(unsigned launches, float ms)
{
	unsigned variants = 0;

	while (launches--) {
		fake_launched = NULL;
		assert_int_equal(launch(kernel, GRID), CUDA_SUCCESS);
		variants += fake_launched == FAKE_VARIANT;
		fake_driver_takes(ms);
		finish_all();
		EVENTUALLY(all_prepared());
	}
	fake_driver_takes(0);
	return variants;
}

static void forget(void)
{
	struct shim_time *time = its_time();

	time->tpt_ps = time->due = time->again = 0;
	/* Nor is anything known of what the variant costs: the tests make of it what they like. */
	shim_variant_in(shim_kernel_find(kernel)->code, shim_context_current(shim_session()))
		->cost.dims = 0;
}

#define PS(ms) ((uint64_t)((ms)*1e9 / GRID))

/* Short launches are never the variant, whatever both take, and few are timed. */
static void test_short_kernels_go_out_as_written(void **unused)
{
	int before;

	(void)unused;
	its_time()->tpt_ps = PS(0.4);
	before = fake_driver_timed();
	assert_int_equal(launch_taking(90, 0.4f), 0);
	assert_in_range(fake_driver_timed() - before, 1, 24);
	assert_in_range(its_time()->tpt_ps, PS(0.39), PS(0.41));
	forget();
}

/* Is it launched as its variant when it takes so many ms?  It does not ride. */
static int is_variant(unsigned ms)
{
	struct shim_time *time = its_time();
	int is;

	time->tpt_ps = ms * UINT64_C(1000000000) / GRID;
	time->due = 0;
	fake_launched = NULL;
	forget_calls();
	assert_int_equal(launch(kernel, GRID), CUDA_SUCCESS);
	is = fake_launched == FAKE_VARIANT;
	finish_all();
	EVENTUALLY(all_prepared());
	forget();
	return is;
}

/* Until another client comes, which takes its time, it finds no more in front of it for kernels of
 * some ms. */
static void test_what_is_short_for_who_is_the_only_one(void **unused)
{
	(void)unused;
	assert_false(is_variant(1));
	assert_true(is_variant(3));
	gs_page_store(page->only, 1);
	assert_false(is_variant(3));
	assert_false(is_variant(15));
	assert_true(is_variant(17));
	gs_page_store(page->only, 0);
	assert_true(is_variant(3));
}

/* Long or not, where nothing is to be found out launches are not timed for it. */
static void test_few_are_timed(void **unused)
{
	int before;

	(void)unused;
	forget();
	before = fake_driver_timed();
	assert_in_range(launch_taking(300, 5), 290, 300); /* some ride */
	assert_in_range(fake_driver_timed() - before, 1, 24);
	forget();
}

/* Where a program has several streams many launches would be out, and a kernel of some ms is not
 * short there. */
static void test_not_beside_other_streams(void **unused)
{
	CUstream one, other;

	(void)unused;
	gs_page_store(page->only, 1);
	assert_false(is_variant(3));
	assert_int_equal(cuStreamCreateWithPriority(&one, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
	assert_int_equal(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, -1),
			 CUDA_SUCCESS);
	assert_true(is_variant(3));
	assert_false(is_variant(1));
	gs_page_store(page->only, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_short_kernels_go_out_as_written),
		SHIM(test_what_is_short_for_who_is_the_only_one), SHIM(test_few_are_timed),
		SHIM(test_not_beside_other_streams), /* the last one: it is for ever */
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
