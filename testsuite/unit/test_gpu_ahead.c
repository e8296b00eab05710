/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that take turns: the one that always comes next has the idle turn before it asks. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpushare/daemon/gpu_core.h"
#include "taking_turns.h"

static void test_who_comes_next_need_not_ask(void **unused)
{
	struct client *a, *b;
	unsigned asked = 0;

	(void)unused;
	begin_two(&a, &b);
	for (int i = 0; i < 40; i++) {
		if (i == 20)
			looks = 0;
		asked += (unsigned)run_one(i % 2 ? b : a);
		assert_true(i < 12 || asked <= 10);
	}
	assert_in_range(asked, 7, 10);
	assert_true(looks < 20 * 4); /* the ends are not looked for at any price */
	all_leave(a, b);
}

/* Shorter than before, longer: the end is looked for where it is. */
static void test_lengths_change(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_used(&a, &b);
	for (int k = 0; k < 4; k++) {
		unsigned asked = 0;

		kernel_ns = k % 2 ? 1 * MS : k ? 3 * MS : 200 * US;
		for (int i = 0; i < 40; i++) {
			int asks = run_one(i % 2 ? b : a);

			if (i >= 20)
				asked += (unsigned)asks;
			if (i == 19)
				looks = 0;
		}
		assert_in_range(asked, 0, 2);
		assert_in_range(looks, 20, 80);
	}
	kernel_ns = 1 * MS;
	all_leave(a, b);
}

/* The one look at the end is cheaper than being asked. */
static void test_poor_daemon_looks_once(void **unused)
{
	struct client *a, *b;
	unsigned asked = 0;

	(void)unused;
	begin_used(&a, &b);
	gs_gpu_afford(gpu, 1 * MS);
	looks = 0;
	for (int i = 0; i < 20; i++)
		asked += (unsigned)run_one(i % 2 ? b : a);
	assert_in_range(looks, 20, 40);
	assert_in_range(asked, 0, 12);
	all_leave(a, b);
}

static void test_holder_goes_on_after_all(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_ahead(&a, &b);
	assert_true(run_one(a)); /* it has to ask, and has the GPU */
	assert_true(has_turn(a) && !has_turn(b));
	for (int i = 0; i < 5; i++)
		assert_false(run_one(a));
	all_leave(a, b);
}

static void test_several_launches_are_one_turn(void **unused)
{
	struct client *a, *b;
	unsigned asked = 0;

	(void)unused;
	begin_two(&a, &b);
	for (int i = 0; i < 40; i++) {
		struct client *c = i % 2 ? b : a;
		int first = run_one(c);

		assert_true(has_turn(c)); /* not after the first of two */
		assert_false(run_one(c));
		asked += i >= 24 && first;
	}
	assert_int_equal(asked, 0);
	all_leave(a, b);
}

/* A third one comes instead. */
static void test_somebody_else_comes(void **unused)
{
	struct client *a, *b, *c;

	(void)unused;
	begin_ahead(&a, &b);
	c = join(3, 1);
	assert_true(run_one(c));
	assert_true(has_turn(c));
	run_one(b);
	assert_true(has_turn(a)); /* a comes after b as before... */
	run_one(a);
	assert_true(has_turn(a)); /* ...but b not always after a */
	all_leave(a, b, c);
}

static void test_who_cannot_come_has_no_turn(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_used(&a, &b);
	gs_tenant_stopped(b->tenant, 1, now);
	run_one(a);
	assert_true(has_turn(a));
	gs_tenant_stopped(b->tenant, 0, now);
	assert_int_equal(gs_gpu_pin(a->tenant), 0);
	next = turn(0);
	run_one(a);
	assert_true(has_turn(a));
	gs_gpu_unpin(gpu);
	gs_gpu_remove(gpu, b->tenant, now);
	b->tenant = NULL;
	run_one(a);
	assert_true(has_turn(a));
	all_leave(a, b);
}

/* It has the turn ahead, and is stopped, or dies, before it uses it. */
static void test_who_has_it_ahead_goes(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_ahead(&a, &b);
	gs_tenant_stopped(b->tenant, 1, now);
	assert_true(run_one(a));
	assert_true(has_turn(a));
	gs_tenant_stopped(b->tenant, 0, now);
	for (int i = 0; i < 8; i++) {
		run_one(b);
		run_one(a);
	}
	assert_true(has_turn(b));
	gs_gpu_remove(gpu, b->tenant, now);
	b->tenant = NULL;
	assert_true(run_one(a));
	all_leave(a, b);
}

/* Both want it at once: whoever is first has it, and nobody else. */
static void test_both_come(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_ahead(&a, &b);
	go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	go(b, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(a, 0, 10, 1);
	launch(b, 0, 10, 1); /* it has the turn */
	serve();
	assert_int_equal(state(b, 0), GS_K_RUNNING);
	assert_int_equal(state(a, 0), GS_K_READY);
	assert_true(has_turn(b) && !has_turn(a));
	finish(b, 0);
	loop_until(now + 10 * MS);
	agent(a);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	all_leave(a, b);
}

/* The launch that is new as the look has just been is seen by nobody but the handshake. */
static struct client *launches_between;
static int evictable_between;
static int started_between; /* it is there at once */

static uint64_t clock_between(void)
{
	struct client *c = launches_between;

	launches_between = NULL;
	if (c) {
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		prepare(c, 0, 10, evictable_between);
		go(c, 0, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
		gs_page_store(c->page->stub[0].started, started_between);
	}
	return now;
}

/* Both are used to taking turns, and as a's is to be given on it launches. */
static void begin_between(struct client **a, struct client **b, uint64_t overlap_ns, int evictable, int started)
{
	struct gs_gpu_options o = options_of("rr");

	o.overlap_ns = overlap_ns;
	o.clock = clock_between;
	begin_with(&o);
	*a = join(1, 1);
	*b = join(2, 1);
	next = turn(0);
	get_used(*a, *b);
	go(*a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(*a, 0, 10, 1);
	loop_until(now + WAY_NS);
	finish(*a, 0);
	launches_between = *a;
	evictable_between = evictable;
	started_between = started;
	serve();
	assert_null(launches_between);
	assert_true(has_turn(*a) && !has_turn(*b));
}

/*
 * Nobody waits, so nothing is told to leave, and what cannot leave is not overdue: a job
 * may be killed for that.
 */
static void holder_launches_in_that_moment(uint64_t overlap_ns, int evictable)
{
	struct gs_gpu_status status;
	struct client *a, *b;

	begin_between(&a, &b, overlap_ns, evictable, 0);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	agent(a);
	gs_page_store(a->page->stub[0].started, 1);
	loop_until(now + 300 * MS);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	assert_true(has_turn(a) && !has_turn(b));
	gs_gpu_status(gpu, &status);
	assert_int_equal(status.overdue, 0);
	assert_int_equal(status.evictions, 0);
	finish(a, 0);
	loop_until(now + 50 * MS);
	assert_true(has_turn(a)); /* after the second launch nobody has ever come */
	assert_true(run_one(b));
	all_leave(a, b);
}

static void test_holder_launches_in_that_moment(void **unused)
{
	(void)unused;
	for (int i = 0; i < 4; i++)
		holder_launches_in_that_moment(i & 1 ? 200 * US : 0, i >> 1);
}

/* It was there already, and told to leave: it goes on as soon as it has. */
static void test_what_was_told_to_leave_goes_on(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_between(&a, &b, 0, 1, 1);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 3);
	loop_until(now + 20 * MS);
	agent(a);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	all_leave(a, b);
}

/* What is still there of it would be waited for again, by whoever has the GPU now. */
static void test_who_is_overdue_has_no_turn(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_ahead(&a, &b);
	go(b, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(b, 0, 10, 0);
	go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(a, 0, 10, 1);
	serve();
	loop_until(now + 300 * MS); /* EvictDeadline is 100 ms */
	agent(a);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	assert_int_equal(state(b, 0), GS_K_RUNNING);
	finish(a, 0);
	loop_until(now + 20 * MS);
	assert_true(has_turn(a) && !has_turn(b));
	all_leave(a, b);
}

/* Over before anybody has looked. */
static void run_unseen(struct client *c)
{
	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(c, 0, 10, 1);
	finish(c, 0);
}

/* It asks, and is over as soon as it may go. */
static void ask(struct client *c)
{
	gs_gpu_bell(c->tenant);
	serve();
	agent(c);
	finish(c, 0);
	serve();
}

/* A number that the page has shown for long says nothing of this turn. */
static void test_old_launch_is_not_a_use(void **unused)
{
	struct client *a, *b;
	uint32_t bell;

	(void)unused;
	begin_ahead(&a, &b);
	run_unseen(b);
	go(b, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	loop_until(now + 20 * MS);
	for (int i = 0; i < 6; i++) /* b never comes again */
		run_one(a);
	bell = gs_page_load(b->page->bell);
	for (int i = 0; i < 5; i++)
		assert_false(run_one(a));
	assert_int_equal(gs_page_load(b->page->bell), bell);
	all_leave(a, b);
}

/* Two that never count a launch, and have one in the making for ever: the turn does not go to and fro between them. */
static void test_nobody_passes_an_unused_turn_on(void **unused)
{
	struct client *c[2];
	uint32_t bell;

	(void)unused;
	begin_two(&c[0], &c[1]);
	for (int i = 0; i < 2; i++) {
		gs_page_store(c[i]->page->stub[1].seq, 1000);
		prepare(c[i], 0, 10, 1);
	}
	for (int i = 0; i < 40; i++) {
		struct client *t = c[i % 2];

		if (has_turn(t))
			continue;
		if (state(t, 0) == GS_K_DONE)
			go(t, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		gs_page_store(t->page->stub[0].flags, GS_STUB_EVICTABLE);
		gs_page_store(t->page->stub[0].started, 0);
		go(t, 0, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
		ask(t);
	}
	looks = 0;
	bell = gs_page_load(c[0]->page->bell);
	for (int i = 0; i < 100 && looks < 1000; i++)
		for (uint64_t then = now + 1 * MS; next <= then && looks < 1000; looks++)
			next = turn(next > now ? next - now : 0);
	assert_true(looks < 60);
	assert_true(gs_page_load(c[0]->page->bell) - bell < 3);
	all_leave(c[0], c[1]);
}

/* Two that only pretend to compute: what they cost is bounded by what the daemon can afford. */
static void test_short_turns_are_not_followed_at_any_price(void **unused)
{
	struct client *c[2];
	unsigned turns = 0;
	uint64_t then;

	(void)unused;
	begin_two(&c[0], &c[1]);
	gs_gpu_afford(gpu, 1 * MS);
	for (int i = 0; i < 20; i++) {
		struct client *t = c[i % 2];

		if (state(t, 0) == GS_K_DONE)
			go(t, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		launch(t, 0, 10, 1);
		if (state(t, 0) == GS_K_READY)
			ask(t);
		else
			finish(t, 0);
		next = turn(1 * US);
	}
	for (then = now + 100 * MS; now < then && turns < 10000; turns++) {
		run_unseen(has_turn(c[0]) ? c[0] : c[1]);
		next = turn(0);
		now = next > now ? next : now + 1 * US;
	}
	assert_true(turns < 600);
	all_leave(c[0], c[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_comes_next_need_not_ask),
		cmocka_unit_test(test_lengths_change),
		cmocka_unit_test(test_poor_daemon_looks_once),
		cmocka_unit_test(test_holder_goes_on_after_all),
		cmocka_unit_test(test_several_launches_are_one_turn),
		cmocka_unit_test(test_somebody_else_comes),
		cmocka_unit_test(test_who_cannot_come_has_no_turn),
		cmocka_unit_test(test_who_has_it_ahead_goes),
		cmocka_unit_test(test_both_come),
		cmocka_unit_test(test_holder_launches_in_that_moment),
		cmocka_unit_test(test_what_was_told_to_leave_goes_on),
		cmocka_unit_test(test_who_is_overdue_has_no_turn),
		cmocka_unit_test(test_old_launch_is_not_a_use),
		cmocka_unit_test(test_nobody_passes_an_unused_turn_on),
		cmocka_unit_test(test_short_turns_are_not_followed_at_any_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
