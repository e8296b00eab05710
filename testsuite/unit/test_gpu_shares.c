/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Equals beside each other: who is held back, and how they take turns under MPS (arbiter/equals.h).
 */
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

/* A client that lowers its priority and takes it back so many us later gets no more of the GPU than
 * one that does not. */
static void changes_gain_nothing(uint64_t us)
{
	uint64_t left_a = 1, left_b = 1;
	struct client *a, *b;
	unsigned had[2] = { 0 };

	begin_sharing("frs", 0);
	a = join_in(1, 5, 1, 25);
	b = join_in(2, 5, 2, 75);
	for (int i = 0; i < 4000; i++) {
		had[0] += (unsigned)keep_busy(a, &left_a, MS);
		had[1] += (unsigned)keep_busy(b, &left_b, MS);
		for (int priority = 4; i % 5 == 0 && priority <= 5; priority++) {
			gs_gpu_client_priority(a->gpu_client, priority, 5, now);
			if (us && priority == 4)
				grant(us * US);
		}
		grant(MS);
	}
	assert_in_range(had[1], 3500, 4000);
	assert_in_range(had[0], 0, 2300);
	all_leave(a, b);
}

static void changing_priorities_gains_nothing(void **unused)
{
	(void)unused;
	changes_gain_nothing(0);
	changes_gain_nothing(10);
}

static void shares_hold_back_who_is_ahead(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1, left_b = 1;
	unsigned had[2] = { 0 }, waited = 0, longest = 0;

	(void)unused;
	begin_sharing("frs", 0);
	a = join_in(1, 5, 1, 75);
	b = join_in(2, 5, 2, 25);
	for (int i = 0; i < 4000; i++) {
		had[0] += (unsigned)keep_busy(a, &left_a, MS);
		if (keep_busy(b, &left_b, MS)) {
			had[1]++;
			waited = 0;
		} else if (++waited > longest) {
			longest = waited;
		}
		grant(MS);
	}
	/* Whoever is alone with the time slice has all of the GPU, of two each has half: 3 to 1 is
	 * always against half of the time. */
	assert_in_range(had[0], 3900, 4000);
	assert_in_range(had[1], 1800, 2300);
	assert_in_range(longest, 5, 15);
	all_leave(a, b);
}

static void equals_are_not_held_back(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1, left_b = 1;
	unsigned had[2] = { 0 };

	(void)unused;
	begin_sharing("frs", 0);
	a = join(1, 5);
	b = join(2, 5);
	for (int i = 0; i < 2000; i++) {
		had[0] += (unsigned)keep_busy(a, &left_a, MS);
		had[1] += (unsigned)keep_busy(b, &left_b, 31 * MS);
		grant(MS);
	}
	assert_in_range(had[0], 1950, 2000);
	assert_in_range(had[1], 1900, 2000);
	all_leave(a, b);
}

static void mps_has_short_and_long_ones_take_turns(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1, left_b = 1;
	unsigned had[2] = { 0 }, both = 0;

	(void)unused;
	begin_sharing("frs", 1);
	a = join(1, 5);
	b = join(2, 5);
	for (int i = 0; i < 4000; i++) {
		int has_a, has_b;

		/* Beside the long one nothing of the short one would end. */
		has_a = state(b, 0) == GS_K_RUNNING && state(a, 0) == GS_K_RUNNING ?
				has_turn(a) != 0 :
				keep_busy(a, &left_a, MS / 2);
		has_b = keep_busy(b, &left_b, 31 * MS) || state(b, 0) == GS_K_RUNNING;
		had[0] += has_a && !has_b;
		had[1] += has_b && !has_a;
		both += has_a && has_b;
		grant(MS);
	}
	assert_in_range(had[0], 1500, 2500);
	assert_in_range(had[1], 1500, 2500);
	assert_in_range(both, 0, 100);
	assert_int_equal(gs_page_load(a->page->contended), GS_CONTENDED_QUEUE);
	all_leave(a, b);
}

/* Most of what a training launches has no slot, so every other look finds nothing. */
static void mps_sees_launches_that_untracked(void **unused)
{
	struct client *a, *b;
	uint64_t left_b = 1;
	unsigned had[2] = { 0 };

	(void)unused;
	begin_sharing("frs", 1);
	a = join(1, 5);
	b = join(2, 5);
	for (int i = 0; i < 4000; i++) {
		int has_b = keep_busy(b, &left_b, 31 * MS) || state(b, 0) == GS_K_RUNNING;

		agent(a);
		if (state(a, 0) == GS_K_PREP) {
			a->seq += 20;
			launch_leaving(a, 0, AS_IS, 0, MS / 50);
		}
		had[0] += has_turn(a) && !has_b;
		had[1] += (unsigned)has_b;
		if (i % 2 && state(a, 0) == GS_K_RUNNING) {
			finish(a, 0);
			go(a, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		}
		grant(MS);
	}
	assert_in_range(had[0], 1500, 2500);
	assert_in_range(had[1], 1500, 2500);
	all_leave(a, b);
}

/* Beside others nobody could find out what its kernels take. */
static void mps_times_unknown_kernels_alone(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1, left_b = 1;
	unsigned alone = 0, both = 0, before;

	(void)unused;
	begin_sharing("frs", 1);
	a = join(1, 5);
	b = join(2, 5);
	for (int i = 0; i < 2000; i++) {
		/* Known after it has been alone for a while. */
		keep_busy(a, &left_a, alone < 100 ? 0 : MS / 2);
		keep_busy(b, &left_b, MS / 2);
		alone += state(b, 0) != GS_K_RUNNING && has_turn(a) &&
			 !gs_page_load(a->page->beside);
		both += has_turn(a) && has_turn(b);
		grant(MS);
		if (i == 499)
			before = both;
	}
	/* Then they run beside each other. */
	assert_in_range(before, 0, 100);
	assert_in_range(both, 1300, 2000);
	all_leave(a, b);
}

static void mps_waits_for_no_kernel_without_end(void **unused)
{
	struct client *a, *b;
	uint64_t left_a = 1;
	unsigned had = 0;

	(void)unused;
	begin_sharing("frs", 1);
	b = running(2, 5, AS_IS, 0);
	a = join(1, 5);
	for (int i = 0; i < 1000; i++) {
		had += (unsigned)keep_busy(a, &left_a, MS / 2);
		grant(MS);
	}
	assert_in_range(had, 400, 1000);
	all_leave(a, b);
}

/* Which of two equals launches is no affair of the policy, so it is not blamed for wanting the
 * other one. */
static void mps_blames_no_policy_for_turns(void **unused)
{
	struct client *a, *b, *c;
	struct gs_gpu_status is;
	uint64_t left[3] = { 1, 1, 1 };

	(void)unused;
	begin_sharing("sjf", 1);
	a = join(1, 5);
	b = join(2, 5);
	c = join(3, 5);
	for (int i = 0; i < 1000; i++) {
		/* The end of its task is the last news for as long as the others' kernels run. */
		if (i < 20)
			keep_busy(c, &left[2], 20 * MS);
		else if (i == 20 && state(c, 0) == GS_K_RUNNING)
			finish(c, 0);
		keep_busy(a, &left[0], 3000 * MS);
		keep_busy(b, &left[1], 4000 * MS);
		for (int part = 0; part < 10; part++)
			grant(MS / 10);
	}
	gs_gpu_status(gpu, &is);
	assert_int_equal(is.faults, 0);
	all_leave(a, b, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_hold_back_who_is_ahead),
		cmocka_unit_test(changing_priorities_gains_nothing),
		cmocka_unit_test(equals_are_not_held_back),
		cmocka_unit_test(mps_has_short_and_long_ones_take_turns),
		cmocka_unit_test(mps_sees_launches_that_untracked),
		cmocka_unit_test(mps_times_unknown_kernels_alone),
		cmocka_unit_test(mps_blames_no_policy_for_turns),
		cmocka_unit_test(mps_waits_for_no_kernel_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
