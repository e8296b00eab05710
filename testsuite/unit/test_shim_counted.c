/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting driver calls (base/counted.h): every way into the driver, by whichever name, and with
 * its arguments; nothing is counted before the daemon asks for it.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/shim/base/counted.h"
#include "fake_driver.h"
#include "shim_rig.h"

static uint32_t begun_inside, ended_inside;
static CUresult answer;

/* A function of the driver's with more arguments than registers hold. */
static CUresult many(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
		     double x, uint64_t g, uint64_t h, uint64_t i)
{
	begun_inside = gs_page_load(page->calls.begun);
	ended_inside = gs_page_load(page->calls.ended);
	return a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && x == 0.5 && g == 7 &&
			       h == 8 && i == 9 ?
		       answer :
		       CUDA_ERROR_INVALID_VALUE;
}

typedef CUresult many_function(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			       uint64_t f, double x, uint64_t g, uint64_t h, uint64_t i);

/* The driver's function is `many`; 1 if the call by `by` has been counted. */
static int is_counted(void *by)
{
	uint32_t before = gs_page_load(page->calls.begun), gone = gs_page_load(page->calls.ended);
	many_function *f;

	memcpy(&f, &by, sizeof(f));
	answer = CUDA_ERROR_NOT_READY;
	assert_int_equal(f(1, 2, 3, 4, 5, 6, 0.5, 7, 8, 9), CUDA_ERROR_NOT_READY);
	if (gs_page_load(page->calls.begun) == before)
		return 0;
	/* As it begins and as it ends, not before. */
	assert_int_equal(begun_inside, before + 1);
	assert_int_equal(ended_inside, gone);
	assert_int_equal(gs_page_load(page->calls.begun), before + 1);
	assert_int_equal(gs_page_load(page->calls.ended), gone + 1);
	return 1;
}

/* The driver's function of that number is `many` now, as if it had been found. */
static void put(enum shim_fn fn)
{
	shim_slot[fn] = shim_counted_slot(fn, (void *)(uintptr_t)many);
}

static void test_nothing_is_counted_unasked(void **unused)
{
	(void)unused;
	put(SHIM_FN_cuStreamGetFlags);
	shim_counted_follow(page);
	assert_false(is_counted(shim_real(SHIM_FN_cuStreamGetFlags)));
	assert_int_equal(gs_page_load(page->calls.begun), 0);
	shim_counted_note();
	assert_int_equal(gs_page_load(page->calls.begun), 0);
}

static void test_every_way_is_counted(void **unused)
{
	void *symbol;

	(void)unused;
	put(SHIM_FN_cuArrayGetPlane);
	gs_page_store(page->calls.wanted, 1);
	shim_counted_follow(page);
	assert_int_equal(gs_page_load(page->calls.begun), 1); /* which says that it counts */
	/* What was found before and what is found now; by REAL(), by our symbol, by its address. */
	assert_true(is_counted(shim_real(SHIM_FN_cuStreamGetFlags)));
	put(SHIM_FN_cuEventQuery);
	assert_true(is_counted(shim_real(SHIM_FN_cuEventQuery)));
	assert_true(is_counted((void *)(uintptr_t)cuEventQuery));
	assert_true(is_counted((void *)(uintptr_t)cuStreamGetFlags));
	put(SHIM_FN_cuStreamGetFlags);
	assert_ptr_equal(
		shim_counted_behind(SHIM_FN_cuStreamGetFlags, shim_real(SHIM_FN_cuStreamGetFlags)),
		(void *)(uintptr_t)many);
	symbol = shim_wrapper_of((void *)(uintptr_t)many);
	assert_non_null(symbol);
	assert_true(is_counted(symbol));
	shim_counted_follow(page); /* again, as the agent does: nothing changes */
	assert_true(is_counted(symbol));
}

static void test_a_wait_in_the_shim_counts(void **unused)
{
	uint32_t begun = gs_page_load(page->calls.begun), ended = gs_page_load(page->calls.ended);

	(void)unused;
	shim_counted_note();
	assert_int_equal(gs_page_load(page->calls.begun), begun + 1);
	assert_int_equal(gs_page_load(page->calls.ended), ended + 1);
}

/* One call is under way for ever, so the daemon never finds it idle. */
static void test_giving_up(void **unused)
{
	uint32_t begun = gs_page_load(page->calls.begun), ended = gs_page_load(page->calls.ended);

	(void)unused;
	assert_int_equal(begun, ended);
	shim_counted_give_up();
	shim_counted_give_up();
	assert_int_equal(gs_page_load(page->calls.begun), begun + 1);
	assert_int_equal(gs_page_load(page->calls.ended), ended);
}

/* A child counts, but not in its parent's page. */
static void test_forked(void **unused)
{
	(void)unused;
	shim_counted_forked();
	assert_false(is_counted((void *)(uintptr_t)cuEventQuery));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_counted_unasked),
		cmocka_unit_test(test_every_way_is_counted),
		cmocka_unit_test(test_a_wait_in_the_shim_counts),
		cmocka_unit_test(test_giving_up),
		cmocka_unit_test(test_forked),
	};

	return cmocka_run_group_tests(tests, shim_rig_setup, NULL);
}
