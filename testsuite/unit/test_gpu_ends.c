/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a client's work should be done, and how closely it is looked at before and after. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "gpushare/daemon/budget.h"
#include "gpushare/daemon/gpu_core.h"
#include "gpushare/daemon/pace.h"

static void test_end_is_expected_from_the_start_on(void **unused)
{
	struct gs_gpu g = { .look_ns = 0 };
	struct gs_tenant t = { .gpu = &g, .told_nt = 100, .told_alone_ns = 10 * MS };

	(void)unused;
	gs_pace_expect(&t);
	assert_int_equal(t.expected_ns, 0); /* it has not the GPU */
	gs_pace_begin(&t, GS_PACE_TURN, T0);
	assert_int_equal(t.expected_ns, T0 + 10 * MS);
	/* More work in the middle of it moves the end by that much. */
	t.told_nt = 150;
	t.told_alone_ns = 15 * MS;
	gs_pace_expect(&t);
	assert_int_equal(t.expected_ns, T0 + 15 * MS);
	/* Again after an eviction: what is done stays done. */
	t.told_done = 50;
	gs_pace_begin(&t, GS_PACE_TURN, T0 + 20 * MS);
	assert_int_equal(t.expected_ns, T0 + 30 * MS);
	gs_pace_idle(&t, T0 + 30 * MS + 40 * US, T0 + 30 * MS + 41 * US);
	assert_int_equal(t.off_ns, 40 * US + 1);
	assert_int_equal(t.expected_ns, 0);
	assert_int_equal(t.lag_ns[1][GS_PACE_TURN], 10 * US); /* it had gone on */
	/* Nobody says how long it takes. */
	t.told_alone_ns = 0;
	gs_pace_begin(&t, GS_PACE_TURN, T0 + 40 * MS);
	assert_int_equal(t.expected_ns, 0);
}

/* Kernels of 1 ms that each begin 160 us after the turn, or 20 after it was kept: the way to the GPU is learned. */
static void test_the_way_to_the_gpu_is_learned(void **unused)
{
	struct gs_gpu g = { .look_ns = 0 };
	struct gs_tenant t = { .gpu = &g, .told_nt = 100, .told_alone_ns = 1 * MS };
	uint64_t at = T0, end;

	(void)unused;
	for (int i = 0; i < 40; i++, at += 5 * MS) {
		enum gs_pace_base base = i % 2 ? GS_PACE_KEPT : GS_PACE_BESIDE;

		gs_pace_begin(&t, base, at);
		end = at + 1 * MS + (i % 2 ? 20 * US : 160 * US);
		if (i >= 36)
			assert_in_range(t.expected_ns, end - 5 * US, end + 5 * US);
		gs_pace_idle(&t, end - 2 * US, end + 1 * US);
	}
	assert_true(t.off_ns < 5 * US);
	/* One that goes on has a way of its own. */
	t.told_done = 50;
	gs_pace_begin(&t, GS_PACE_BESIDE, at);
	assert_int_equal(t.expected_ns, at + 500 * US);
	t.told_done = 0;
	assert_int_equal(t.lag_ns[0][GS_PACE_TURN], 0);
	/* Nobody looked for long, and it ended in between: that teaches nothing. */
	gs_pace_begin(&t, GS_PACE_TURN, at);
	gs_pace_idle(&t, at + 500 * US, at + 20 * MS);
	assert_int_equal(t.lag_ns[0][GS_PACE_TURN], 0);
	/* One that is far off teaches little. */
	gs_pace_begin(&t, GS_PACE_TURN, at);
	gs_pace_idle(&t, at + 90 * MS, at + 90 * MS);
	assert_int_equal(t.lag_ns[0][GS_PACE_TURN], 100 * US);
	/* Sooner than it was told, again and again; it is not expected before it began. */
	for (int i = 0; i < 40; i++) {
		gs_pace_begin(&t, GS_PACE_TURN, at);
		gs_pace_idle(&t, at + 100 * US, at + 101 * US);
	}
	assert_in_range(-t.lag_ns[0][GS_PACE_TURN], 890 * US, 900 * US);
	t.told_alone_ns = 100 * US;
	gs_pace_begin(&t, GS_PACE_TURN, at);
	assert_int_equal(t.expected_ns, at + 100 * US);
}

/*
 * A 1 ms kernel every 5 ms beside a long one, whose block-tasks leave within 30 us: it begins 140 us
 * later, whether it is there before the other one has left or after.  In the end its end is seen within 5 us.
 */
static void test_ends_beside_a_long_one_are_seen(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high;
	uint64_t next, end, late = 0;

	(void)unused;
	o.overlap_ns = 8 * US;
	o.sched.handover_ns = 135 * US;
	o.measure_handover = 1;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 1000);
	for (unsigned i = 0; i < 40; i++) {
		int launched = 0, left = 0;
		uint64_t told = 0, given = 0;

		gs_page_store(low->page->stub[0].leave_ns, 30 * US);
		turn(4 * MS);
		launch(high, 0, 10, 1);
		gs_page_store(high->page->stub[0].alone_ns, 1 * MS);
		next = turn(0);
		assert_int_equal(state(low, 0), GS_K_TOEVICT);
		told = now;
		end = UINT64_MAX;
		while (!(state(high, 0) == GS_K_DONE && !has_turn(high))) {
			uint64_t at = next;
			uint64_t event = UINT64_MAX;

			if (!left)
				event = told + 30 * US;
			if (given && !launched && given + (i % 2 ? 3 : 12) * US < event)
				event = given + (i % 2 ? 3 : 12) * US;
			if (launched && end < event)
				event = end;
			if (event <= at) {
				now = event;
				if (!left && event == told + 30 * US) {
					evicted(low, 0, 100 * (i + 1));
					left = 1;
				} else if (!launched) {
					agent(high);
					launched = 1;
					end = told + 30 * US + 140 * US + 1 * MS;
				} else {
					finish(high, 0);
					end = UINT64_MAX;
				}
				continue;
			}
			next = turn(at > now ? at - now : 0);
			if (!given && has_turn(high))
				given = now;
			if (state(high, 0) == GS_K_DONE && i >= 30)
				late = now - (told + 30 * US + 140 * US + 1 * MS);
		}
		assert_true(i < 30 || late < 5 * US);
		go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		agent(low);
		turn(0);
	}
	assert_true(high->tenant->off_ns < 10 * US);
	all_leave(low, high);
}

/* One that goes on with its turn after a pause is done when its new kernel is, if it is known when that began. */
static void test_end_of_one_that_goes_on(void **unused)
{
	struct client *a, *b;

	(void)unused;
	for (int seen = 0; seen < 2; seen++) {
		begin("rr");
		a = join(1, 1);
		b = join(2, 1);
		occupy(a, 100); /* 10 ms */
		turn(10 * MS);
		finish(a, 0);
		turn(20 * US);
		go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		launch(a, 0, 100, 1);
		if (!seen)
			now += 1 * MS;
		launch(b, 0, 100, 1);
		turn(20 * US);
		assert_int_equal(a->tenant->expected_ns, seen ? now + 10 * MS : 0);
		assert_int_equal(a->tenant->goes_on, 0);
		all_leave(a, b);
	}
}

/* Two equal clients, the first of which has the GPU; what the loop is told. */
static void test_looks_at_a_holder(void **unused)
{
	struct client *a, *b;
	struct gs_tenant *t;
	uint64_t at;

	(void)unused;
	begin("piv");
	a = join(1, 5);
	b = join(2, 5);
	occupy(a, 100); /* 10 ms */
	launch(b, 0, 100, 1);
	turn(0);
	t = a->tenant;
	assert_int_equal(t->expected_ns, T0 + 10 * MS);
	/* Never foreseen: after half of what seems left, then closely, then less and less. */
	assert_int_equal(gs_pace_next(gpu, T0), T0 + 5 * MS);
	assert_int_equal(gs_pace_next(gpu, T0 + 5 * MS), T0 + 7 * MS + 500 * US);
	at = t->expected_ns;
	/* Nobody sleeps past the end: woken for the herald, and for the end itself. */
	assert_int_equal(gs_pace_next(gpu, at - 300 * US), at - 100 * US);
	assert_int_equal(gs_pace_next(gpu, at - 100 * US), at - 15 * US);
	assert_int_equal(gs_pace_next(gpu, at) - at, 1 * US);
	assert_int_equal(gs_pace_next(gpu, at + 400 * US) - at, 500 * US);
	assert_int_equal(gs_pace_next(gpu, at + 10 * MS) - at, 10 * MS + 500 * US);
	/* Foreseen within 20 us: asleep until 55 us before, but woken for the herald. */
	t->off_ns = 20 * US;
	assert_int_equal(gs_pace_next(gpu, at - 2 * MS), at - 1 * MS);
	assert_int_equal(gs_pace_next(gpu, at - 700 * US), at - 200 * US);
	assert_int_equal(gs_pace_next(gpu, at - 150 * US), at - 100 * US);
	assert_int_equal(gs_pace_next(gpu, at - 90 * US), at - 55 * US);
	assert_int_equal(gs_pace_next(gpu, at - 50 * US), at - 49 * US);
	/* Out of money: rarely, and nobody is woken early, but the GPU must not stand idle for long. */
	gs_gpu_afford(gpu, 800 * US);
	assert_int_equal(gs_pace_next(gpu, at) - at, 200 * US);
	assert_int_equal(gs_pace_next(gpu, at - 2 * MS), at - 1 * MS);
	gs_gpu_afford(gpu, GS_BUDGET_POOR_NS);
	assert_int_equal(gs_pace_next(gpu, at) - at, 15 * US);
	all_leave(a, b);
}

/* Alone it launches without asking, and most of that is never seen: no guess stands, and none is learnt from. */
static void test_unseen_launches_spoil_the_guess(void **unused)
{
	struct client *a, *b;
	struct gs_tenant *t;

	(void)unused;
	begin("piv");
	a = join(1, 5);
	b = join(2, 5);
	t = a->tenant;
	launch(a, 0, 100, 1); /* 10 ms, of which it has done several when it is looked at again */
	turn(0);
	agent(a);
	turn(0);
	assert_int_equal(t->expected_ns, T0 + 10 * MS);
	finish(a, 0);
	go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	a->seq += 2;
	launch(a, 0, 100, 1);
	turn(35 * MS);
	assert_int_equal(t->expected_ns, 0);
	launch(b, 0, 100, 1);
	assert_int_equal(turn(0) - now, 100 * US);
	finish(a, 0);
	turn(1 * MS);
	assert_int_equal(t->off_ns, 0);
	/* Its next turn is guessed as ever. */
	go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	turn(200 * US);
	assert_true(has_turn(b));
	agent(b);
	launch(a, 0, 100, 1);
	turn(1 * MS);
	finish(b, 0);
	turn(1 * MS);
	turn(200 * US);
	assert_true(has_turn(a));
	assert_int_equal(t->expected_ns, t->base_ns + 10 * MS);
	all_leave(a, b);
}

static void test_looks_at_a_client_on_its_way_out(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high;

	(void)unused;
	o.overlap_ns = 8 * US;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 1000, 1);
	gs_page_store(low->page->stub[0].leave_ns, 17 * US);
	turn(0);
	agent(low);
	launch(high, 0, 10, 1);
	/* A short way out is watched from the first moment on. */
	assert_int_equal(turn(1 * MS) - now, 1 * US);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_false(has_turn(high));
	turn(9 * US);
	assert_true(has_turn(high));
	/* It takes longer than it said. */
	assert_int_equal(turn(50 * US) - now, 1 * US);
	assert_int_equal(turn(200 * US) - now, (9 + 50 + 200) * US / 8);
	assert_int_equal(turn(30 * MS) - now, 500 * US);
	evicted(low, 0, 10);
	turn(0);
	agent(high);
	finish(high, 0);
	turn(1 * MS);
	turn(100 * US);
	agent(low);
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	/* A long one is slept through at first, and then looked at as closely as it matters. */
	gs_page_store(low->page->stub[0].leave_ns, 1 * MS);
	go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(high, 0, 10, 1);
	assert_int_equal(turn(1 * MS) - now, 400 * US);
	assert_int_equal(turn(400 * US) - now, 1 * MS / 64);
	/* Just before the next one may go on. */
	assert_int_equal(turn(591 * US) - now, 1 * US);
	gs_gpu_afford(gpu, 4 * MS);
	assert_int_equal(gs_pace_next(gpu, now) - now, 1 * US);
	turn(1 * US);
	assert_true(has_turn(high));
	assert_int_equal(gs_pace_next(gpu, now) - now, 1 * MS);
	all_leave(low, high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_end_is_expected_from_the_start_on),
		cmocka_unit_test(test_the_way_to_the_gpu_is_learned),
		cmocka_unit_test(test_ends_beside_a_long_one_are_seen),
		cmocka_unit_test(test_end_of_one_that_goes_on),
		cmocka_unit_test(test_looks_at_a_holder),
		cmocka_unit_test(test_unseen_launches_spoil_the_guess),
		cmocka_unit_test(test_looks_at_a_client_on_its_way_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
