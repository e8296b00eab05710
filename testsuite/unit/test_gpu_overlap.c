/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The next client has its turn while the last one's block-tasks end. */
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
	assert_int_equal(low->usage.evicted.n, 1);
	assert_int_equal(low->usage.evicted.sample_us[0], 60);
	/* Meanwhile both had kernels on the GPU. */
	assert_int_equal(low->usage.active_ns, 6 * MS + 60 * US / 2);
	assert_int_equal(high->usage.waiting_ns, 60 * US / 2);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
