/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that take turns: the one that always comes next has the idle turn before it asks. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "gpushare/daemon/gpu_core.h"

#define WAY_NS (150 * US) /* from a launch to its first block-task, after somebody else */
#define COMES_NS (60 * US) /* after the other one's end */

static uint64_t next;
static uint64_t kernel_ns = 1 * MS;
static unsigned looks;

/* The loop's turns until then. */
static void loop_until(uint64_t then)
{
	while (next <= then) {
		next = turn(next > now ? next - now : 0);
		looks++;
	}
	now = then;
}

/* What a client rings for is served at once. */
static void serve(void)
{
	next = turn(0);
	looks++;
}

/* It launches as it may, and its kernel runs to its end; 1 if it had to ask. */
static int run_one(struct client *c)
{
	int asks = !has_turn(c);

	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	prepare(c, 0, 10, 1);
	gs_page_store(c->page->stub[0].alone_ns, kernel_ns);
	go(c, 0, GS_K_PREP, asks ? GS_K_READY : GS_K_RUNNING, GS_BY_CLIENT);
	if (asks) {
		gs_gpu_bell(c->tenant);
		serve();
		agent(c);
	}
	assert_int_equal(state(c, 0), GS_K_RUNNING);
	loop_until(now + WAY_NS);
	gs_page_store(c->page->stub[0].started, 1);
	loop_until(now + kernel_ns);
	finish(c, 0);
	loop_until(now + COMES_NS);
	return asks;
}

static void begin_two(struct client **a, struct client **b)
{
	begin("rr");
	*a = join(1, 1);
	*b = join(2, 1);
	next = turn(0);
}

/* They take turns until neither has to ask any more. */
static void get_used(struct client *a, struct client *b)
{
	for (int i = 0; i < 10; i++) {
		run_one(a);
		run_one(b);
	}
	assert_true(has_turn(a));
}

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
	begin_two(&a, &b);
	get_used(a, b);
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
	begin_two(&a, &b);
	get_used(a, b);
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
	begin_two(&a, &b);
	get_used(a, b);
	run_one(a);
	assert_true(has_turn(b) && !has_turn(a));
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
	begin_two(&a, &b);
	c = join(3, 1);
	get_used(a, b);
	run_one(a);
	assert_true(has_turn(b));
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
	begin_two(&a, &b);
	get_used(a, b);
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
	begin_two(&a, &b);
	get_used(a, b);
	run_one(a);
	assert_true(has_turn(b));
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
	begin_two(&a, &b);
	get_used(a, b);
	run_one(a);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
