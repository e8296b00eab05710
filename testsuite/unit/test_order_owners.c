/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One thread that launches or two, which own the way of their passages (order.c), and how they give that up. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "order_rig.h"

static void test_the_second_thread(void **state)
{
	static const struct {
		CUstream stream, stream2;
		int holds, holds2, waits;
	} row[] = {
		{ ONE, ONE, 1, 0, 1 }, { ONE, ONE, 0, 1, 1 }, { ONE, ONE, 1, 1, 1 }, { NULL, TWO, 1, 0, 1 },
		{ TWO, NULL, 0, 1, 1 }, { ONE, ONE, 0, 0, 0 }, { ONE, OWN, 1, 1, 0 }, { ONE, TWO, 1, 1, 0 },
		{ OWN, NULL, 1, 1, 0 }, { NULL, ONE, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		begin_anew(state);
		assert_true(second_comes(row[i].stream, row[i].holds, row[i].stream2, row[i].holds2, row[i].waits));
	}
}

/* As from a callback that a profiler has in the driver: both are in the way. */
static void one_within_another(CUstream seconds, int outer_is_in_the_way)
{
	struct shim_passage outer, inner;
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

/* Two that hold nothing are owners both, in nobody's way; whoever holds then, one of them or a third, finds both. */
static void test_two_owners(void **state)
{
	struct shim_passage p;
	struct visitor second, holder;

	for (int third = 0; third < 2; third++) {
		begin_anew(state);
		enter(&p, ONE, 0);
		come(&second, ONE, 0);
		assert_true(gets_in(&second));
		assert_ptr_equal(shim_owned[1].passage->own, &shim_owned[1]);
		if (third) {
			come(&holder, ONE, 1);
			shim_order_leave(&p);
			usleep(WATCH_US);
			assert_false(holder.in);
			go(&second);
			assert_true(gets_in(&holder));
			go(&holder);
		} else {
			shim_order_leave(&p);
			come(&holder, OWN, 1);
			assert_true(gets_in(&holder));
			go(&holder);
			come(&holder, ONE, 1);
			assert_false(holder.in);
			go(&second);
			assert_true(gets_in(&holder));
			go(&holder);
		}
		assert_null(shim_owned_here());
	}
}

/* The first owner holds, and the second one is inside: it waits for that one, though it is where an owner's passage is. */
static void *hold_as_first(void *arg)
{
	struct visitor *v = arg;
	struct shim_passage p;

	enter(&p, ONE, 0);
	shim_order_leave(&p);
	v->tid = (int)syscall(SYS_gettid);
	while (!v->leave)
		usleep(100);
	enter(&p, ONE, 1);
	v->in = 1;
	shim_order_leave(&p);
	return NULL;
}

static void test_an_owner_that_holds_waits_for_the_other(void **state)
{
	struct visitor holder = { 0 };
	struct shim_passage p;

	begin_anew(state);
	assert_int_equal(pthread_create(&holder.thread, NULL, hold_as_first, &holder), 0);
	while (!holder.tid)
		usleep(100);
	enter(&p, ONE, 0);
	assert_ptr_equal(shim_owned_here(), &shim_owned[1]);
	holder.leave = 1;
	usleep(WATCH_US);
	assert_false(holder.in);
	shim_order_leave(&p);
	assert_true(gets_in(&holder));
	pthread_join(holder.thread, NULL);
	assert_null(shim_owned_here());
}

/* It was alone when it looked, and is not when it comes: it finds that out, and waits. */
static void test_another_comes_after_the_look(void **state)
{
	struct shim_passage p;
	struct visitor second;

	begin_anew(state);
	enter(&p, ONE, 0);
	shim_order_leave(&p);
	assert_ptr_equal(shim_owned_here(), &shim_owned[0]);
	come(&second, ONE, 1);
	assert_true(gets_in(&second));
	assert_false(shim_order_enter_alone(&p, context, ONE, &shim_owned[0]));
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
		cmocka_unit_test(test_two_owners),
		cmocka_unit_test(test_an_owner_that_holds_waits_for_the_other),
		cmocka_unit_test(test_another_comes_after_the_look),
		BOTH(test_one_passage_within_another),
		BOTH(test_the_inner_passage_alone_is_in_the_way),
		BOTH(test_one_thread_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
