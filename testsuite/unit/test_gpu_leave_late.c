/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long kernels may take to leave beside a more urgent client, from the lengths of its tasks. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sharing_rig.h"

static uint32_t leave_most_us(const struct client *c)
{
	return gs_page_load(c->page->priorities.leave_most_us);
}

/* So many tasks of so many ms, with pauses of 20 ms. */
static void tasks(struct client *c, int n, int ms)
{
	for (; n; n--) {
		if (state(c, 0) == GS_K_DONE)
			go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
		launch_leaving(c, 0, AS_IS, 0, MS);
		for (int i = 0; i < ms; i++) {
			grant(MS);
			agent(c);
		}
		finish(c, 0);
		for (int i = 0; i < 20; i++)
			grant(MS);
	}
}

static void begin_two(int one_context, int32_t low_priority, struct client **low,
		      struct client **high)
{
	begin_sharing("frs", one_context);
	*low = running(1, low_priority, AS_IS, 0);
	*high = join(2, 10);
	grant(MS);
	assert_int_equal(leave_most_us(*low), 0);
}

static void a_part_of_the_urgent_tasks(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(0, 1, &low, &high);
	tasks(high, 20, 2);
	assert_int_equal(leave_most_us(low), 300);
	assert_int_equal(leave_most_us(high), 0);
	/* A single long one does not count for much. */
	tasks(high, 1, 20);
	assert_int_equal(leave_most_us(low), 300);
	tasks(high, 40, 40);
	assert_in_range(leave_most_us(low), 3000, 3700);
	tasks(high, 1, 2);
	assert_in_range(leave_most_us(low), 2700, 3300);
	all_leave(low, high);
}

/* What lasts is as long as it has lasted so far, and counts for a second at most when it is over.
 */
static void one_that_lasts(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(0, 1, &low, &high);
	tasks(high, 20, 2);
	launch_leaving(high, 1, AS_IS, 0, MS);
	grant(MS);
	agent(high);
	for (int i = 0; i < 10; i++)
		grant(1000 * MS);
	assert_in_range(leave_most_us(low), 833000, 834000);
	finish(high, 1);
	for (int i = 0; i < 20; i++)
		grant(MS);
	assert_in_range(leave_most_us(low), 9500, 11500);
	/* Beside rare tasks it is as if there were none. */
	for (int i = 0; i < 25; i++)
		grant(10 * MS);
	assert_int_equal(leave_most_us(low), 0);
	all_leave(low, high);
}

/* A task goes on although its priority has changed; of one that is stopped nobody need take heed.
 */
static void one_that_changes_and_stops(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(0, 1, &low, &high);
	tasks(high, 20, 2);
	launch_leaving(high, 1, AS_IS, 0, MS);
	for (int i = 0; i < 60; i++) {
		grant(MS);
		agent(high);
		gs_gpu_client_priority(high->gpu_client, 10 + i % 2, 20, now);
	}
	grant(MS);
	assert_in_range(leave_most_us(low), 4900, 5200);
	gs_gpu_client_stopped(high->gpu_client, 1, now);
	grant(MS);
	assert_int_equal(leave_most_us(low), 0);
	all_leave(low, high);
}

static void not_beside_equals_nor_in_one_context(void **unused)
{
	struct client *low, *high;

	(void)unused;
	begin_two(1, 1, &low, &high);
	tasks(high, 20, 2);
	assert_int_equal(leave_most_us(low), 0);
	all_leave(low, high);
	begin_two(0, 10, &low, &high);
	tasks(high, 20, 2);
	assert_int_equal(leave_most_us(low), 0);
	all_leave(low, high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_of_the_urgent_tasks),
		cmocka_unit_test(one_that_lasts),
		cmocka_unit_test(one_that_changes_and_stops),
		cmocka_unit_test(not_beside_equals_nor_in_one_context),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
