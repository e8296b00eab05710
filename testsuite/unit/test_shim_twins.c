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

static void forget(void)
{
	struct shim_time *time = its_time();

	memset(shim_kernel_forms(shim_kernel_find(kernel), time), 0, sizeof(struct shim_forms));
	time->tpt_ps = time->due = time->again = time->twin = 0;
}

#define PS(ms) ((uint64_t)((ms) * 1e9 / GRID))

static void test_short_kernels_go_out_in_the_better_form(void **unused)
{
	struct shim_time *time = its_time();

	(void)unused;
	time->tpt_ps = PS(0.4);
	launch_taking(30, 0.5f, 0.4f);
	assert_int_equal(time->twin, 0);
	assert_in_range(launch_taking(60, 0.5f, 0.4f), 0, 2);
	/* What was tried has not changed what it is thought to take. */
	assert_in_range(time->tpt_ps, PS(0.39), PS(0.41));
	forget();
	launch_taking(30, 0.2f, 0.4f);
	assert_int_equal(time->twin, 1);
	assert_in_range(launch_taking(60, 0.2f, 0.4f), 58, 60);
	assert_in_range(time->tpt_ps, PS(0.19), PS(0.21));
}

/* Times are not alone where others use the GPU: nothing is tried, and nothing noted. */
static void test_nothing_is_tried_beside_others(void **unused)
{
	struct shim_time *time = its_time();
	struct shim_forms *forms = shim_kernel_forms(shim_kernel_find(kernel), time);

	(void)unused;
	assert_int_equal(time->twin, 1);
	forms->votes = 0;
	shim_time_ask(time, 8);
	gs_page_store(page->shared, 1);
	assert_int_equal(launch_taking(40, 0.2f, 0.4f), 40);
	assert_int_equal(forms->votes, 0);
	/* One that was tried before they came. */
	gs_page_store(page->shared, 0);
	time->due = 0;
	assert_int_equal(launch(kernel, GRID), CUDA_SUCCESS);
	gs_page_store(page->shared, 1);
	memset(forms->half, 0, sizeof(forms->half));
	fake_driver_takes(0.2f);
	finish_all();
	EVENTUALLY(all_prepared());
	for (int i = 0; i < SHIM_FORM_PAIRS; i++)
		assert_int_equal(forms->half[i].pair, 0);
	gs_page_store(page->shared, 0);
	forget();
}

/* One that cannot be held now can be the next time. */
static void test_a_better_form_that_cannot_be_now(void **unused)
{
	struct shim_time *time = its_time();

	(void)unused;
	launch_taking(30, 0.2f, 0.4f);
	assert_int_equal(time->twin, 1);
	fake_launched = NULL;
	assert_int_equal(cuLaunchKernel(kernel, GRID, 1, 1, 32, 1, 1, 0, STREAM, NULL, NULL), CUDA_SUCCESS); /* its arguments are not there */
	assert_ptr_equal(fake_launched, FAKE_ORIGINAL);
	finish_all();
	EVENTUALLY(all_prepared());
	assert_in_range(launch_taking(60, 0.2f, 0.4f), 58, 60);
	forget();
}

/* Is it launched as its twin when it takes so many ms?  It does not ride. */
static int is_twin(unsigned ms)
{
	struct shim_time *time = its_time();
	int is;

	time->tpt_ps = ms * UINT64_C(1000000000) / GRID;
	time->due = 0;
	shim_kernel_forms(shim_kernel_find(kernel), time)->votes = SHIM_FORM_PAIRS;
	shim_kernel_forms(shim_kernel_find(kernel), time)->timed = 2; /* nothing is tried now */
	fake_launched = NULL;
	forget_calls();
	assert_int_equal(launch(kernel, GRID), CUDA_SUCCESS);
	is = fake_launched == FAKE_TWIN;
	finish_all();
	EVENTUALLY(all_prepared());
	forget();
	return is;
}

/* Until another client comes, which takes its time, it finds no more in front of it for kernels of some ms. */
static void test_what_is_short_for_who_is_the_only_one(void **unused)
{
	(void)unused;
	assert_false(is_twin(1));
	assert_true(is_twin(3));
	gs_page_store(page->only, 1);
	assert_false(is_twin(3));
	assert_false(is_twin(15));
	assert_true(is_twin(17));
	gs_page_store(page->only, 0);
	assert_true(is_twin(3));
}

/* Long or not, where nothing is to be found out launches are not timed for it. */
static void test_few_are_timed(void **unused)
{
	int before;

	(void)unused;
	forget();
	before = fake_driver_timed();
	assert_in_range(launch_taking(300, 5, 5), 290, 300); /* some ride */
	assert_in_range(fake_driver_timed() - before, 1, 24);
	forget();
}

/* With streams beside each other the program decides what shares the GPU. */
static void test_not_beside_other_streams(void **unused)
{
	CUstream one, other;
	int before;

	(void)unused;
	assert_int_equal(cuStreamCreateWithPriority(&one, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
	launch_taking(30, 0.2f, 0.4f);
	assert_int_equal(its_time()->twin, 1);
	assert_int_equal(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, -1), CUDA_SUCCESS);
	before = fake_driver_timed();
	assert_int_equal(launch_taking(300, 0.2f, 0.4f), 0);
	assert_in_range(fake_driver_timed() - before, 1, 24);
	assert_int_equal(its_time()->twin, 0);
	gs_page_store(page->only, 1);
	assert_true(is_twin(3));
	gs_page_store(page->only, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHIM(test_short_kernels_go_out_in_the_better_form),
		SHIM(test_nothing_is_tried_beside_others),
		SHIM(test_a_better_form_that_cannot_be_now),
		SHIM(test_what_is_short_for_who_is_the_only_one),
		SHIM(test_few_are_timed),
		SHIM(test_not_beside_other_streams), /* the last one: it is for ever */
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
