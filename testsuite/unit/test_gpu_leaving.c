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

/* The next client's turn begins while the last one's block-tasks end. */
static void test_overlap(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high, *top;

	(void)unused;
	o.overlap_ns = 20 * US;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	top = join(3, 20);
	launch(low, 0, 1000, 1);
	gs_page_store(low->page->slot[0].leave_ns, 10 * US);
	grant(0);
	agent(low);
	grant(5 * MS);
	launch(high, 0, 10, 1);
	gs_page_store(high->page->slot[0].leave_ns, 10 * US);
	assert_true(grant(1 * MS) <= now + 50 * US);
	assert_false(has_turn(low));
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_TORUN);
	agent(low);
	agent(high);
	/* One at a time on its way out: a third waits for the first to be gone. */
	launch(top, 0, 10, 1);
	grant(20 * US);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_RUNNING);
	evicted(low, 0, 400);
	grant(40 * US);
	assert_int_equal(low->usage.evictions, 1);
	assert_int_equal(low->usage.sample_us[0], 60);
	assert_int_equal(low->usage.active_ns, 6 * MS + 60 * US);
	assert_int_equal(high->usage.waiting_ns, 0);
	assert_false(has_turn(high));
	assert_true(has_turn(top));
	assert_int_equal(state(high, 0), GS_K_TOEVICT);
	agent(high);
	agent(top);
	/* Done as it was told to leave: no task any more. */
	finish(high, 0);
	finish(top, 0);
	grant(1 * MS);
	grant(200 * US);
	assert_true(has_turn(low));
	assert_int_equal(state(low, 0), GS_K_TORUN);
	assert_int_equal(high->usage.preemptions, 0);
	all_leave(low, high, top);
}

/* Long block-tasks: the next client is told shortly before they should have ended. */
static void test_overlap_waits_for_long_block_tasks(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high;

	(void)unused;
	o.overlap_ns = 20 * US;
	for (int known = 0; known < 2; known++) {
		begin_with(&o);
		low = join(1, 1);
		high = join(2, 10);
		launch(low, 0, 1000, 1);
		gs_page_store(low->page->slot[0].leave_ns, known ? 100 * US : 0);
		grant(0);
		agent(low);
		launch(high, 0, 10, 1);
		grant(1 * MS);
		assert_int_equal(state(low, 0), GS_K_TOEVICT);
		agent(low);
		grant(70 * US);
		assert_false(has_turn(high));
		grant(15 * US);
		assert_int_equal(has_turn(high), known);
		evicted(low, 0, 400);
		grant(15 * US);
		assert_true(has_turn(high));
		all_leave(low, high);
	}
}

/* Isolation=mps: nothing is switched, so the next one begins while even long block-tasks end. */
static void test_overlap_of_mps(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high;

	(void)unused;
	o.overlap_ns = 1000 * MS;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	launch(low, 0, 1000, 1);
	gs_page_store(low->page->slot[0].leave_ns, 5 * MS);
	grant(0);
	agent(low);
	launch(high, 0, 10, 1);
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_TORUN);
	all_leave(low, high);
}

/* Both are there until the last block-task of the one that leaves has ended: the other one's
 * quantum begins then. */
static void test_overlap_is_nobodys_quantum(void **unused)
{
	struct gs_gpu_options o = options_of("rr");
	struct client *a, *b;

	(void)unused;
	o.overlap_ns = 1000 * MS;
	o.sched.rr_quantum_ns = 1 * MS;
	o.sched.handover_ns = 5 * US;
	begin_with(&o);
	a = join(1, 1);
	b = join(2, 1);
	occupy(a, 1000);
	gs_page_store(a->page->slot[0].leave_ns, 50 * US);
	launch(b, 0, 1000, 1);
	gs_page_store(b->page->slot[0].leave_ns, 50 * US);
	grant(1 * MS);
	assert_true(has_turn(b));
	agent(b);
	grant(10 * US);
	grant(50 * US);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 100);
	grant(0);
	grant(999 * US);
	assert_true(has_turn(b));
	grant(1 * US);
	assert_true(has_turn(a));
	/* One that is not on the GPU by then has a hand-over's time. */
	evicted(b, 0, 100);
	grant(0);
	grant(4 * US);
	grant(1 * US);
	grant(1 * MS - 1 * US);
	assert_true(has_turn(a));
	grant(1 * US);
	assert_false(has_turn(a));
	all_leave(a, b);
}

/* b has the time slice beside a, which has been told to leave. */
static void overlap(const struct gs_gpu_options *o, struct client **a, struct client **b)
{
	begin_with(o);
	*a = join(1, 1);
	*b = join(2, 1);
	occupy(*a, 1000);
	gs_page_store((*a)->page->slot[0].leave_ns, 50 * US);
	launch(*b, 0, 1000, 1);
	grant(1 * MS);
	assert_true(has_turn(*b));
}

/* What a death in the middle of it took is no hand-over's time. */
static void test_overlap_ended_by_death(void **unused)
{
	struct gs_gpu_options o = options_of("rr");
	struct gs_gpu_status before, after;
	struct client *a, *b;

	(void)unused;
	o.overlap_ns = 1000 * MS;
	o.sched.rr_quantum_ns = 1 * MS;
	o.sched.handover_ns = 400 * US;
	o.sched.quantum_handovers = 0;
	o.learn_handover = 1;
	overlap(&o, &a, &b);
	agent(b);
	grant(300 * US);
	gs_gpu_status(gpu, &before);
	gs_gpu_remove(gpu, a->gpu_client, now);
	a->gpu_client = NULL;
	grant(1 * US);
	gs_gpu_status(gpu, &after);
	assert_int_equal(after.handover_ns, before.handover_ns);
	leave(a);
	all_leave(b);
}

/* Pinned before its kernel has begun: that it has is seen all the same, and nobody looks for it for
 * ever. */
static void test_pinned_beside_another(void **unused)
{
	struct gs_gpu_options o = options_of("rr");
	struct client *a, *b;
	uint64_t until, next;
	unsigned rounds = 0;

	(void)unused;
	o.overlap_ns = 1000 * MS;
	o.sched.rr_quantum_ns = 1 * MS;
	o.sched.handover_ns = 5 * US;
	overlap(&o, &a, &b);
	agent(b);
	gs_gpu_pin(b->gpu_client);
	evicted(a, 0, 100);
	next = grant(10 * US);
	for (until = now + 100 * MS; now < until; rounds++)
		next = grant(next > now ? next - now : 1);
	assert_in_range(rounds, 1, 500);
	gs_gpu_unpin(gpu);
	all_leave(a, b);
}

/* Whoever is gone, on its way out or with the time slice: nothing of it is left behind. */
static void test_overlap_and_death(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct client *low, *high;

	(void)unused;
	o.overlap_ns = 20 * US;
	for (int who = 0; who < 2; who++) {
		begin_with(&o);
		low = join(1, 1);
		high = join(2, 10);
		launch(low, 0, 1000, 1);
		gs_page_store(low->page->slot[0].leave_ns, 10 * US);
		grant(0);
		agent(low);
		launch(high, 0, 10, 1);
		grant(1 * MS);
		assert_int_equal(state(low, 0), GS_K_TOEVICT);
		if (who == 0) {
			leave(low);
			grant(10 * US);
			assert_true(has_turn(high));
			leave(high);
		} else {
			leave(high);
			grant(10 * US);
			assert_false(has_turn(low)); /* it has not left yet */
			evicted(low, 0, 400);
			grant(10 * US);
			assert_true(has_turn(low));
			leave(low);
		}
		gs_gpu_destroy(gpu);
	}
}

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
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_overlap_waits_for_long_block_tasks),
		cmocka_unit_test(test_overlap_of_mps),
		cmocka_unit_test(test_overlap_is_nobodys_quantum),
		cmocka_unit_test(test_overlap_and_death),
		cmocka_unit_test(test_overlap_ended_by_death),
		cmocka_unit_test(test_pinned_beside_another),
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
