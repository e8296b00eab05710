/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread that launches, which owns the way of its passages (order.c), and how it gives that up.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "order_rig.h"

static void test_the_second_thread(void **state)
{
	static const struct {
		CUstream stream, stream2;
		int blocks, holds2, waits;
	} row[] = {
		{ ONE, ONE, 1, 0, 1 },  { ONE, ONE, 0, 1, 1 },  { ONE, ONE, 1, 1, 1 },
		{ NULL, TWO, 1, 0, 1 }, { TWO, NULL, 0, 1, 1 }, { ONE, ONE, 0, 0, 0 },
		{ ONE, OWN, 1, 1, 0 },  { ONE, TWO, 1, 1, 0 },  { OWN, NULL, 1, 1, 0 },
		{ NULL, ONE, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		begin_anew(state);
		assert_true(second_comes(row[i].stream, row[i].blocks, row[i].stream2,
					 row[i].holds2, row[i].waits));
	}
}

/* As from a callback that a profiler has in the driver: both are in the way. */
static void one_within_another(CUstream seconds, int outer_is_in_the_way)
{
	struct shim_section outer, inner;
	struct visitor second;

	for (int i = 0; i < 2; i++) {
		if (i)
			shim_order_leave(&outer);
		enter(&outer, ONE, 0);
	}
	enter(&inner, TWO, 0);
	come(&second, seconds, 1);
	assert_false(second.in);
	shim_order_leave(&inner);
	usleep(WATCH_US);
	if (outer_is_in_the_way)
		assert_false(second.in);
	else
		assert_true(gets_in(&second));
	shim_order_leave(&outer);
	assert_true(gets_in(&second));
	go(&second);
}

static void test_one_passage_within_another(void **unused)
{
	(void)unused;
	one_within_another(NULL, 1);
}

static void test_the_inner_passage_alone_is_in_the_way(void **unused)
{
	(void)unused;
	one_within_another(TWO, 0);
}

/* The second thread that launches, holding or not, ends it: nobody is the owner any more. */
static void test_there_is_one_owner(void **state)
{
	struct shim_section p;
	struct visitor second;

	for (int blocks = 0; blocks < 2; blocks++) {
		begin_anew(state);
		enter(&p, ONE, 0);
		assert_ptr_equal(shim_owned_here(), &shim_owned);
		come(&second, OWN, blocks);
		assert_true(gets_in(&second));
		assert_null(shim_owned_here());
		go(&second);
		shim_order_leave(&p);
	}
}

/* It was alone when it looked, and is not when it comes: it finds that out, and waits. */
static void test_another_comes_after_the_poll(void **state)
{
	struct shim_section p;
	struct visitor second;

	begin_anew(state);
	enter(&p, ONE, 0);
	shim_order_leave(&p);
	assert_ptr_equal(shim_owned_here(), &shim_owned);
	come(&second, ONE, 1);
	assert_true(gets_in(&second));
	assert_false(shim_order_enter_alone(&p, context, ONE, &shim_owned));
	go(&second);
	shim_order_enter_late(&p);
	come(&second, ONE, 1);
	assert_false(second.in);
	shim_order_leave(&p);
	assert_true(gets_in(&second));
	go(&second);
}

/* Threads may come and go, one after the other, some with the number of one that has ended. */
static void test_one_thread_after_the_other(void **unused)
{
	struct visitor v;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		come(&v, ONE, 1);
		assert_true(gets_in(&v));
		go(&v);
	}
	come(&v, OWN, 1);
	assert_true(gets_in(&v));
	assert_true(second_comes(TWO, 1, NULL, 1, 1));
	go(&v);
}

int order_owners(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_second_thread),
		cmocka_unit_test(test_there_is_one_owner),
		cmocka_unit_test(test_another_comes_after_the_poll),
		BOTH(test_one_passage_within_another),
		BOTH(test_the_inner_passage_alone_is_in_the_way),
		BOTH(test_one_thread_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
