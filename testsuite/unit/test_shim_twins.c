/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is short goes out as the program wrote it, or as its twin where that takes less; see forms.h. */
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
	return shim_kernel_time(shim_kernel_find(kernel), (const unsigned int[]){ 32, 1, 1 }, GRID);
}

/* Launches it so often, one after the other, where its twin takes so long; how many of them were the twin. */
static unsigned launch_taking(unsigned launches, float as_twin_ms, float as_written_ms)
{
	unsigned twins = 0;

	while (launches--) {
		fake_launched = NULL;
		assert_int_equal(launch(kernel, GRID), CUDA_SUCCESS);
		twins += fake_launched == FAKE_TWIN;
		fake_driver_takes(fake_launched == FAKE_TWIN ? as_twin_ms : as_written_ms);
		finish_all();
		EVENTUALLY(all_prepared());
	}
	fake_driver_takes(0);
	return twins;
}

static void test_short_kernels_go_out_in_the_better_form(void **unused)
{
	struct shim_time *time = its_time();

	(void)unused;
	launch_taking(30, 0.5f, 0.4f);
	assert_int_equal(time->twin, 0);
	assert_in_range(launch_taking(60, 0.5f, 0.4f), 0, 2);
	memset(shim_kernel_forms(shim_kernel_find(kernel), time), 0, sizeof(struct shim_forms));
	time->tpt_ps = time->due = 0;
	launch_taking(30, 0.2f, 0.4f);
	assert_int_equal(time->twin, 1);
	assert_in_range(launch_taking(60, 0.2f, 0.4f), 58, 60);
	/* And where others use the GPU nothing is tried. */
	gs_page_store(page->shared, 1);
	time->due = 0;
	assert_int_equal(launch_taking(40, 0.2f, 0.4f), 40);
	gs_page_store(page->shared, 0);
}

/* One that cannot be held is not asked to be, over and over: it would not ride, either. */
static void test_a_better_form_that_cannot_be(void **unused)
{
	struct shim_time *time = its_time();

	(void)unused;
	assert_int_equal(time->twin, 1);
	fake_launched = NULL;
	assert_int_equal(cuLaunchKernel(kernel, GRID, 1, 1, 32, 1, 1, 0, STREAM, NULL, NULL), CUDA_SUCCESS); /* its arguments are not there */
	assert_ptr_equal(fake_launched, FAKE_ORIGINAL);
	assert_int_equal(time->twin, 0);
	finish_all();
	EVENTUALLY(all_prepared());
	assert_int_equal(launch_taking(60, 0.2f, 0.4f), 0);
	memset(shim_kernel_forms(shim_kernel_find(kernel), time), 0, sizeof(struct shim_forms));
	time->tpt_ps = time->due = 0;
}

/* Is it launched as its twin when it takes so many ms? */
static int is_twin(unsigned ms)
{
	struct shim_time *time = its_time();
	int is;

	time->tpt_ps = ms * UINT64_C(1000000000) / GRID;
	time->due = UINT64_MAX;
	fake_launched = NULL;
	assert_int_equal(launch(kernel, GRID), CUDA_SUCCESS);
	is = fake_launched == FAKE_TWIN;
	finish_all();
	EVENTUALLY(all_prepared());
	time->tpt_ps = time->due = 0;
	return is;
}

/* Until another client comes, which takes its time, nobody could want the GPU before a kernel of some 60 ms has ended. */
static void test_what_is_short_for_who_is_the_only_one(void **unused)
{
	(void)unused;
	assert_false(is_twin(1));
	assert_true(is_twin(30));
	gs_page_store(page->only, 1);
	assert_false(is_twin(30));
	assert_true(is_twin(100));
	gs_page_store(page->only, 0);
	assert_true(is_twin(30));
}

/* With streams beside each other the program decides what shares the GPU. */
static void test_not_beside_other_streams(void **unused)
{
	CUstream one, other;

	(void)unused;
	assert_int_equal(cuStreamCreate(&one, 0), CUDA_SUCCESS);
	launch_taking(30, 0.2f, 0.4f);
	assert_int_equal(its_time()->twin, 1);
	assert_int_equal(cuStreamCreate(&other, 0), CUDA_SUCCESS);
	assert_int_equal(launch_taking(60, 0.2f, 0.4f), 0);
	assert_int_equal(its_time()->twin, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_short_kernels_go_out_in_the_better_form),
		SHIM(test_a_better_form_that_cannot_be),
		SHIM(test_what_is_short_for_who_is_the_only_one),
		SHIM(test_not_beside_other_streams), /* the last one: it is for ever */
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
