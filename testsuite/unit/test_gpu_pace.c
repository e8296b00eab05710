/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the pages are looked at, how long an idle GPU is kept, and who is woken before its turn. */
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

static uint32_t bell(const struct client *c)
{
	return gs_page_load(c->page->bell);
}

/* ---- a client's pauses ------------------------------------------------- */

static void pause_for(struct gs_tenant *t, uint64_t *at, uint64_t gap)
{
	gs_pace_idle(t, *at, *at);
	gs_pace_busy(t, *at += gap);
	*at += MS;
}

static void test_grace_follows_the_pauses(void **unused)
{
	struct gs_gpu g = { .o = { .idle_grace_ns = 200 * US } };
	struct gs_tenant t = { .gpu = &g };
	uint64_t at = T0;

	(void)unused;
	assert_int_equal(gs_pace_grace(&t), 25 * US); /* nobody knows */
	pause_for(&t, &at, 40 * US);
	assert_int_equal(gs_pace_grace(&t), 80 * US);
	pause_for(&t, &at, 180 * US);
	assert_int_equal(gs_pace_grace(&t), 80 * US); /* the shorter of two */
	pause_for(&t, &at, 180 * US);
	assert_int_equal(gs_pace_grace(&t), 200 * US);
	/* One long pause does not end a chain; two do, and two short ones begin one. */
	pause_for(&t, &at, 4 * MS);
	assert_int_equal(gs_pace_grace(&t), 200 * US);
	pause_for(&t, &at, 4 * MS);
	assert_int_equal(gs_pace_grace(&t), 0);
	pause_for(&t, &at, 10 * US);
	assert_int_equal(gs_pace_grace(&t), 35 * US);
	g.o.idle_grace_ns = 0;
	assert_int_equal(gs_pace_grace(&t), 0);
}

/* A kernel of 1 ms every 5 ms beside a long one: its end gives the GPU back in the same turn. */
static void test_periodic_client_keeps_nothing(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 1000);
	for (unsigned i = 0; i < 6; i++) {
		turn(4 * MS);
		launch(high, 0, 10, 1);
		turn(0);
		assert_int_equal(state(low, 0), GS_K_TOEVICT);
		evicted(low, 0, 100 * (i + 1));
		turn(20 * US);
		assert_int_equal(state(high, 0), GS_K_TORUN);
		agent(high);
		turn(1 * MS);
		finish(high, 0);
		turn(0);
		if (i < 2) /* its pauses are not known yet */
			turn(200 * US);
		assert_false(has_turn(high));
		assert_true(has_turn(low));
		assert_int_equal(state(low, 0), GS_K_TORUN);
		go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		agent(low);
	}
	all_leave(low, high);
}

/* A chain of kernels with short pauses keeps the GPU, and loses it soon after its last one. */
static void test_chain_keeps_the_gpu(void **unused)
{
	struct client *chain, *other;

	(void)unused;
	begin("piv");
	chain = join(1, 5);
	other = join(2, 5);
	occupy(chain, 10);
	launch(other, 0, 10, 1);
	turn(0);
	for (unsigned i = 0; i < 5; i++) {
		turn(1 * MS);
		finish(chain, 0);
		turn(0);
		go(chain, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		turn(20 * US);
		assert_true(has_turn(chain));
		launch(chain, 0, 10, 1);
		assert_int_equal(state(chain, 0), GS_K_RUNNING);
		turn(0);
	}
	finish(chain, 0);
	assert_int_equal(turn(0) - now, 50 * US); /* 20 us, half of that, and 20 more */
	turn(50 * US);
	assert_true(has_turn(other));
	all_leave(chain, other);
}

/* ---- who comes at regular intervals --------------------------------------- */

static void test_regular_arrivals_are_foreseen(void **unused)
{
	struct gs_arrival a = { 0 };
	uint64_t from, to, at = T0;

	(void)unused;
	assert_false(gs_arrival_next(&a, at, &from, &to));
	gs_arrival_note(&a, at);
	gs_arrival_note(&a, at += 5 * MS);
	assert_false(gs_arrival_next(&a, at, &from, &to)); /* once is no rule */
	gs_arrival_note(&a, at += 5 * MS + 10 * US);
	assert_true(gs_arrival_next(&a, at, &from, &to));
	assert_true(from < at + 5 * MS && at + 5 * MS < to && to - from < 120 * US);
	/* It stayed away once: the next time, and the time after; then nobody waits any more. */
	assert_true(gs_arrival_next(&a, at + 6 * MS, &from, &to));
	assert_in_range(from, at + 10 * MS - 200 * US, at + 10 * MS);
	assert_true(gs_arrival_next(&a, at + 19 * MS, &from, &to));
	assert_false(gs_arrival_next(&a, at + 21 * MS, &from, &to));
	/* One that it skipped is no other rhythm. */
	gs_arrival_note(&a, at += 10 * MS + 20 * US);
	assert_true(gs_arrival_next(&a, at, &from, &to));
	assert_in_range(from, at + 5 * MS - 200 * US, at + 5 * MS);
	/* Once at any time, and it is not trusted for long. */
	gs_arrival_note(&a, at += 7 * MS);
	assert_false(gs_arrival_next(&a, at, &from, &to));
	gs_arrival_note(&a, at += 7 * MS);
	assert_false(gs_arrival_next(&a, at, &from, &to));
	/* Too often, too seldom. */
	for (int k = 0; k < 2; k++) {
		memset(&a, 0, sizeof(a));
		for (int i = 0; i < 8; i++)
			gs_arrival_note(&a, at += k ? 2000 * MS : 100 * US);
		assert_false(gs_arrival_next(&a, at, &from, &to));
	}
}

/* Who is awaited now; *asked: one of them has asked already. */
static size_t await(struct gs_awaited *awaited, int *asked)
{
	*asked = 0;
	return gs_gpu_await(gpu, awaited, 4, asked, now);
}

/* It launches and asks; 1 if it wakes somebody. */
static int ask(struct client *c)
{
	prepare(c, 0, 10, 1);
	go(c, 0, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
	gs_page_ask(c->page);
	return gs_page_load(c->page->attended) != GS_ATTENDED_AWAKE;
}

/* The short one has the GPU in the place of the long one, which gets it back. */
static void be_served(struct client *low, struct client *high, uint64_t done)
{
	turn(1 * US);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	evicted(low, 0, done);
	turn(0);
	agent(high);
	finish(high, 0);
	turn(1 * MS);
	go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	turn(300 * US);
	assert_true(has_turn(low));
	agent(low);
	turn(0);
}

/* It comes every 5 ms, so from the fourth time on the loop is there, its asking wakes nobody, and its launch is found. */
static void test_awaited_client_wakes_nobody(void **unused)
{
	struct gs_awaited awaited[4];
	struct client *low, *high;
	uint64_t due, next;
	int asked;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 1000);
	due = now + 5 * MS;
	for (unsigned i = 0; i < 5; i++, due += 5 * MS) {
		turn(due - 100 * US - now);
		next = turn(0);
		assert_int_equal(await(awaited, &asked), 0);
		if (i >= 3) {
			assert_in_range(due - next, 30 * US, 60 * US);
			turn(next - now);
			assert_int_equal(await(awaited, &asked), 1);
			assert_false(asked);
			assert_ptr_equal(awaited->page, high->page);
			assert_in_range(awaited->until - due, 20 * US, 60 * US);
			assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED_AWAKE);
			assert_int_equal(turn(0), awaited->until); /* nobody else looks for it */
		}
		if (i == 4) { /* not for any price */
			gs_gpu_afford(gpu, GS_BUDGET_POOR_NS);
			assert_true(turn(0) > due);
			assert_int_equal(await(awaited, &asked), 0);
			assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED);
			gs_gpu_afford(gpu, 0);
		}
		turn(due - now);
		if (i == 4)
			assert_int_equal(await(awaited, &asked), 1);
		assert_int_equal(state(low, 0), GS_K_RUNNING);
		if (ask(high))
			gs_gpu_bell(high->tenant);
		assert_int_equal(gs_page_load(high->page->attended), i < 3 ? GS_ATTENDED : GS_ATTENDED_AWAKE);
		if (i == 3) /* it asked between the turn and this */
			assert_true(await(awaited, &asked) == 1 && asked);
		be_served(low, high, 100 * (i + 1));
		await(awaited, &asked);
		assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED);
	}
	all_leave(low, high);
}

/* It does not come, or comes as its time ends: nobody is lost between the loop and its attendant. */
static void test_awaited_client_that_is_late(void **unused)
{
	struct gs_awaited awaited[4];
	struct client *low, *high;
	uint64_t due;
	int asked;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 1000);
	due = now + 5 * MS;
	for (unsigned i = 0; i < 5; i++, due += 5 * MS) {
		turn(due - now);
		if (i >= 3) {
			assert_int_equal(await(awaited, &asked), 1);
			turn(awaited->until + 1 - now);
		}
		if (i == 3) { /* this time it stays away */
			assert_int_equal(await(awaited, &asked), 0);
			assert_false(asked);
			assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED);
			continue;
		}
		if (i == 4) { /* this time it asks before the loop has said that it is over */
			assert_false(ask(high));
			assert_int_equal(await(awaited, &asked), 0);
			assert_true(asked);
		} else {
			ask(high);
			gs_gpu_bell(high->tenant);
		}
		be_served(low, high, 100 * (i + 1));
	}
	all_leave(low, high);
}

/* ---- the expected end --------------------------------------------------- */

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
	assert_int_equal(gs_pace_next(gpu, at) - at, 3 * US);
	assert_int_equal(gs_pace_next(gpu, at + 400 * US) - at, 500 * US);
	assert_int_equal(gs_pace_next(gpu, at + 10 * MS) - at, 10 * MS + 500 * US);
	/* Foreseen within 20 us: asleep until 55 us before, but woken for the herald. */
	t->off_ns = 20 * US;
	assert_int_equal(gs_pace_next(gpu, at - 2 * MS), at - 1 * MS);
	assert_int_equal(gs_pace_next(gpu, at - 700 * US), at - 200 * US);
	assert_int_equal(gs_pace_next(gpu, at - 150 * US), at - 100 * US);
	assert_int_equal(gs_pace_next(gpu, at - 90 * US), at - 55 * US);
	assert_int_equal(gs_pace_next(gpu, at - 50 * US), at - 47 * US);
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

/* ---- the herald ---------------------------------------------------------- */

static void test_the_next_one_is_woken_in_time(void **unused)
{
	struct client *a, *b, *c;
	uint64_t at;
	uint32_t before;

	(void)unused;
	begin("piv");
	a = join(1, 5);
	b = join(2, 5);
	c = join(3, 1);
	occupy(a, 100);
	turn(1 * MS);
	launch(b, 0, 100, 1);
	launch(c, 0, 100, 1);
	turn(0);
	before = bell(b);
	at = a->tenant->expected_ns;
	turn(at - 101 * US - now);
	assert_int_equal(bell(b), before);
	turn(1 * US);
	assert_int_equal(bell(b), before + 1);
	assert_int_equal(bell(c), 0); /* it is not next */
	/* It sleeps again after 200 us; until then one bell is enough. */
	turn(100 * US);
	assert_int_equal(bell(b), before + 1);
	turn(60 * US);
	assert_int_equal(bell(b), before + 2);
	/* Nobody knows any more when that ends. */
	turn(10 * MS);
	assert_int_equal(bell(b), before + 2);
	all_leave(a, b, c);
}

/* Who has waited longest is not who is slowed down most. */
static void test_the_one_that_the_policy_would_choose_is_woken(void **unused)
{
	static const char *const policy[] = { "frs", "frsp" };

	(void)unused;
	for (size_t i = 0; i < sizeof(policy) / sizeof(policy[0]); i++) {
		struct gs_gpu_options o = options_of(policy[i]);
		struct client *a, *b, *c;
		uint32_t of_b, of_c;

		o.sched.min_quantum_ns = 5 * MS;
		begin_with(&o);
		a = join(1, 1);
		b = join(2, 1);
		c = join(3, 1);
		occupy(a, 10);
		launch(b, 0, 1000, 1);
		gs_page_store(b->page->stub[0].alone_ns, 1000 * MS);
		turn(1 * MS);
		launch(c, 0, 1, 1);
		gs_page_store(c->page->stub[0].alone_ns, 1 * MS);
		turn(0);
		of_b = bell(b);
		of_c = bell(c);
		for (int k = 0; k < 1000 && bell(b) == of_b && bell(c) == of_c; k++)
			turn(10 * US);
		assert_true(has_turn(a));
		assert_int_equal(bell(b), of_b);
		assert_int_equal(bell(c), of_c + 1);
		all_leave(a, b, c);
	}
}

static void test_woken_before_a_quantum_ends(void **unused)
{
	struct gs_gpu_options o = options_of("rr");
	struct client *a, *b;
	uint32_t before;

	(void)unused;
	o.sched.rr_quantum_ns = 2 * MS;
	o.sched.handover_ns = 0;
	begin_with(&o);
	a = join(1, 1);
	b = join(2, 1);
	occupy(a, 100);
	launch(b, 0, 100, 1);
	before = bell(b);
	/* Its own quantum has long begun; the other came at once. */
	assert_int_equal(turn(1 * MS) - now, 900 * US);
	assert_int_equal(bell(b), before);
	/* A processor that sleeps until then is late: it is woken before, and waits closely. */
	assert_int_equal(turn(900 * US) - now, 40 * US);
	assert_int_equal(bell(b), before + 1);
	assert_int_equal(turn(40 * US) - now, 45 * US);
	assert_int_equal(turn(45 * US) - now, 3 * US);
	assert_int_equal(turn(13 * US) - now, 2 * US);
	assert_true(has_turn(a));
	turn(2 * US);
	assert_false(has_turn(a));
	evicted(a, 0, 10);
	turn(5 * US);
	assert_true(has_turn(b));
	/* Not for any price. */
	gs_gpu_afford(gpu, GS_BUDGET_POOR_NS + 1);
	agent(b);
	turn(1900 * US);
	assert_int_equal(turn(40 * US) - now, 60 * US);
	gs_gpu_afford(gpu, 0);
	all_leave(a, b);
}

/* ---- what the clients are told -------------------------------------------- */

static void test_who_shares_the_gpu(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 1);
	turn(0);
	assert_int_equal(gs_page_load(a->page->only), 1);
	b = join(2, 1);
	assert_int_equal(gs_page_load(a->page->only), 0); /* at once */
	occupy(a, 100);
	turn(1 * MS);
	assert_int_equal(gs_page_load(a->page->only) + gs_page_load(b->page->only), 0);
	/* The other is there and has done nothing. */
	assert_int_equal(gs_page_load(a->page->shared), 0);
	assert_int_equal(gs_page_load(b->page->shared), 1);
	launch(b, 0, 100, 1);
	turn(0);
	assert_int_equal(gs_page_load(a->page->shared), 1);
	assert_int_equal(gs_page_load(a->page->contended), 1);
	finish(a, 0);
	turn(0);
	turn(200 * US);
	assert_true(has_turn(b));
	agent(b);
	finish(b, 0);
	turn(1 * MS);
	assert_int_equal(gs_page_load(b->page->contended), 0);
	assert_int_equal(gs_page_load(b->page->shared), 1);
	turn(9999 * MS);
	assert_int_equal(gs_page_load(b->page->shared), 0);
	turn(2 * MS);
	assert_int_equal(gs_page_load(a->page->shared), 0);
	leave(b);
	turn(0);
	assert_int_equal(gs_page_load(a->page->only), 1);
	all_leave(a);
}

static uint64_t later(void)
{
	return now + 7 * US;
}

/* The order is written before all else, and the trace says until when. */
static void test_order_is_traced(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct gs_trace_image image = { 0 };
	struct client *low, *high;
	uint64_t told = 0;

	(void)unused;
	o.clock = later;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 1000);
	launch(high, 0, 10, 1);
	turn(1 * MS);
	/* Launched past the check: nobody rang, and it is found all the same. */
	prepare(low, 1, 10, 1);
	go(low, 1, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
	gs_page_store(low->page->stub[1].started, 1);
	turn(5 * US);
	assert_int_equal(state(low, 1), GS_K_RUNNING);
	turn(20 * US);
	assert_int_equal(state(low, 1), GS_K_TOEVICT);
	evicted(low, 0, 100);
	turn(1 * US);
	assert_false(has_turn(high));
	evicted(low, 1, 5);
	turn(1 * US);
	assert_true(has_turn(high));
	assert_int_equal(gs_gpu_trace(gpu, now, &image), 0);
	for (size_t i = 0; i < image.records; i++)
		if (image.record[i].kind == GS_TRACE_TELL)
			told = image.record[i].to_ns - image.record[i].from_ns;
	assert_int_equal(told, 25 * US); /* from the first order to the second */
	gs_trace_image_free(&image);
	all_leave(low, high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grace_follows_the_pauses),
		cmocka_unit_test(test_periodic_client_keeps_nothing),
		cmocka_unit_test(test_chain_keeps_the_gpu),
		cmocka_unit_test(test_regular_arrivals_are_foreseen),
		cmocka_unit_test(test_awaited_client_wakes_nobody),
		cmocka_unit_test(test_awaited_client_that_is_late),
		cmocka_unit_test(test_end_is_expected_from_the_start_on),
		cmocka_unit_test(test_the_way_to_the_gpu_is_learned),
		cmocka_unit_test(test_ends_beside_a_long_one_are_seen),
		cmocka_unit_test(test_looks_at_a_holder),
		cmocka_unit_test(test_unseen_launches_spoil_the_guess),
		cmocka_unit_test(test_looks_at_a_client_on_its_way_out),
		cmocka_unit_test(test_the_next_one_is_woken_in_time),
		cmocka_unit_test(test_the_one_that_the_policy_would_choose_is_woken),
		cmocka_unit_test(test_woken_before_a_quantum_ends),
		cmocka_unit_test(test_who_shares_the_gpu),
		cmocka_unit_test(test_order_is_traced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
