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

/* A client whose kernel is on the GPU, which nobody else had. */
static struct client *running(uint64_t id, int32_t priority, int evictable, uint64_t leave_ns)
{
	struct client *c = join(id, priority);

	launch_leaving(c, 0, evictable, leave_ns, 100 * MS);
	grant(0);
	agent(c);
	grant(US);
	assert_int_equal(state(c, 0), GS_K_RUNNING);
	return c;
}

static struct client *requests(uint64_t id, int32_t priority, int evictable, uint64_t leave_ns)
{
	struct client *c = join(id, priority);

	launch_leaving(c, 0, evictable, leave_ns, 100 * MS);
	return c;
}

static uint64_t overdue(void)
{
	struct gs_gpu_status st;

	gs_gpu_status(gpu, &st);
	return st.overdue;
}

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

/* Keeps a kernel of so long on the GPU or waiting; returns whether it has the time slice. */
static int keep_busy(struct client *c, uint64_t *left, uint64_t ns)
{
	agent(c);
	if (state(c, 0) == GS_K_RUNNING && --*left == 0)
		finish(c, 0);
	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	if (state(c, 0) == GS_K_PREP) {
		launch_leaving(c, 0, AS_IS, 0, ns);
		*left = ns / MS ? ns / MS : 1;
	}
	return has_turn(c) != 0;
}

static void shares_hold_back_who_is_ahead(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1, left_b = 1;
	unsigned had[2] = { 0 }, waited = 0, longest = 0;

	(void)unused;
	begin_sharing("frs", 0);
	a = join(1, 5);
	b = join(2, 5);
	a->gpu_client->p.shares = 75;
	b->gpu_client->p.shares = 25;
	for (int i = 0; i < 4000; i++) {
		had[0] += (unsigned)keep_busy(a, &left_a, MS);
		if (keep_busy(b, &left_b, MS)) {
			had[1]++;
			waited = 0;
		} else if (++waited > longest) {
			longest = waited;
		}
		grant(MS);
	}
	/* Whoever is alone with the time slice has all of the GPU, of two each has half: 3 to 1 is
	 * always against half of the time. */
	assert_in_range(had[0], 3900, 4000);
	assert_in_range(had[1], 1800, 2300);
	assert_in_range(longest, 5, 15);
	all_leave(a, b);
}

static void equals_are_not_held_back(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1, left_b = 1;
	unsigned had[2] = { 0 };

	(void)unused;
	begin_sharing("frs", 0);
	a = join(1, 5);
	b = join(2, 5);
	for (int i = 0; i < 2000; i++) {
		had[0] += (unsigned)keep_busy(a, &left_a, MS);
		had[1] += (unsigned)keep_busy(b, &left_b, 31 * MS);
		grant(MS);
	}
	assert_in_range(had[0], 1950, 2000);
	assert_in_range(had[1], 1900, 2000);
	all_leave(a, b);
}

static void mps_has_short_and_long_ones_take_turns(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1, left_b = 1;
	unsigned had[2] = { 0 }, both = 0;

	(void)unused;
	begin_sharing("frs", 1);
	a = join(1, 5);
	b = join(2, 5);
	for (int i = 0; i < 4000; i++) {
		int has_a, has_b;

		/* Beside the long one nothing of the short one would end. */
		has_a = state(b, 0) == GS_K_RUNNING && state(a, 0) == GS_K_RUNNING ?
				has_turn(a) != 0 :
				keep_busy(a, &left_a, MS / 2);
		has_b = keep_busy(b, &left_b, 31 * MS) || state(b, 0) == GS_K_RUNNING;
		had[0] += has_a && !has_b;
		had[1] += has_b && !has_a;
		both += has_a && has_b;
		grant(MS);
	}
	assert_in_range(had[0], 1500, 2500);
	assert_in_range(had[1], 1500, 2500);
	assert_in_range(both, 0, 100);
	assert_int_equal(gs_page_load(a->page->contended), GS_CONTENDED_QUEUE);
	all_leave(a, b);
}

/* Most of what a training launches has no slot, so every other look finds nothing. */
static void mps_sees_launches_that_untracked(void **unused)
{
	struct client *a, *b;
	uint64_t left_b = 1;
	unsigned had[2] = { 0 };

	(void)unused;
	begin_sharing("frs", 1);
	a = join(1, 5);
	b = join(2, 5);
	for (int i = 0; i < 4000; i++) {
		int has_b = keep_busy(b, &left_b, 31 * MS) || state(b, 0) == GS_K_RUNNING;

		agent(a);
		if (state(a, 0) == GS_K_PREP) {
			a->seq += 20;
			launch_leaving(a, 0, AS_IS, 0, MS / 50);
		}
		had[0] += has_turn(a) && !has_b;
		had[1] += (unsigned)has_b;
		if (i % 2 && state(a, 0) == GS_K_RUNNING) {
			finish(a, 0);
			go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		}
		grant(MS);
	}
	assert_in_range(had[0], 1500, 2500);
	assert_in_range(had[1], 1500, 2500);
	all_leave(a, b);
}

/* Beside others nobody could find out what its kernels take. */
static void mps_times_unknown_kernels_alone(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1, left_b = 1;
	unsigned alone = 0, both = 0, before;

	(void)unused;
	begin_sharing("frs", 1);
	a = join(1, 5);
	b = join(2, 5);
	for (int i = 0; i < 2000; i++) {
		/* Known after it has been alone for a while. */
		keep_busy(a, &left_a, alone < 100 ? 0 : MS / 2);
		keep_busy(b, &left_b, MS / 2);
		alone += state(b, 0) != GS_K_RUNNING && has_turn(a) &&
			 !gs_page_load(a->page->beside);
		both += has_turn(a) && has_turn(b);
		grant(MS);
		if (i == 499)
			before = both;
	}
	/* Then they run beside each other. */
	assert_in_range(before, 0, 100);
	assert_in_range(both, 1300, 2000);
	all_leave(a, b);
}

static void mps_waits_for_no_kernel_without_end(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1;
	unsigned had = 0;

	(void)unused;
	begin_sharing("frs", 1);
	b = running(2, 5, AS_IS, 0);
	a = join(1, 5);
	for (int i = 0; i < 1000; i++) {
		had += (unsigned)keep_busy(a, &left_a, MS / 2);
		grant(MS);
	}
	assert_in_range(had, 400, 1000);
	all_leave(a, b);
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
	gs_gpu_client_priority(b->gpu_client, 5, now);
	grant(MS);
	assert_true(has_turn(a) && has_turn(b));
	gs_gpu_client_priority(b->gpu_client, 9, now);
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
		cmocka_unit_test(urgent_need_not_request_beside_what_cannot_leave),
		cmocka_unit_test(urgent_waits_for_what_leaves_soon),
		cmocka_unit_test(nobody_waits_long_for_what_should_have_left),
		cmocka_unit_test(slow_and_unknown_ones_leave_while_others_run),
		cmocka_unit_test(what_slips_past_is_told_to_leave),
		cmocka_unit_test(equals_share_where_one_cannot_leave),
		cmocka_unit_test(equals_take_turns_where_all_leave_soon),
		cmocka_unit_test(urgent_ends_the_sharing_and_it_goes_on),
		cmocka_unit_test(shares_hold_back_who_is_ahead),
		cmocka_unit_test(equals_are_not_held_back),
		cmocka_unit_test(mps_has_short_and_long_ones_take_turns),
		cmocka_unit_test(mps_sees_launches_that_untracked),
		cmocka_unit_test(mps_times_unknown_kernels_alone),
		cmocka_unit_test(mps_waits_for_no_kernel_without_end),
		cmocka_unit_test(stuck_ones_are_told_of_under_mps),
		cmocka_unit_test(evictable_ones_that_stay_are_stuck),
		cmocka_unit_test(no_policy_starves_equals),
		cmocka_unit_test(whoever_goes_leaves_the_others_as_they_are),
		cmocka_unit_test(a_new_priority_is_a_new_class),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
