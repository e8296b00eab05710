/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches with a priority of their own: which one of a client is in force. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "sharing_rig.h"

/* The client whose launches have priorities of their own, and another one. */
static struct client *a, *b;

static void begin_two(int by_priority, int32_t as, int32_t bs)
{
	struct gs_gpu_options o = options_of("piv");

	o.sched.by_priority = by_priority;
	begin_with(&o);
	a = join(1, as);
	b = join(2, bs);
}

/* The next launch in a's slot i has that priority of its own. */
static void own(unsigned i, int priority)
{
	a->page->priorities.used = 1;
	a->page->priorities.of_slot[i] = (uint16_t)(priority + 1);
}

/* b was told to leave, does, and a has the GPU. */
static void overtaken(void)
{
	assert_int_equal(state(b, 0), GS_K_TOEVICT);
	evicted(b, 0, 10);
	agent(b);
	grant(100 * US);
	assert_true(has_turn(a) && !has_turn(b));
	agent(a);
}

/* The launch in a's slot 1 is over: the one in slot 0 is less urgent than b's, and leaves for it.
 */
static void urgent_one_ends(void)
{
	finish(a, 1);
	grant(1 * MS);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	evicted(a, 0, 10);
	agent(a);
	grant(100 * US);
	assert_true(has_turn(b) && !has_turn(a));
	all_leave(a, b);
}

/* A process of low priority with one urgent stream. */
static void an_urgent_launch_overtakes(int by_priority)
{
	begin_two(by_priority, 1, 5);
	occupy(b, 100);
	launch(a, 0, 100, 1);
	grant(1 * MS);
	assert_int_equal(state(b, 0), GS_K_RUNNING); /* the process's priority is not above b's */
	own(1, 9);
	launch(a, 1, 100, 1);
	grant(1 * MS);
	overtaken();
	assert_int_equal(state(a, 1), GS_K_RUNNING);
	/* Its urgent launch is over: what remains has the process's priority. */
	urgent_one_ends();
}

static void an_urgent_stream(void **unused)
{
	(void)unused;
	an_urgent_launch_overtakes(0);
	an_urgent_launch_overtakes(1);
}

/* Launches of low priority in an urgent process keep nobody waiting; its other launches do. */
static void a_low_thread(void **unused)
{
	(void)unused;
	begin_two(0, 10, 5);
	own(0, 1);
	occupy(a, 100);
	launch(a, 1, 100, 1);
	launch(b, 0, 100, 1);
	grant(1 * MS);
	assert_int_equal(state(a, 0), GS_K_RUNNING);
	urgent_one_ends();
}

/* Whatever the page says, a client cannot be above its limit. */
static void no_more_than_the_limit(void **unused)
{
	(void)unused;
	begin_two(0, 1, 5);
	gs_gpu_client_priority(a->gpu_client, 1, 4, now);
	occupy(b, 100);
	own(0, 9);
	launch(a, 0, 100, 1);
	a->page->priorities.of_slot[1] = UINT16_MAX;
	launch(a, 1, 100, 1);
	a->page->priorities.used = UINT32_MAX;
	grant(1 * MS);
	assert_int_equal(state(b, 0), GS_K_RUNNING);
	/* The job's priority is raised. */
	gs_gpu_client_priority(a->gpu_client, 1, 6, now);
	grant(1 * MS);
	overtaken();
	all_leave(a, b);
}

static void a_critical_region_is_above_it(void **unused)
{
	(void)unused;
	begin_two(0, 10, 5);
	occupy(b, 100);
	own(0, 1);
	launch(a, 0, 100, 1);
	grant(1 * MS);
	assert_int_equal(state(b, 0), GS_K_RUNNING);
	a->page->priorities.overruled = 1;
	gs_gpu_client_priority(a->gpu_client, 10, 10, now); /* as the daemon is told */
	grant(1 * MS);
	overtaken();
	a->page->priorities.overruled = 0;
	gs_gpu_client_priority(a->gpu_client, 10, 10, now);
	grant(1 * MS);
	assert_int_equal(state(a, 0), GS_K_TOEVICT);
	all_leave(a, b);
}

/* A slot's priority counts only while its launch waits or runs. */
static void a_launch_that_is_over_counts_for_nothing(void **unused)
{
	(void)unused;
	begin_two(0, 1, 5);
	own(0, 9);
	occupy(a, 100);
	finish(a, 0);
	grant(1 * MS);
	go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	occupy(b, 100);
	launch(a, 1, 100, 1);
	grant(1 * MS);
	assert_int_equal(state(b, 0), GS_K_RUNNING);
	all_leave(a, b);
}

/* What waits for less urgent work has a bound, however the urgent one's priority changes. */
static void changes_keep_nobody_longer(void **unused)
{
	struct gs_gpu_options o = options_of("piv");
	int had = 0;

	(void)unused;
	o.sched.by_priority = 1;
	o.sched.starvation_ns = 20 * MS;
	begin_with(&o);
	a = join(1, 9);
	b = join(2, 5);
	own(0, 9);
	occupy(a, 1000);
	launch(b, 0, 100, 1);
	for (int i = 0; i < 1000 && !had; i++) {
		own(0, 8 + i % 2);
		grant(200 * US);
		had = state(a, 0) == GS_K_TOEVICT;
	}
	assert_true(had);
	all_leave(a, b);
}

/* Kernels of 2 ms, with pauses; 1: it ran. */
static int run_now_and_then(struct client *c, unsigned *left)
{
	int ran;

	agent(c);
	ran = state(c, 0) == GS_K_RUNNING;
	if (ran && --*left == 0)
		finish(c, 0);
	if (state(c, 0) == GS_K_DONE) {
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		*left = 5;
	} else if (state(c, 0) == GS_K_PREP && --*left == 0) {
		launch_leaving(c, 0, AS_IS, 0, 2 * MS);
		*left = 2;
	}
	return ran;
}

/* Where kernels cannot leave an urgent process may launch beside them, but not with low priority:
 * it does not find the way open from a pause, in which it has its own. */
static void low_launches_run_beside_nobody(void **unused)
{
	uint64_t left_b = 1;
	unsigned left_a = 1, beside = 0;

	(void)unused;
	begin_sharing("frs", 0);
	a = join(1, 10);
	b = join(2, 5);
	own(0, 1);
	for (int ms = 0; ms < 1000; ms++) {
		int ran = run_now_and_then(a, &left_a);

		/* a has its first launches alone */
		if (ms >= 23)
			work(b, &left_b, AS_IS, 20 * MS);
		beside += ran && state(b, 0) == GS_K_RUNNING;
		grant(MS);
	}
	assert_int_equal(beside, 0);
	own(1, 9);
	launch_leaving(a, 1, AS_IS, 0, 2 * MS);
	grant(MS);
	agent(a);
	assert_true(state(a, 1) == GS_K_RUNNING && state(b, 0) == GS_K_RUNNING);
	all_leave(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_urgent_stream),
		cmocka_unit_test(a_low_thread),
		cmocka_unit_test(no_more_than_the_limit),
		cmocka_unit_test(a_critical_region_is_above_it),
		cmocka_unit_test(low_launches_run_beside_nobody),
		cmocka_unit_test(changes_keep_nobody_longer),
		cmocka_unit_test(a_launch_that_is_over_counts_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
