/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients with deadlines: who goes first under edf, and what is booked of their bursts
 * (arbiter/burst.h). */
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

/* Work every 50 ms, due after so long; idle for 5 ms it has paused. 0: neither. */
static struct client *join_due(uint64_t id, uint64_t deadline_ns)
{
	struct client *c;

	if (deadline_ns)
		period = (struct gs_period) { .every_ns = 50 * MS, .deadline_ns = deadline_ns };
	c = join(id, 1);
	period = (struct gs_period) { 0 };
	if (deadline_ns)
		assert_int_equal(gs_step_usage_time(&c->usage), 0);
	return c;
}

static void expect(const struct client *c, uint64_t jobs, uint64_t missed)
{
	assert_int_equal(c->usage.timing->jobs, jobs);
	assert_int_equal(c->usage.timing->missed, missed);
}

static double longest_ms(const struct client *c, enum gs_timing_figure figure)
{
	return gs_timing_summary(c->usage.timing, figure).max_ms;
}

static void near(double ms, double want)
{
	if (!(ms > want - 0.05 && ms < want + 0.05))
		fail_msg("%.3f ms instead of %.3f", ms, want);
}

/* A kernel that has the GPU for so long; the step after its end finds that out. */
static void burst(struct client *c, uint64_t ns)
{
	launch(c, 0, 1, 1);
	grant(0);
	agent(c);
	grant(ns);
	finish(c, 0);
	grant(0);
	go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
}

static void the_deadline_goes_first(void **unused)
{
	struct client *none, *late, *soon;

	(void)unused;
	begin("edf");
	none = join_due(1, 0);
	late = join_due(2, 40 * MS);
	soon = join_due(3, 20 * MS);
	occupy(none, 100);
	grant(1 * MS);
	launch(late, 0, 1, 1);
	grant(0);
	assert_int_equal(state(none, 0), GS_K_TOEVICT);
	evicted(none, 0, 10);
	grant(10 * US);
	agent(late);
	assert_int_equal(state(late, 0), GS_K_RUNNING);
	grant(1 * MS);
	launch(soon, 0, 1, 1);
	grant(0);
	assert_int_equal(state(late, 0), GS_K_TOEVICT);
	evicted(late, 0, 0);
	grant(10 * US);
	agent(soon);
	finish(soon, 0);
	grant(0);
	grant(MS); /* it has paused */
	/* The task without a deadline came first, and goes last. */
	assert_int_equal(state(late, 0), GS_K_TORUN);
	assert_int_equal(state(none, 0), GS_K_READY);
	all_leave(none, late, soon);
}

static void nobody_waits_for_what_cannot_leave(void **unused)
{
	struct client *none, *due;

	(void)unused;
	begin_sharing("edf", 0);
	none = running(1, 1, AS_IS, 0);
	due = join_due(2, 20 * MS);
	launch(due, 0, 1, 1);
	grant(US);
	assert_true(has_turn(due));
	assert_false(has_turn(none));
	all_leave(none, due);
}

/* Under other policies an equal that is two seconds behind gets the next time slice. */
static void fairness_does_not_count(void **unused)
{
	static const char *const policy[] = { "edf", "fifo" };

	(void)unused;
	for (int i = 0; i < 2; i++) {
		struct gs_gpu_options o = options_of(policy[i]);
		struct client *first, *second;

		o.leave_most_ns = 300 * US;
		begin_with(&o);
		first = join_due(1, 20 * MS);
		second = join_due(2, 20 * MS);
		launch_leaving(first, 0, 1, SOON, 5000 * MS);
		grant(0);
		agent(first);
		grant(MS);
		launch_leaving(second, 0, 1, SOON, 5000 * MS);
		for (int ms = 0; ms < 2500; ms++)
			grant(MS);
		assert_int_equal(state(first, 0), i == 0 ? GS_K_RUNNING : GS_K_TOEVICT);
		all_leave(first, second);
	}
}

static void bursts_are_booked(void **unused)
{
	struct client *c;

	(void)unused;
	begin("edf");
	c = join_due(1, 20 * MS);
	burst(c, 10 * MS);
	expect(c, 0, 0); /* it may go on */
	grant(40 * MS);
	burst(c, 25 * MS);
	expect(c, 1, 0);
	grant(10 * MS);
	gs_gpu_settle(gpu, now);
	expect(c, 2, 1);
	near(longest_ms(c, GS_TIMING_RESPONSE), 25);
	near(longest_ms(c, GS_TIMING_OCCUPYING), 25);
	near(longest_ms(c, GS_TIMING_PENDING), 0);
	near(longest_ms(c, GS_TIMING_TARDINESS), 5);
	/* The ends are 65 ms apart. */
	near(longest_ms(c, GS_TIMING_JITTER), 15);
	all_leave(c);
}

static void a_short_pause_is_within_the_burst(void **unused)
{
	struct client *c;

	(void)unused;
	begin("edf");
	c = join_due(1, 20 * MS);
	burst(c, 10 * MS);
	grant(4 * MS);
	burst(c, 10 * MS);
	grant(40 * MS);
	gs_gpu_settle(gpu, now);
	expect(c, 1, 1);
	near(longest_ms(c, GS_TIMING_RESPONSE), 24);
	near(longest_ms(c, GS_TIMING_OCCUPYING), 20);
	all_leave(c);
}

static void waiting_is_pending_and_the_deadline_stays(void **unused)
{
	struct client *first, *second;

	(void)unused;
	begin("edf");
	first = join_due(1, 20 * MS);
	second = join_due(2, 20 * MS);
	occupy(first, 100);
	grant(5 * MS);
	launch(second, 0, 1, 1);
	grant(0);
	/* Long after its deadline the first still goes before the second, which is due later. */
	grant(30 * MS);
	assert_int_equal(state(first, 0), GS_K_RUNNING);
	finish(first, 0);
	grant(0);
	grant(MS);
	agent(second);
	grant(2 * MS);
	finish(second, 0);
	grant(0);
	grant(20 * MS);
	gs_gpu_settle(gpu, now);
	expect(first, 1, 1);
	expect(second, 1, 1);
	near(longest_ms(first, GS_TIMING_RESPONSE), 35);
	near(longest_ms(second, GS_TIMING_RESPONSE), 33);
	assert_true(longest_ms(second, GS_TIMING_PENDING) > 29);
	all_leave(first, second);
}

static void whoever_dies_at_work_has_no_burst(void **unused)
{
	struct client *dies, *ends;

	(void)unused;
	begin("edf");
	dies = join_due(1, 20 * MS);
	ends = join_due(2, 20 * MS);
	burst(ends, 2 * MS);
	occupy(dies, 100);
	grant(5 * MS);
	gs_gpu_remove(gpu, dies->gpu_client, now);
	gs_gpu_remove(gpu, ends->gpu_client, now);
	dies->gpu_client = ends->gpu_client = NULL;
	expect(dies, 0, 0);
	expect(ends, 1, 0);
	all_leave(dies, ends);
}

static void one_that_is_alone_is_watched(void **unused)
{
	struct client *c;
	uint64_t next;

	(void)unused;
	begin("edf");
	c = join_due(1, 20 * MS);
	occupy(c, 1);
	next = grant(MS);
	assert_true(next - now <= MS);
	assert_false(gs_page_load(c->page->only));
	all_leave(c);
	begin("edf");
	c = join_due(1, 0);
	occupy(c, 1);
	next = grant(MS);
	assert_true(next - now > 10 * MS);
	assert_null(c->usage.timing);
	all_leave(c);
}

static void a_copy_of_the_usage_has_its_own_timing(void **unused)
{
	struct gs_step_usage copy = { 0 };
	struct client *c;

	(void)unused;
	begin("edf");
	c = join_due(1, 20 * MS);
	burst(c, 10 * MS);
	grant(40 * MS);
	gs_gpu_settle(gpu, now);
	gs_step_usage_copy(&copy, &c->usage, 1);
	assert_null(copy.timing);
	assert_int_equal(gs_step_usage_time(&copy), 0);
	gs_step_usage_copy(&copy, &c->usage, 1);
	assert_int_equal(copy.timing->jobs, 1);
	assert_ptr_not_equal(copy.timing, c->usage.timing);
	gs_step_usage_fini(&copy);
	all_leave(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_deadline_goes_first),
		cmocka_unit_test(nobody_waits_for_what_cannot_leave),
		cmocka_unit_test(fairness_does_not_count),
		cmocka_unit_test(bursts_are_booked),
		cmocka_unit_test(a_short_pause_is_within_the_burst),
		cmocka_unit_test(waiting_is_pending_and_the_deadline_stays),
		cmocka_unit_test(whoever_dies_at_work_has_no_burst),
		cmocka_unit_test(one_that_is_alone_is_watched),
		cmocka_unit_test(a_copy_of_the_usage_has_its_own_timing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
