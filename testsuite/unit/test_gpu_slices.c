/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who gets the time slice: alone, by priority, when idle; policies and priorities that change. */
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

static void test_alone_keeps_the_turn(void **unused)
{
	struct client *c;

	(void)unused;
	begin("piv");
	c = join(1, 1);
	grant(0);
	assert_false(has_turn(c));
	launch(c, 0, 100, 1);
	grant(0);
	assert_true(has_turn(c));
	assert_int_equal(state(c, 0), GS_K_TORUN);
	agent(c);
	finish(c, 0);
	grant(5 * MS);
	assert_true(has_turn(c));
	/* The second launch asks nobody, and is counted all the same. */
	launch(c, 1, 100, 1);
	assert_int_equal(state(c, 1), GS_K_RUNNING);
	grant(1 * MS);
	finish(c, 1);
	grant(9 * MS);
	assert_int_equal(c->usage.launches, 2);
	assert_int_equal(c->usage.waiting_ns, 0);
	assert_int_equal(c->usage.turnaround_ns, c->usage.active_ns);
	/* It may have been there since the poll before the one that first saw it. */
	assert_int_equal(c->usage.active_ns, 15 * MS);
	assert_int_equal(c->usage.periods, 2);
	all_leave(c);
}

/* What a hand-over costs is what it is seen to take; configured is where that begins. */
static void test_handover_is_learned(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	struct gs_gpu_status status;
	struct client *low, *high;

	(void)unused;
	o.sched.handover_ns = 100 * US;
	o.learn_handover = 1;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 2000);
	for (unsigned i = 0; i < 160; i++) {
		grant(5 * MS);
		launch(high, i % 32, 10, 1);
		grant(10 * US);
		evicted(low, 0, 10 * i);
		grant(20 * US);
		assert_true(has_turn(high));
		/* first soon there, then late; seen late, it says nothing */
		if (i < 80) {
			agent(high);
			grant(20 * US);
		} else {
			grant(200 * US);
			agent(high);
		}
		grant(10 * MS);
		finish(high, i % 32);
		grant(0);
		go(high, i % 32, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		grant(1 * MS);
		agent(low);
		grant(400 * US);
		gs_gpu_status(gpu, &status);
		if (i == 79)
			assert_in_range(status.handover_ns, 45 * US, 60 * US);
	}
	assert_in_range(status.handover_ns, 80 * US, 100 * US);
	all_leave(low, high);
}

static void test_priority_evicts_and_resumes(void **unused)
{
	struct client *low, *high;

	(void)unused;
	low_and_high(&low, &high);
	occupy(low, 1000);
	grant(5 * MS);
	launch(high, 0, 10, 1);
	/* Told to leave, at once, and the other does not start before it has. */
	assert_true(grant(1 * MS) <= now + 50 * US);
	assert_false(has_turn(low));
	assert_false(has_turn(high));
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	assert_int_equal(state(high, 0), GS_K_READY);
	agent(low);
	grant(40 * US);
	assert_int_equal(state(high, 0), GS_K_READY);
	evicted(low, 0, 400);
	grant(20 * US);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_TORUN);
	assert_int_equal(low->usage.preemptions, 1);
	assert_int_equal(low->usage.evicted.n, 1);
	assert_int_equal(low->usage.evicted.sample_us[0], 60);
	agent(high);
	grant(2 * MS);
	assert_int_equal(state(low, 0), GS_K_READY);
	finish(high, 0);
	grant(0); /* idle: the grace begins */
	assert_int_equal(state(low, 0), GS_K_READY);
	grant(200 * US);
	assert_false(has_turn(high));
	assert_true(has_turn(low));
	assert_int_equal(state(low, 0), GS_K_TORUN);
	agent(low);
	finish(low, 0);
	grant(1 * MS);
	assert_int_equal(low->usage.preemptions, 1);
	assert_int_equal(high->usage.preemptions, 0);
	/* Low: 6 ms, the eviction and 1 ms with the GPU, 2.2 ms without. */
	assert_int_equal(low->usage.active_ns, 7 * MS + 60 * US);
	assert_int_equal(low->usage.waiting_ns, 2 * MS + 200 * US);
	assert_int_equal(low->usage.turnaround_ns, low->usage.active_ns + low->usage.waiting_ns);
	/* High waited for the eviction only. */
	assert_int_equal(high->usage.waiting_ns, 60 * US);
	all_leave(low, high);
}

static void test_equal_priority_waits(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 5);
	b = join(2, 5);
	occupy(a, 100);
	launch(b, 0, 100, 1);
	grant(1 * MS);
	grant(20 * MS);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	assert_int_equal(state(b, 0), GS_K_READY);
	finish(a, 0);
	grant(0);
	grant(200 * US);
	assert_true(has_turn(b));
	assert_int_equal(a->usage.preemptions, 0);
	all_leave(a, b);
}

static void test_holder_of_the_fast_path_is_compared(void **unused)
{
	struct client *high, *low;

	(void)unused;
	begin("piv");
	high = join(1, 10);
	low = join(2, 1);
	occupy(high, 1);
	finish(high, 0);
	grant(1 * MS);
	/* Launched without a word to the daemon; then the other rings. */
	launch(high, 1, 100, 1);
	launch(low, 0, 100, 1);
	grant(10 * US);
	assert_int_equal(state(high, 1), GS_K_RUNNING);
	assert_int_equal(state(low, 0), GS_K_READY);
	assert_true(has_turn(high));
	all_leave(high, low);
}

static void test_idle_turn_is_handed_over_at_once(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 10);
	b = join(2, 1);
	occupy(a, 1);
	finish(a, 0);
	grant(1 * MS);
	launch(b, 0, 1, 1);
	grant(0);
	assert_true(has_turn(b));
	assert_false(has_turn(a));
	assert_int_equal(a->usage.evicted.n, 0); /* nobody was evicted */
	all_leave(a, b);
}

static void test_reconfigure_keeps_the_holder(void **unused)
{
	struct gs_gpu_options o = options_of("frs"), bad = options_of("none such");
	struct gs_gpu_status st;
	struct gs_error err;
	struct client *a, *b;

	(void)unused;
	begin("piv");
	a = join(1, 1);
	b = join(2, 1);
	occupy(a, 100);
	launch(b, 0, 100, 1);
	grant(1 * MS);
	assert_int_equal(gs_gpu_configure(gpu, &bad, now, &err), -1);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "piv");
	assert_int_equal(gs_gpu_configure(gpu, &o, now, &err), 0);
	grant(0);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "frs");
	assert_int_equal(st.waiting, 1);
	assert_true(has_turn(a));
	/* Under frs the one that waits gets its time slice in time. */
	for (int i = 0; i < 100 && state(a, 0) == GS_K_RUNNING; i++)
		grant(1 * MS);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 50);
	grant(50 * US);
	assert_true(has_turn(b));
	all_leave(a, b);
}

static void test_run_is_followed_by_its_deadline(void **unused)
{
	struct gs_gpu_options o = options_of("rr");
	struct gs_error err;
	struct client *a, *b;

	(void)unused;
	begin("rr");
	o.sched.rr_quantum_ns = 300 * US;
	assert_int_equal(gs_gpu_configure(gpu, &o, now, &err), 0);
	a = join(1, 1);
	b = join(2, 1);
	launch(a, 0, 100, 1);
	launch(b, 0, 100, 1);
	/* RUN's own deadline is "now": the time slice asks once more and learns when the quantum
	 * ends. */
	gs_gpu_poll_every(gpu, 1 * MS);
	assert_int_equal(grant(0) - now, 300 * US);
	assert_int_equal(grant(100 * US) - now, 200 * US);
	assert_int_equal(has_turn(a) + has_turn(b), 1);
	all_leave(a, b);
}

static void test_figures_are_of_this_moment(void **unused)
{
	struct client *a, *b;

	(void)unused;
	begin("fifo");
	a = join(1, 1);
	b = join(2, 1);
	occupy(a, 100);
	launch(b, 0, 100, 1);
	grant(0);
	now += 7 * MS;
	gs_gpu_settle(gpu, now);
	assert_int_equal(a->usage.active_ns, 7 * MS);
	assert_int_equal(b->usage.waiting_ns, 7 * MS);
	assert_int_equal(b->usage.turnaround_ns, 7 * MS);
	all_leave(a, b);
}

static void test_policy_changes_live(void **unused)
{
	struct gs_gpu_status st;
	struct gs_error err;
	struct client *low, *high;

	(void)unused;
	begin("fifo");
	low = join(1, 1);
	high = join(2, 10);
	occupy(low, 1000);
	launch(high, 0, 10, 1);
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_RUNNING); /* fifo never preempts */
	assert_int_equal(gs_gpu_set_policy(gpu, "none such", now, &err), -1);
	assert_non_null(strstr(err.text, "choose one of fifo"));
	assert_int_equal(gs_gpu_set_policy(gpu, "piv", now, &err), 0);
	gs_gpu_status(gpu, &st);
	assert_string_equal(st.policy, "piv");
	assert_int_equal(st.waiting, 1);
	grant(0);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	all_leave(low, high);
}

static void test_priority_changes_live(void **unused)
{
	struct client *a, *b, *c;

	(void)unused;
	begin("piv");
	a = join(1, 5);
	b = join(2, 5);
	c = join(3, 5);
	occupy(a, 1000);
	launch(b, 0, 10, 1);
	grant(1 * MS);
	launch(c, 0, 10, 1);
	grant(1 * MS);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	/* The last to come, already waiting, becomes the most urgent. */
	gs_gpu_client_priority(c->gpu_client, 6, 10, now);
	grant(0);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 10);
	grant(50 * US);
	assert_true(has_turn(c));
	agent(c);
	/* The holder falls behind those that wait. */
	gs_gpu_client_priority(c->gpu_client, 1, 10, now);
	grant(1 * MS);
	assert_int_equal(state(c, 0), GS_K_TOEVICT);
	all_leave(a, b, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone_keeps_the_turn),
		cmocka_unit_test(test_handover_is_learned),
		cmocka_unit_test(test_priority_evicts_and_resumes),
		cmocka_unit_test(test_equal_priority_waits),
		cmocka_unit_test(test_holder_of_the_fast_path_is_compared),
		cmocka_unit_test(test_idle_turn_is_handed_over_at_once),
		cmocka_unit_test(test_reconfigure_keeps_the_holder),
		cmocka_unit_test(test_run_is_followed_by_its_deadline),
		cmocka_unit_test(test_figures_are_of_this_moment),
		cmocka_unit_test(test_policy_changes_live),
		cmocka_unit_test(test_priority_changes_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
