/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that take turns, and what the daemon is told of their launches (gs_page.launched_ns, marks). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpushare/daemon/budget.h"
#include "gpushare/daemon/gpu_core.h"
#include "taking_turns.h"

/* Of 100 turns in which each comes up to 100 us sooner or later after the other. */
static unsigned asked_of_unsteady(int they_tell, uint64_t kernel)
{
	struct client *a, *b;
	unsigned asked = 0;

	begin_two(&a, &b);
	tells = they_tell;
	unsteady = 1;
	kernel_ns = kernel;
	for (int i = 0; i < 140; i++) {
		int asks = run_one(i % 2 ? b : a);

		if (i == 40)
			looks = 0;
		asked += i >= 40 && asks;
	}
	assert_in_range(looks, 100, 400);
	tells = unsteady = 0;
	kernel_ns = 1 * MS;
	all_leave(a, b);
	return asked;
}

static void test_launch_tells_of_the_end(void **unused)
{
	(void)unused;
	assert_in_range(asked_of_unsteady(1, 200 * US), 0, 2);
	assert_in_range(asked_of_unsteady(1, 4 * MS), 0, 2);
	assert_in_range(asked_of_unsteady(0, 200 * US), 5, 100); /* it is worth while */
}

/* What they write there is theirs: it may be wrong, and nobody but they have to ask more often. */
static void test_launch_that_cannot_be(void **unused)
{
	static const uint64_t wrong[] = { 1, UINT64_MAX, UINT64_MAX / 2 };
	struct client *a, *b;

	(void)unused;
	begin_used(&a, &b);
	for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
		unsigned asked = 0;

		gs_page_store(a->page->launched_ns, wrong[k]);
		gs_page_store(b->page->launched_ns, now + 1);
		for (int i = 0; i < 20; i++)
			asked += (unsigned)run_one(i % 2 ? b : a);
		assert_in_range(asked, 0, 12);
	}
	all_leave(a, b);
}

/* What rides along without marks is not seen, so the next one would always have to ask. */
static void test_launches_are_marked(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_two(&a, &b);
	run_one(a);
	assert_false(gs_page_load(a->page->contended));
	get_used(a, b);
	assert_int_equal(gs_page_load(a->page->contended), GS_CONTENDED_MARKS);
	gs_gpu_remove(gpu, b->tenant, now);
	b->tenant = NULL;
	run_one(a);
	assert_false(gs_page_load(a->page->contended));
	all_leave(a, b);
}

/* It has been used to one launch, and from now on always has the next one out before the last one ends. */
static void test_holder_that_goes_on_is_left_alone(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_two(&a, &b);
	tells = 1;
	get_used(a, b);
	launch(a, 1, 10, 1);
	looks = 0;
	for (unsigned i = 0; i < 200; i++) {
		go(a, i % 2, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		launch(a, i % 2, 10, 1);
		gs_page_store(a->page->launched_ns, now);
		loop_until(now + 200 * US);
		finish(a, (i + 1) % 2);
	}
	assert_in_range(looks, 1, 20);
	assert_false(gs_page_load(a->page->contended));
	assert_true(has_turn(a));
	tells = 0;
	all_leave(a, b);
}

static void launch_of_turn(struct client *c, uint64_t way_ns, uint64_t ns)
{
	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(c, 0, 10, 1);
	gs_page_store(c->page->launched_ns, now);
	if (state(c, 0) == GS_K_READY) {
		serve();
		agent(c);
	}
	loop_until(now + way_ns + ns);
	finish(c, 0);
}

/* A turn's last launch tells of its end, those before it do not, how long ever they take. */
static void test_only_the_last_launch_tells(void **unused)
{
	struct client *a, *b;
	unsigned asked = 0;

	(void)unused;
	begin_two(&a, &b);
	unsteady = 1;
	for (int i = 0; i < 140; i++) {
		struct client *c = i % 2 ? b : a;

		if (i == 40)
			looks = 0;
		asked += i >= 40 && !has_turn(c);
		launch_of_turn(c, WAY_NS, 1 * MS);
		loop_until(now + 10 * US);
		launch_of_turn(c, 10 * US, 200 * US);
		loop_until(now + COMES_NS + (uint64_t)(i * 7 % 10) * 7 * US);
	}
	unsteady = 0;
	assert_in_range(asked, 0, 20);
	assert_in_range(looks, 100, 400);
	all_leave(a, b);
}

/* Always `now`, or so long ago as it usually takes: another thread can write it as often as it likes. */
static void test_word_that_moves(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin_two(&a, &b);
	tells = 1;
	get_used(a, b);
	go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(a, 0, 10, 1);
	for (int k = 0; k < 2; k++) {
		uint64_t until = now + 500 * MS;

		for (looks = 0; now < until && looks < 10000; looks++) {
			gs_page_store(a->page->launched_ns, now - (k ? a->tenant->next.tail_ns : 0));
			next = turn(next > now ? next - now : 1 * US);
		}
		assert_in_range(looks, 20, 80);
	}
	tells = 0;
	all_leave(a, b);
}

/* At 10 us a look, two for each turn of 0.4 ms are more than it may take: then one, at the end. */
static void test_looks_are_paid_for(void **unused)
{
	struct client *a, *b;
	struct gs_budget budget;
	unsigned asked = 0;

	(void)unused;
	begin_two(&a, &b);
	gs_budget_init(&budget, now);
	tells = unsteady = 1;
	kernel_ns = 200 * US;
	for (int i = 0; i < 2000; i++) {
		unsigned before = looks;
		int asks = run_one(i % 2 ? b : a);

		asked += i >= 1000 && asks;
		gs_gpu_afford(gpu, gs_budget_look_ns(gs_budget_spend(&budget, now, (looks - before) * 10 * US)));
	}
	tells = unsteady = 0;
	kernel_ns = 1 * MS;
	assert_in_range(asked, 0, 120);
	all_leave(a, b);
}

/* A look for the launch, and the next one may come no sooner than after the end: better one at the end. */
static void test_poor_daemon_does_not_look_for_the_launch(void **unused)
{
	struct client *a, *b;
	unsigned asked = 0;

	(void)unused;
	begin_two(&a, &b);
	tells = unsteady = 1;
	kernel_ns = 200 * US;
	for (int i = 0; i < 140; i++) {
		if (i == 40)
			gs_gpu_afford(gpu, 1 * MS);
		asked += (unsigned)run_one(i % 2 ? b : a) & (i >= 60);
	}
	tells = unsteady = 0;
	kernel_ns = 1 * MS;
	assert_in_range(asked, 0, 60);
	all_leave(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launch_tells_of_the_end),
		cmocka_unit_test(test_launch_that_cannot_be),
		cmocka_unit_test(test_launches_are_marked),
		cmocka_unit_test(test_holder_that_goes_on_is_left_alone),
		cmocka_unit_test(test_only_the_last_launch_tells),
		cmocka_unit_test(test_word_that_moves),
		cmocka_unit_test(test_looks_are_paid_for),
		cmocka_unit_test(test_poor_daemon_does_not_look_for_the_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
