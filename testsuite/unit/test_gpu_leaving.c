/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a turn ends: evictions and their races, clients that do not leave, the next one beside the
 * last. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"

static void test_done_wins_the_race_with_toevict(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 100);
	grant(1 * MS);
	launch(high, 0, 1, 1);
	grant(0);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	finish(low, 0); /* TOEVICT -> DONE: it came too late to matter */
	grant(30 * US);
	assert_true(has_turn(high));
	assert_int_equal(low->usage.preemptions, 0);
	all_leave(low, high);
}

static void test_torun_is_taken_back(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	launch(low, 0, 100, 1);
	grant(0);
	assert_int_equal(state(low, 0), GS_K_TORUN); /* not launched yet */
	launch(high, 0, 1, 1);
	grant(0);
	assert_int_equal(state(low, 0), GS_K_READY);
	assert_true(has_turn(high));
	assert_int_equal(low->usage.preemptions, 0);
	all_leave(low, high);
}

static void test_unevictable_is_waited_for(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	launch(low, 0, 100, 0);
	grant(0);
	agent(low);
	grant(1 * MS);
	launch(high, 0, 1, 1);
	grant(0);
	agent(low);
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	grant(50 * MS);
	assert_false(has_turn(high));
	assert_false(has_turn(low));
	finish(low, 0);
	grant(1 * MS);
	assert_true(has_turn(high));
	all_leave(low, high);
}

static void test_deadline_bounds_the_wait(void **unused)
{
	struct gs_gpu_status st;
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 100);
	grant(1 * MS);
	launch(high, 0, 1, 1);
	grant(0);
	grant(99 * MS);
	assert_false(has_turn(high));
	grant(2 * MS);
	assert_true(has_turn(high));
	gs_gpu_status(gpu, &st);
	assert_int_equal(st.overdue, 1);
	/* Said once: under MPS it is terminated. */
	assert_int_equal(gs_gpu_client_overdue(low->gpu_client), 1);
	assert_int_equal(gs_gpu_client_overdue(low->gpu_client), 0);
	assert_int_equal(gs_gpu_client_overdue(high->gpu_client), 0);
	assert_true(gs_gpu_client_on_gpu(low->gpu_client));
	/* It does leave in the end, and is then runnable like any other. */
	evicted(low, 0, 50);
	grant(1 * MS);
	assert_int_equal(low->usage.preemptions, 1);
	assert_int_equal(state(low, 0), GS_K_READY);
	agent(high);
	finish(high, 0);
	grant(0);
	grant(200 * US);
	assert_int_equal(state(low, 0), GS_K_TORUN);
	all_leave(low, high);
}

/* It was marked as started, and is behind the one that has left: it ends when that one goes on. */
static void test_kernel_behind_an_evicted_one_is_not_waited_for(void **unused)
{
	struct gs_gpu_status st;
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 100);
	launch(low, 1, 1, 0);
	gs_page_store(low->page->slot[1].alone_ns, 5 * MS);
	launch(high, 0, 1, 1);
	grant(1 * MS);
	agent(low);
	grant(50 * MS);
	assert_false(has_turn(high)); /* one that can leave has not */
	evicted(low, 0, 50);
	grant(1 * MS);
	assert_true(has_turn(high));
	gs_gpu_status(gpu, &st);
	assert_int_equal(st.overdue, 0);
	agent(high);
	finish(high, 0);
	grant(0);
	grant(1 * MS);
	assert_true(has_turn(low));
	agent(low);
	/* It may be running, and is given its time. */
	launch(high, 1, 1, 1);
	grant(1 * MS);
	evicted(low, 0, 60);
	grant(29 * MS);
	assert_false(has_turn(high));
	grant(2 * MS);
	assert_true(has_turn(high));
	agent(high);
	finish(high, 1);
	grant(0);
	grant(1 * MS);
	/* Nothing of its has been evicted: what is there runs. */
	agent(low);
	finish(low, 0);
	assert_int_equal(state(low, 1), GS_K_RUNNING);
	launch(high, 2, 1, 1);
	grant(1 * MS);
	grant(80 * MS);
	assert_false(has_turn(high));
	finish(low, 1);
	grant(1 * MS);
	assert_true(has_turn(high));
	all_leave(low, high);
}

/* How many ms until it has the time slice; `polite` leaves when it is told to. */
static unsigned ms_until(struct client *c, struct client *polite)
{
	unsigned ms = 0;

	while (!has_turn(c)) {
		assert_true(ms++ < 200);
		agent(polite);
		grant(1 * MS);
		if (state(polite, 0) == GS_K_TOEVICT)
			evicted(polite, 0, 10);
	}
	return ms;
}

/* Nobody else waits out the whole deadline for the same kernel again and again. */
static void test_stuck_client_is_not_waited_for_again(void **unused)
{
	struct gs_gpu_status st;
	struct client *stuck, *other;

	(void)unused;
	begin("rr");
	stuck = join(1, 1);
	other = join(2, 1);
	occupy(stuck, 100);
	launch(stuck, 1, 10, 1); /* it goes on asking for its time slice */
	launch(other, 0, 1000, 1);
	assert_in_range(ms_until(other, other), 100, 110);
	if (state(stuck, 1) == GS_K_TOEVICT)
		evicted(stuck, 1, 5);
	for (int round = 0; round < 3; round++) {
		assert_in_range(ms_until(stuck, other), 1, 10);
		assert_in_range(ms_until(other, other), 1, 10);
	}
	gs_gpu_status(gpu, &st);
	assert_int_equal(st.overdue, 1); /* one kernel was */
	assert_int_equal(gs_gpu_client_overdue(stuck->gpu_client), 1);
	/* Once it has left, in whoever's turn, it is waited for like anybody. */
	evicted(stuck, 0, 50);
	ms_until(stuck, other);
	agent(stuck);
	assert_in_range(ms_until(other, other), 100, 120);
	gs_gpu_status(gpu, &st);
	assert_int_equal(st.overdue, 2);
	all_leave(stuck, other);
}

/* SIGSTOP: it cannot be told to leave, so nobody waits for it, and its time does not count. */
static void test_stopped_holder(void **unused)
{
	struct client *low, *high;
	uint64_t waited;

	(void)unused;
	low_and_high(&low, &high);
	occupy(high, 100);
	grant(1 * MS);
	assert_true(has_turn(high));
	assert_int_equal(gs_gpu_client_matters(high->gpu_client), 1);
	assert_int_equal(gs_gpu_client_stopped(high->gpu_client, 1, now), 1);
	assert_int_equal(gs_gpu_client_stopped(high->gpu_client, 1, now), 0);
	grant(1 * MS);
	assert_true(has_turn(high)); /* nobody else wants it */
	launch(low, 0, 1, 1);
	grant(0);
	assert_true(has_turn(low)); /* long before the deadline, and below in priority */
	assert_false(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_TOEVICT);
	grant(50 * MS);
	assert_true(has_turn(low));
	gs_gpu_settle(gpu, now);
	waited = high->usage.waiting_ns;
	grant(50 * MS);
	gs_gpu_settle(gpu, now);
	assert_int_equal(high->usage.waiting_ns, waited);
	assert_int_equal(gs_gpu_client_stopped(high->gpu_client, 0, now), 1);
	evicted(high, 0, 50);
	gs_gpu_doorbell(high->gpu_client);
	grant(1 * MS);
	assert_false(has_turn(low)); /* it goes on, and has priority again */
	assert_int_equal(state(low, 0), GS_K_READY);
	assert_true(has_turn(high));
	all_leave(low, high);
}

static void test_stopped_waits_for_nothing(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	launch(low, 0, 100, 0);
	grant(0);
	agent(low);
	launch(high, 0, 1, 1);
	grant(1 * MS); /* low is to leave, and cannot */
	assert_false(has_turn(low));
	assert_int_equal(gs_gpu_client_stopped(high->gpu_client, 1, now), 1);
	finish(low, 0);
	launch(low, 1, 1, 1);
	grant(1 * MS);
	assert_false(has_turn(high));
	assert_true(has_turn(low));
	assert_int_equal(gs_gpu_client_stopped(high->gpu_client, 0, now), 1);
	agent(low);
	finish(low, 1);
	grant(1 * MS);
	grant(1 * MS);
	assert_true(has_turn(high));
	all_leave(low, high);
}

/* It is stopped while it leaves. */
static void test_stopped_on_its_way_out(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 100);
	grant(1 * MS);
	launch(high, 0, 1, 1);
	grant(0);
	assert_false(has_turn(high));
	assert_int_equal(gs_gpu_client_stopped(low->gpu_client, 1, now), 1);
	grant(0);
	assert_true(has_turn(high));
	all_leave(low, high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped_holder),
		cmocka_unit_test(test_stopped_waits_for_nothing),
		cmocka_unit_test(test_stopped_on_its_way_out),
		cmocka_unit_test(test_done_wins_the_race_with_toevict),
		cmocka_unit_test(test_torun_is_taken_back),
		cmocka_unit_test(test_unevictable_is_waited_for),
		cmocka_unit_test(test_deadline_bounds_the_wait),
		cmocka_unit_test(test_kernel_behind_an_evicted_one_is_not_waited_for),
		cmocka_unit_test(test_stuck_client_is_not_waited_for_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
