/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evictions for the sake of it: as often as asked for, and the time slice comes back at once. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"

static struct client *join_forced(uint64_t id, int32_t priority, uint64_t ns)
{
	struct client *c;

	force_ns = ns;
	c = join(id, priority);
	force_ns = 0;
	return c;
}

/* Its kernel 0, told to leave, has left and hears that it may go on. */
static void leaves(struct client *c, uint64_t done)
{
	assert_int_equal(state(c, 0), GS_K_TOEVICT);
	assert_false(has_turn(c));
	agent(c);
	evicted(c, 0, done);
}

static void test_alone(void **unused)
{
	struct client *c;

	(void)unused;
	begin("piv");
	c = join_forced(1, 1, 10 * MS);
	occupy(c, 1000);
	for (unsigned i = 1; i <= 20; i++) {
		uint64_t next = grant(9 * MS);

		assert_int_equal(state(c, 0), GS_K_RUNNING);
		assert_true(next <= now + 1 * MS);
		grant(1 * MS);
		leaves(c, 10 * i);
		grant(50 * US);
		assert_true(has_turn(c));
		assert_int_equal(state(c, 0), GS_K_TORUN);
		agent(c);
		grant(0);
		assert_int_equal(c->usage.preemptions, i);
		assert_int_equal(c->usage.evicted.n, i);
	}
	/* Its launches go out as if somebody waited, or its short kernels could not leave. */
	assert_true(gs_page_load(c->page->contended));
	assert_true(gs_page_load(c->page->shared));
	finish(c, 0);
	grant(1 * MS);
	assert_true(has_turn(c));
	assert_int_equal(c->usage.waiting_ns, 0);
	all_leave(c);
}

/* Nobody else is: neither one that did not ask for it, nor one that is not at work. */
static void test_nobody_else(void **unused)
{
	struct client *c, *forced;

	(void)unused;
	begin("piv");
	c = join(1, 1);
	occupy(c, 1000);
	for (unsigned i = 0; i < 10; i++)
		grant(20 * MS);
	assert_int_equal(state(c, 0), GS_K_RUNNING);
	assert_false(gs_page_load(c->page->contended));
	finish(c, 0);
	grant(1 * MS);
	leave(c);
	forced = join_forced(2, 1, 10 * MS);
	occupy(forced, 1000);
	finish(forced, 0);
	grant(50 * MS);
	assert_true(has_turn(forced));
	assert_true(grant(50 * MS) >= now + 2 * MS); /* it is not looked for all the time */
	assert_int_equal(forced->usage.evicted.n, 0);
	all_leave(forced);
}

/* What cannot leave is not waited for. */
static void test_not_with_one_that_cannot(void **unused)
{
	struct client *c;

	(void)unused;
	begin("piv");
	c = join_forced(1, 1, 10 * MS);
	occupy(c, 1000);
	launch(c, 1, 10, 0);
	grant(30 * MS);
	assert_int_equal(state(c, 0), GS_K_RUNNING);
	assert_true(has_turn(c));
	finish(c, 1);
	grant(3 * MS);
	leaves(c, 10);
	grant(50 * US);
	assert_true(has_turn(c));
	all_leave(c);
}

/* Somebody waits: the policy's order stays what it is. */
static void test_policy_decides(void **unused)
{
	struct client *c, *other;

	(void)unused;
	begin("fifo");
	c = join_forced(1, 1, 10 * MS);
	other = join(2, 1);
	occupy(c, 1000);
	launch(other, 0, 10, 1);
	grant(11 * MS);
	leaves(c, 10);
	grant(50 * US);
	assert_true(has_turn(c));
	assert_false(has_turn(other));
	agent(c);
	grant(1 * MS);
	finish(c, 0);
	grant(1 * MS);
	grant(1 * MS);
	assert_true(has_turn(other));
	all_leave(c, other);
}

/* Somebody who goes first comes while it leaves. */
static void test_urgent_meanwhile(void **unused)
{
	struct client *c, *high;

	(void)unused;
	begin("piv");
	c = join_forced(1, 1, 10 * MS);
	high = join(2, 10);
	occupy(c, 1000);
	grant(11 * MS);
	launch(high, 0, 10, 1);
	grant(10 * US);
	leaves(c, 10);
	for (unsigned i = 0; i < 4; i++) {
		grant(20 * US);
		agent(c);
		if (state(c, 0) == GS_K_TOEVICT)
			evicted(c, 0, 10);
	}
	assert_true(has_turn(high));
	assert_false(has_turn(c));
	agent(high);
	finish(high, 0);
	for (unsigned i = 0; i < 4; i++)
		grant(1 * MS);
	assert_true(has_turn(c));
	all_leave(c, high);
}

static void test_gone_meanwhile(void **unused)
{
	struct client *c, *other;

	(void)unused;
	begin("piv");
	c = join_forced(1, 1, 10 * MS);
	other = join(2, 1);
	occupy(c, 1000);
	grant(11 * MS);
	assert_int_equal(state(c, 0), GS_K_TOEVICT);
	leave(c);
	launch(other, 0, 10, 1);
	grant(10 * US);
	grant(10 * US);
	assert_true(has_turn(other));
	all_leave(other);
}

/* Its memory is to go to the host, or another's. */
static void test_pinned_meanwhile(void **unused)
{
	struct client *c, *other;

	(void)unused;
	for (int who = 0; who < 2; who++) {
		begin("piv");
		c = join_forced(1, 1, 10 * MS);
		other = join(2, 1);
		occupy(c, 1000);
		grant(11 * MS);
		assert_int_equal(gs_gpu_pin(who ? other->gpu_client : c->gpu_client), 0);
		leaves(c, 10);
		grant(10 * US);
		grant(10 * US);
		assert_true(has_turn(who ? other : c));
		agent(c);
		grant(50 * MS);
		assert_int_equal(c->usage.evicted.n, 1);
		gs_gpu_unpin(gpu);
		for (unsigned i = 0; i < 4; i++) {
			grant(1 * MS);
			agent(c);
			if (state(c, 0) == GS_K_TOEVICT) /* due long since */
				evicted(c, 0, 20);
		}
		assert_true(has_turn(c));
		all_leave(c, other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_nobody_else),
		cmocka_unit_test(test_not_with_one_that_cannot),
		cmocka_unit_test(test_policy_decides),
		cmocka_unit_test(test_urgent_meanwhile),
		cmocka_unit_test(test_gone_meanwhile),
		cmocka_unit_test(test_pinned_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
