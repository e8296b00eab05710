/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels that cannot leave: who runs beside them, who is held back, and what becomes of them
 * (arbiter/holders.h). */
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
#include "sharing_rig.h"
#include "gpushare/arbiter/gpu_core.h"

#define LATE (5 * MS)

static void urgent_runs_beside_what_cannot_leave(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, AS_IS, 0);
	high = requests(2, 10, AS_IS, 0);
	grant(US);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_TORUN);
	assert_true(gs_page_load(high->page->beside));
	assert_false(has_turn(low));
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	/* However long it takes: the driver's time slices share the GPU meanwhile, and nobody is to
	 * blame. */
	agent(high);
	for (int i = 0; i < 100; i++)
		grant(10 * MS);
	assert_true(has_turn(high));
	assert_int_equal(overdue(), 0);
	assert_false(gs_gpu_client_overdue(low->gpu_client));
	finish(low, 0);
	grant(MS);
	assert_false(gs_page_load(high->page->beside));
	all_leave(low, high);
}

/* Whoever times a launch sees afterwards whether anybody came beside it meanwhile. */
static void neighbours_are_counted(void **unused)
{
	struct client *low, *high;
	uint32_t came;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, AS_IS, 0);
	came = gs_page_load(low->page->besides);
	grant(US);
	assert_int_equal(gs_page_load(low->page->besides), came);
	for (unsigned i = 1; i <= 2; i++) {
		high = requests(2, 10, AS_IS, 0);
		grant(US);
		agent(high);
		grant(MS);
		assert_true(gs_page_load(low->page->beside));
		finish(high, 0);
		grant(10 * MS);
		leave(high);
		grant(10 * MS);
		assert_false(gs_page_load(low->page->beside));
		assert_int_equal(gs_page_load(low->page->besides), came + i);
	}
	finish(low, 0);
	all_leave(low, NULL);
}

static void urgent_need_not_request_beside_what_cannot_leave(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, AS_IS, 0);
	high = requests(2, 10, AS_IS, 0);
	grant(US);
	agent(high);
	finish(high, 0);
	finish(low, 0);
	go(low, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch_leaving(low, 0, AS_IS, 0, 31 * MS);
	grant(MS);
	grant(MS);
	agent(low);
	grant(MS);
	assert_true(has_turn(low));
	/* It pauses, and has the time slice all the same; some of its launches are to be seen. */
	assert_true(has_turn(high));
	assert_int_equal(gs_page_load(high->page->contended), GS_CONTENDED_SPARSE);
	assert_in_range(grant(MS) - now, 1, MS);
	go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch_leaving(high, 0, AS_IS, 0, MS);
	assert_int_equal(state(high, 0), GS_K_RUNNING);
	grant(500 * US);
	assert_true(has_turn(high));
	assert_false(has_turn(low)); /* nothing new beside it */
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	/* What leaves soon is no reason: it will be told to leave. */
	finish(low, 0);
	finish(high, 0);
	go(low, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch_leaving(low, 0, 1, SOON, 31 * MS);
	for (int i = 0; i < 20; i++) {
		grant(MS);
		agent(low);
	}
	assert_true(has_turn(low));
	assert_false(has_turn(high));
	all_leave(low, high);
}

static void urgent_waits_for_what_leaves_soon(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, 1, SOON);
	high = requests(2, 10, AS_IS, 0);
	grant(US);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_false(has_turn(high));
	evicted(low, 0, 100);
	agent(low);
	grant(SOON);
	assert_true(has_turn(high));
	all_leave(low, high);
}

static void nobody_waits_long_for_what_should_have_left(void **unused)
{
	struct client *low, *high;
	unsigned waited = 0;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, 1, SOON); /* says so, and does not */
	high = requests(2, 10, AS_IS, 0);
	while (!has_turn(high) && waited++ < 1000)
		grant(100 * US);
	assert_in_range(waited, 2, 40);
	/* It is stuck all the same, and that is told. */
	agent(high);
	for (int i = 0; i < 30; i++)
		grant(10 * MS);
	assert_int_equal(overdue(), 1);
	all_leave(low, high);
}

static void slow_and_unknown_ones_leave_while_others_run(void **unused)
{
	static const uint64_t leave_ns[] = { LATE, 0 };

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct client *low, *high;
		struct gs_gpu_status st;

		begin_sharing("frs", 0);
		low = running(1, 1, 1, leave_ns[i]);
		high = requests(2, 10, AS_IS, 0);
		grant(US);
		assert_true(has_turn(high));
		assert_int_equal(state(low, 0), GS_K_TOEVICT);
		grant(2 * MS);
		evicted(low, 0, 100);
		agent(low);
		grant(MS);
		assert_true(has_turn(high));
		gs_gpu_status(gpu, &st);
		assert_int_equal(st.evictions, 1);
		assert_in_range((uint64_t)st.evict_p50_us, 2500, 3500);
		assert_int_equal(state(low, 0), GS_K_READY);
		/* It goes on once the urgent one is done. */
		agent(high);
		finish(high, 0);
		grant(MS);
		grant(MS);
		assert_true(has_turn(low));
		all_leave(low, high);
	}
}

static void what_slips_past_is_told_to_leave(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, AS_IS, 0);
	high = requests(2, 10, AS_IS, 0);
	grant(US);
	agent(high);
	/* It had read that it has the time slice. */
	prepare(low, 1, 1000, 1);
	go(low, 1, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
	gs_page_store(low->page->slot[1].started, 1);
	gs_gpu_doorbell(low->gpu_client);
	grant(MS);
	grant(MS);
	assert_int_equal(state(low, 1), GS_K_TOEVICT);
	all_leave(low, high);
}

static void equals_share_where_one_cannot_leave(void **unused)
{
	struct client *a, *b, *c, *low;

	(void)unused;
	begin_sharing("piv", 0);
	a = running(1, 5, AS_IS, 0);
	b = requests(2, 5, 1, SOON);
	c = requests(3, 5, AS_IS, 0);
	low = requests(4, 1, AS_IS, 0);
	grant(US);
	assert_true(has_turn(a));
	assert_true(has_turn(b));
	assert_true(has_turn(c));
	assert_false(has_turn(low));
	agent(b);
	agent(c);
	/* None of them is told to leave, whoever is the scheduler's. */
	for (int i = 0; i < 200; i++)
		grant(MS);
	assert_int_equal(state(b, 0), GS_K_RUNNING);
	assert_true(has_turn(a) && has_turn(b) && has_turn(c));
	assert_int_equal(gs_page_load(a->page->contended),
			 GS_CONTENDED_SPARSE); /* for the sake of `low`, at most */
	finish(a, 0);
	finish(b, 0);
	finish(c, 0);
	for (int i = 0; i < 5; i++)
		grant(MS);
	assert_true(has_turn(low));
	assert_int_equal(gs_page_load(low->page->contended),
			 GS_CONTENDED_QUEUE); /* the others will want it again */
	all_leave(a, b, c, low);
}

static void equals_take_turns_where_all_leave_soon(void **unused)
{
	struct client *a, *b;
	unsigned changes = 0;

	(void)unused;
	begin_sharing("rr", 0);
	a = running(1, 5, 1, SOON);
	b = requests(2, 5, 1, SOON);
	for (int i = 0; i < 100; i++) {
		unsigned both = has_turn(a) && has_turn(b);

		assert_false(both);
		grant(100 * US);
		if (state(a, 0) == GS_K_TOEVICT) {
			evicted(a, 0, 10);
			changes++;
		}
		if (state(b, 0) == GS_K_TOEVICT) {
			evicted(b, 0, 10);
			changes++;
		}
		agent(a);
		agent(b);
	}
	assert_true(changes > 2);
	all_leave(a, b);
}

static void urgent_ends_the_sharing_and_it_goes_on(void **unused)
{
	struct client *a, *b, *high;

	(void)unused;
	begin_sharing("frs", 0);
	a = running(1, 1, AS_IS, 0);
	b = requests(2, 1, AS_IS, 0);
	grant(US);
	agent(b);
	assert_true(has_turn(a) && has_turn(b));
	high = requests(3, 10, AS_IS, 0);
	grant(US);
	assert_true(has_turn(high));
	assert_false(has_turn(a) || has_turn(b));
	agent(high);
	finish(a, 0);
	finish(b, 0);
	launch_leaving(a, 1, AS_IS, 0, MS);
	launch_leaving(b, 1, AS_IS, 0, MS);
	grant(MS);
	assert_false(has_turn(a) || has_turn(b));
	finish(high, 0);
	for (int i = 0; i < 5; i++)
		grant(MS);
	assert_true(has_turn(a) && has_turn(b));
	/* The next time, too; and what they queue is little from now on. */
	assert_int_equal(gs_page_load(a->page->contended), GS_CONTENDED_QUEUE);
	all_leave(a, b, high);
}

static void stuck_ones_are_told_of_under_mps(void **unused)
{
	(void)unused;
	for (int mps = 0; mps < 2; mps++) {
		struct client *low, *high;

		begin_sharing("frs", mps);
		low = running(1, 1, AS_IS, 0);
		high = requests(2, 10, AS_IS, 0);
		grant(US);
		agent(high);
		for (int i = 0; i < 30; i++)
			grant(10 * MS);
		assert_int_equal(overdue(), mps);
		assert_int_equal(gs_gpu_client_overdue(low->gpu_client), mps);
		all_leave(low, high);
	}
}

static void evictable_ones_that_stay_are_stuck(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_sharing("frs", 0);
	low = running(1, 1, 1, LATE);
	high = requests(2, 10, AS_IS, 0);
	grant(US);
	agent(high);
	for (int i = 0; i < 30; i++)
		grant(10 * MS);
	assert_int_equal(overdue(), 1);
	all_leave(low, high);
}

static void starves_no_equal(int by_priority)
{
	struct gs_gpu_options o = options_of("fifo");
	struct client *a, *b;
	unsigned had = 0;

	o.leave_most_ns = 300 * US;
	o.sched.by_priority = by_priority;
	begin_with(&o);
	a = running(1, 5, 1, SOON);
	b = requests(2, 5, 1, SOON);
	for (int i = 0; i < 10000; i++) {
		grant(MS);
		if (state(a, 0) == GS_K_TOEVICT)
			evicted(a, 0, 10);
		if (state(b, 0) == GS_K_TOEVICT)
			evicted(b, 0, 10);
		agent(a);
		agent(b);
		had += has_turn(b) != 0;
		assert_false(has_turn(a) && has_turn(b));
	}
	assert_in_range(had, 2500, 6000);
	all_leave(a, b);
}

static void no_policy_starves_equals(void **unused)
{
	(void)unused;
	starves_no_equal(0); /* one that was named */
	starves_no_equal(1);
}

static void whoever_goes_leaves_the_others_as_they_are(void **unused)
{
	struct client *a, *b, *c;

	(void)unused;
	begin_sharing("frs", 0);
	a = running(1, 5, AS_IS, 0);
	b = requests(2, 5, AS_IS, 0);
	c = requests(3, 5, AS_IS, 0);
	grant(US);
	agent(b);
	agent(c);
	leave(a); /* the holder */
	grant(MS);
	assert_true(has_turn(b) && has_turn(c));
	leave(b);
	grant(MS);
	assert_true(has_turn(c));
	assert_int_equal(gs_gpu_client_stopped(c->gpu_client, 1, now), 1);
	grant(MS);
	all_leave(c);
}

static void a_new_priority_is_a_new_class(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_sharing("frs", 0);
	a = running(1, 5, AS_IS, 0);
	b = requests(2, 1, AS_IS, 0);
	grant(US);
	assert_false(has_turn(b));
	gs_gpu_client_priority(b->gpu_client, 5, 10, now);
	grant(MS);
	assert_true(has_turn(a) && has_turn(b));
	gs_gpu_client_priority(b->gpu_client, 9, 10, now);
	agent(b);
	grant(MS);
	grant(MS);
	assert_true(has_turn(b));
	assert_false(has_turn(a));
	all_leave(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urgent_runs_beside_what_cannot_leave),
		cmocka_unit_test(neighbours_are_counted),
		cmocka_unit_test(urgent_need_not_request_beside_what_cannot_leave),
		cmocka_unit_test(urgent_waits_for_what_leaves_soon),
		cmocka_unit_test(nobody_waits_long_for_what_should_have_left),
		cmocka_unit_test(slow_and_unknown_ones_leave_while_others_run),
		cmocka_unit_test(what_slips_past_is_told_to_leave),
		cmocka_unit_test(equals_share_where_one_cannot_leave),
		cmocka_unit_test(equals_take_turns_where_all_leave_soon),
		cmocka_unit_test(urgent_ends_the_sharing_and_it_goes_on),
		cmocka_unit_test(stuck_ones_are_told_of_under_mps),
		cmocka_unit_test(evictable_ones_that_stay_are_stuck),
		cmocka_unit_test(no_policy_starves_equals),
		cmocka_unit_test(whoever_goes_leaves_the_others_as_they_are),
		cmocka_unit_test(a_new_priority_is_a_new_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
