/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A short kernel beside a long one: who waits goes shortly before its end (early.c). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "gpushare/daemon/early.h"
#include "gpushare/daemon/pace.h"

#define WAY_NS (140 * US)  /* from the order to leave until the short kernel runs */
#define KERNEL_NS (1 * MS) /* what it takes */
#define PAUSE_NS (4 * MS)

static struct client *low, *high;
static unsigned looks;
static uint64_t next, end; /* the loop's next turn; when the short kernel is over */

static void begin_pair(int early)
{
	struct gs_gpu_options o = options_of("piv");

	o.overlap_ns = 8 * US;
	o.early = early;
	o.sched.handover_ns = 135 * US;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 100000);
	gs_page_store(low->page->stub[0].leave_ns, 5 * US);
	gs_page_store(low->page->stub[0].alone_ns, 1000 * MS);
	next = turn(0);
}

static void loop_until(uint64_t then)
{
	while (next <= then) {
		next = turn(next > now ? next - now : 0);
		looks++;
	}
	now = then;
}

/* It asks, the long one leaves, and it is on the GPU, until `end`. */
static void begin_short(uint64_t kernel_ns)
{
	uint32_t done = (uint32_t)gs_page_load(low->page->stub[0].done);

	if (state(high, 0) == GS_K_DONE)
		go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	launch(high, 0, 10, 1);
	gs_page_store(high->page->stub[0].alone_ns, KERNEL_NS);
	end = now + WAY_NS + kernel_ns;
	next = turn(0);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_false(gpu->early); /* the short one was, this one is evicted */
	now += 6 * US;
	evicted(low, 0, done + 100);
	agent(low);
	next = turn(0);
	assert_true(has_turn(high));
	agent(high);
	next = turn(0);
}

/* How long before its end the long one may go; 0: not before. */
static uint64_t run_short(void)
{
	uint64_t before = 0;

	begin_short(KERNEL_NS);
	while (next < end) {
		loop_until(next);
		assert_int_equal(state(high, 0), GS_K_RUNNING);
		if (has_turn(low) && !before) {
			before = end - now;
			looks = 0;
			agent(low);
			assert_int_equal(state(low, 0), GS_K_RUNNING);
		}
	}
	assert_true(!before || looks < 3); /* the end is slept until, and a little longer */
	now = end;
	finish(high, 0);
	loop_until(now + 300 * US);
	agent(low);
	assert_true(has_turn(low));
	assert_null(gpu->leaving);
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	loop_until(now + PAUSE_NS);
	return before;
}

static void get_used(void)
{
	for (int i = 0; i < 20; i++)
		run_short();
}

/* As after many such turns: it is on the GPU, and its end is foreseen. */
static void begin_used(uint64_t kernel_ns)
{
	begin_pair(1);
	get_used();
	begin_short(kernel_ns);
}

/* And near: the long one may go. */
static void begin_early(void)
{
	begin_used(KERNEL_NS);
	loop_until(end - 25 * US);
	assert_ptr_equal(gpu->leaving, high->tenant);
	assert_true(has_turn(low));
}

static void test_goes_before_the_end(void **unused)
{
	(void)unused;
	for (int early = 0; early < 2; early++) {
		uint64_t evictions;

		begin_pair(early);
		get_used();
		evictions = gpu->evictions;
		for (int i = 0; i < 20; i++) {
			uint64_t before = run_short();

			if (early)
				assert_in_range(before, 20 * US, 40 * US);
			else
				assert_int_equal(before, 0);
			assert_int_equal(high->tenant->p.tally->preemptions, 0);
		}
		assert_int_equal(gpu->evictions, evictions + 20); /* the long one's */
		assert_true(high->tenant->off_ns < 10 * US);
		all_leave(low, high);
	}
}

/* What is armed would be there at once, in the middle of the last one's block-tasks (handover.c). */
static void test_not_who_is_armed(void **unused)
{
	(void)unused;
	begin_used(KERNEL_NS);
	assert_int_equal(state(low, 0), GS_K_READY);
	gs_page_store(low->page->stub[0].started, 0);
	atomic_fetch_or(&low->page->stub[0].flags, GS_STUB_ARMED);
	loop_until(end - 5 * US);
	assert_false(has_turn(low));
	all_leave(low, high);
}

/* What it has done in one turn is none of the next one's. */
static void test_each_period_is_its_own(void **unused)
{
	(void)unused;
	begin_used(KERNEL_NS);
	assert_int_equal(high->tenant->told_nt, 10);
	assert_int_equal(high->tenant->told_done, 0);
	assert_int_equal(high->tenant->told_alone_ns, KERNEL_NS);
	all_leave(low, high);
}

/* Its kernel goes on and on: as any that is to leave, with the long one beside it. */
static void test_one_that_goes_on_is_told_to_leave(void **unused)
{
	(void)unused;
	begin_used(3 * KERNEL_NS);
	loop_until(end - 2 * KERNEL_NS);
	assert_true(has_turn(low));
	agent(low);
	assert_int_equal(state(high, 0), GS_K_RUNNING);
	loop_until(end - 2 * KERNEL_NS + 80 * US);
	assert_int_equal(state(high, 0), GS_K_TOEVICT);
	assert_int_equal(high->tenant->expected_ns, 0);
	assert_true(now - gpu->drain_since < 60 * US); /* how long an eviction takes is counted from the order */
	evicted(high, 0, 5);
	agent(high);
	loop_until(now + 20 * US);
	assert_true(high->tenant->task); /* and more urgent */
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	all_leave(low, high);
}

/* It had read that it has the turn when that was taken: nothing of its is to run a whole kernel beside the next one. */
static void test_launch_past_the_check(void **unused)
{
	(void)unused;
	begin_early();
	prepare(high, 1, 10, 1);
	go(high, 1, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
	gs_page_store(high->page->stub[1].started, 1);
	loop_until(next);
	assert_int_equal(state(high, 1), GS_K_TOEVICT);
	assert_int_equal(state(high, 0), GS_K_TOEVICT);
	all_leave(low, high);
}

/* The same as the first one ends, and the second is on its way to the GPU: that has not left. */
static void test_launch_past_the_check_at_the_end(void **unused)
{
	(void)unused;
	begin_early();
	finish(high, 0);
	prepare(high, 1, 10, 1);
	go(high, 1, GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT);
	loop_until(end);
	assert_ptr_equal(gpu->leaving, high->tenant);
	gs_page_store(high->page->stub[1].started, 1);
	loop_until(end + 80 * US);
	assert_int_equal(state(high, 1), GS_K_TOEVICT);
	all_leave(low, high);
}

/* A second kernel is behind the first one. */
static void test_not_with_more_to_do(void **unused)
{
	(void)unused;
	begin_used(KERNEL_NS);
	launch(high, 1, 10, 1);
	gs_page_store(high->page->stub[1].alone_ns, KERNEL_NS);
	loop_until(end - 1 * US);
	assert_true(has_turn(high));
	finish(high, 0);
	loop_until(end + KERNEL_NS - 200 * US);
	assert_true(has_turn(high));
	all_leave(low, high);
}

/* After its last end it went on at once: its idle turn is kept for a while, so nobody goes before this one's. */
static void test_not_who_goes_on(void **unused)
{
	(void)unused;
	begin_used(KERNEL_NS);
	loop_until(end);
	assert_true(has_turn(low));
	agent(low);
	finish(high, 0);
	loop_until(end + 60 * US);
	begin_short(KERNEL_NS);
	assert_true(gs_pace_grace(high->tenant) > 0);
	loop_until(end - 1 * US);
	assert_true(has_turn(high));
	all_leave(low, high);
}

/* Each thing that forbids it does so alone. */
static void test_each_condition(void **unused)
{
	struct gs_tenant t;
	struct gs_gpu g;
	uint64_t at;

	(void)unused;
	begin_used(KERNEL_NS);
	loop_until(end - 100 * US);
	t = *high->tenant;
	g = *gpu;
	at = gs_early_at(gpu, now);
	assert_int_equal(at, t.expected_ns - 30 * US);
#define FORBIDS(change) \
	do { \
		(void)(change); \
		assert_true(gs_early_at(gpu, now) == UINT64_MAX); \
		*high->tenant = t; \
		*gpu = g; \
		assert_int_equal(gs_early_at(gpu, now), at); \
	} while (0)
	FORBIDS(gpu->o.early = 0);
	FORBIDS(gpu->holder = NULL);
	FORBIDS(gpu->leaving = low->tenant);
	FORBIDS(gpu->starting = high->tenant);
	FORBIDS(gpu->pinned = low->tenant);
	FORBIDS(gpu->gauge.on = 1);
	FORBIDS(high->tenant->task = 0);
	FORBIDS(high->tenant->live = 2);
	FORBIDS(high->tenant->on_gpu = 0);
	FORBIDS(high->tenant->stopped = 1);
	FORBIDS(high->tenant->bad = 1);
	FORBIDS(high->tenant->p.force_ns = 1 * MS);
	FORBIDS(high->tenant->gap_ns = 100 * US);
	FORBIDS(high->tenant->expected_ns = 0);
	FORBIDS(high->tenant->off_ns = 0);
	FORBIDS(high->tenant->off_ns = 26 * US);
	FORBIDS(high->tenant->not_early = 1);
	FORBIDS(high->tenant->base_done_ns = KERNEL_NS - 54 * US);
	FORBIDS(gpu->starting_since = t.expected_ns - 2 * MS - 1);
#undef FORBIDS
	assert_int_equal(gs_early_at(gpu, t.expected_ns + 50 * US), at);
	assert_true(gs_early_at(gpu, t.expected_ns + 51 * US) == UINT64_MAX);
	gs_gpu_task_leave(low->tenant, now);
	assert_true(gs_early_at(gpu, now) == UINT64_MAX); /* nobody waits */
	all_leave(low, high);
}

/* Being wrong once costs more than being right many times saves. */
static void test_not_soon_again_after_one_that_went_on(void **unused)
{
	int waited_for = 0;

	(void)unused;
	begin_used(3 * KERNEL_NS);
	loop_until(end - 2 * KERNEL_NS + 80 * US);
	assert_int_equal(state(high, 0), GS_K_TOEVICT);
	finish(high, 0);
	loop_until(now + 300 * US);
	agent(low);
	loop_until(now + PAUSE_NS);
	while (!run_short())
		assert_true(++waited_for < 100);
	assert_in_range(waited_for, 30, 32);
	all_leave(low, high);
}

/* A hand-over that began before the end is no measure of the others. */
static void test_teaches_nothing_of_hand_overs(void **unused)
{
	(void)unused;
	begin_used(KERNEL_NS);
	loop_until(end);
	assert_ptr_equal(gpu->leaving, high->tenant);
	finish(high, 0);
	loop_until(now + 16 * US);
	assert_null(gpu->leaving);
	assert_int_equal(low->tenant->on_gpu, 0);
	assert_true(gpu->beside);
	all_leave(low, high);
}

/* It cannot be told to leave and goes on for ever: the policy would have let it, so its job is not killed. */
static void test_is_not_overdue(void **unused)
{
	(void)unused;
	begin_used(KERNEL_NS);
	gs_page_store(high->page->stub[0].flags, 0);
	loop_until(end + 1 * MS);
	agent(low);
	assert_ptr_equal(gpu->leaving, high->tenant);
	loop_until(end + 200 * MS);
	assert_null(gpu->leaving);
	assert_true(has_turn(low));
	assert_int_equal(gpu->overdue, 1); /* but said to be there */
	assert_false(gs_tenant_overdue(high->tenant));
	all_leave(low, high);
}

/* Stopped, or with a page that cannot be, it is not waited for. */
static void test_stopped_or_bad_before_its_end(void **unused)
{
	(void)unused;
	for (int bad = 0; bad < 2; bad++) {
		begin_early();
		if (bad)
			gs_page_store(high->page->stub[0].kstate, 77);
		else
			gs_tenant_stopped(high->tenant, 1, now);
		next = turn(1 * US);
		assert_null(gpu->leaving);
		assert_true(!bad || next == now); /* and the caller throws it out */
		all_leave(low, high);
	}
}

/* A long stay: the driver's slice may be over, and it would change over in the middle. */
static void test_not_after_a_long_time(void **unused)
{
	(void)unused;
	begin_used(KERNEL_NS);
	gs_page_store(high->page->stub[0].alone_ns, 5 * KERNEL_NS);
	end += 4 * KERNEL_NS;
	loop_until(end - 1 * US);
	assert_true(has_turn(high));
	all_leave(low, high);
}

/* It dies in those microseconds. */
static void test_dies_before_its_end(void **unused)
{
	(void)unused;
	begin_early();
	gs_gpu_remove(gpu, high->tenant, now);
	high->tenant = NULL;
	loop_until(now + 10 * US);
	agent(low);
	assert_true(has_turn(low));
	assert_int_equal(state(low, 0), GS_K_RUNNING);
	loop_until(now + 10 * MS);
	assert_true(has_turn(low));
	all_leave(low, high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_before_the_end),
		cmocka_unit_test(test_not_who_is_armed),
		cmocka_unit_test(test_each_period_is_its_own),
		cmocka_unit_test(test_one_that_goes_on_is_told_to_leave),
		cmocka_unit_test(test_launch_past_the_check),
		cmocka_unit_test(test_launch_past_the_check_at_the_end),
		cmocka_unit_test(test_not_with_more_to_do),
		cmocka_unit_test(test_not_who_goes_on),
		cmocka_unit_test(test_each_condition),
		cmocka_unit_test(test_not_soon_again_after_one_that_went_on),
		cmocka_unit_test(test_teaches_nothing_of_hand_overs),
		cmocka_unit_test(test_is_not_overdue),
		cmocka_unit_test(test_stopped_or_bad_before_its_end),
		cmocka_unit_test(test_not_after_a_long_time),
		cmocka_unit_test(test_dies_before_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
