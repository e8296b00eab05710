/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who comes at regular intervals (test_arrival.c) is awaited then. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "gpushare/daemon/budget.h"

/* Who is awaited now; *asked: one of them may have asked already. */
static size_t await(struct gs_awaited *awaited, int *asked)
{
	*asked = 0;
	return gs_gpu_await(gpu, awaited, 4, asked, now);
}

/* From now on: whoever counted its word and read then that somebody is awake woke nobody, so there is a turn. */
static size_t begin_to_await(struct gs_awaited *awaited, int *asked)
{
	size_t n = await(awaited, asked);

	assert_int_equal(*asked, n > 0);
	turn(0);
	return await(awaited, asked);
}

/* A long kernel of the low one is there; the high one comes 5 ms later: when that is. */
static uint64_t begin_pair(struct client **low, struct client **high)
{
	begin("piv");
	*low = join(1, 1);
	*high = join(2, 10);
	occupy(*low, 1000);
	return now + 5 * MS;
}

/* It launches and asks; 1 if it wakes somebody. */
static int ask(struct client *c)
{
	prepare(c, 0, 10, 1);
	go(c, 0, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
	gs_page_ask(c->page);
	return gs_page_load(c->page->attended) != GS_ATTENDED_AWAKE;
}

/* The short one has the GPU in the place of the long one, which gets it back. */
static void be_served(struct client *low, struct client *high, uint64_t done)
{
	turn(1 * US);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	evicted(low, 0, done);
	turn(0);
	agent(high);
	finish(high, 0);
	turn(1 * MS);
	go(high, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	turn(300 * US);
	assert_true(has_turn(low));
	agent(low);
	turn(0);
}

/* It comes every 5 ms, so from the fourth time on the loop is there, its asking wakes nobody, and its launch is found. */
static void test_awaited_client_wakes_nobody(void **unused)
{
	struct gs_awaited awaited[4];
	struct client *low, *high;
	uint64_t due, next;
	int asked;

	(void)unused;
	due = begin_pair(&low, &high);
	for (unsigned i = 0; i < 5; i++, due += 5 * MS) {
		turn(due - 100 * US - now);
		next = turn(0);
		assert_int_equal(await(awaited, &asked), 0);
		if (i >= 3) {
			assert_in_range(due - next, 30 * US, 60 * US);
			turn(next - now);
			assert_int_equal(begin_to_await(awaited, &asked), 1);
			assert_false(asked);
			assert_ptr_equal(awaited->page, high->page);
			assert_in_range(awaited->until - due, 20 * US, 60 * US);
			assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED_AWAKE);
			assert_int_equal(turn(0), awaited->until); /* nobody else looks for it */
		}
		if (i == 4) { /* not for any price */
			gs_gpu_afford(gpu, GS_BUDGET_POOR_NS);
			assert_true(turn(0) > due);
			assert_int_equal(await(awaited, &asked), 0);
			assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED);
			gs_gpu_afford(gpu, 0);
		}
		turn(due - now);
		if (i == 4)
			assert_int_equal(begin_to_await(awaited, &asked), 1);
		assert_int_equal(state(low, 0), GS_K_RUNNING);
		if (ask(high))
			gs_gpu_bell(high->tenant);
		assert_int_equal(gs_page_load(high->page->attended), i < 3 ? GS_ATTENDED : GS_ATTENDED_AWAKE);
		if (i == 3) /* it asked between the turn and this */
			assert_true(await(awaited, &asked) == 1 && asked);
		be_served(low, high, 100 * (i + 1));
		await(awaited, &asked);
		assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED);
	}
	all_leave(low, high);
}

/* It does not come, or comes as its time ends: nobody is lost between the loop and its attendant. */
static void test_awaited_client_that_is_late(void **unused)
{
	struct gs_awaited awaited[4];
	struct client *low, *high;
	uint64_t due;
	int asked;

	(void)unused;
	due = begin_pair(&low, &high);
	for (unsigned i = 0; i < 5; i++, due += 5 * MS) {
		turn(due - now);
		if (i >= 3) {
			assert_int_equal(begin_to_await(awaited, &asked), 1);
			turn(awaited->until + 1 - now);
		}
		if (i == 3) { /* this time it stays away */
			assert_int_equal(await(awaited, &asked), 0);
			assert_false(asked);
			assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED);
			continue;
		}
		if (i == 4) { /* this time it asks before the loop has said that it is over */
			assert_false(ask(high));
			assert_int_equal(await(awaited, &asked), 0);
			assert_true(asked);
		} else {
			ask(high);
			gs_gpu_bell(high->tenant);
		}
		be_served(low, high, 100 * (i + 1));
	}
	all_leave(low, high);
}

/* Who sends BELL asks nobody through its page, and has read there that it is to. */
static void test_who_is_not_attended_is_not_awaited(void **unused)
{
	struct gs_awaited awaited[4];
	struct client *low, *high;
	uint64_t due;
	int asked;

	(void)unused;
	begin("piv");
	low = join(1, 1);
	attended = GS_ATTENDED_NOT;
	high = join(2, 10);
	attended = GS_ATTENDED;
	occupy(low, 1000);
	due = now + 5 * MS;
	for (unsigned i = 0; i < 6; i++, due += 5 * MS) {
		turn(due - now);
		assert_int_equal(await(awaited, &asked), 0);
		assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED_NOT);
		ask(high);
		gs_gpu_bell(high->tenant);
		be_served(low, high, 100 * (i + 1));
	}
	all_leave(low, high);
}

/* Who asks on and on while it is awaited, and wants nothing, is its attendant's affair from then on, until its next time. */
static void test_awaited_client_that_only_asks(void **unused)
{
	struct gs_awaited awaited[4];
	struct client *low, *high;
	uint64_t due;
	int asked;

	(void)unused;
	due = begin_pair(&low, &high);
	for (unsigned i = 0; i < 6; i++, due += 5 * MS) {
		turn(due - now);
		if (i == 4) {
			assert_int_equal(begin_to_await(awaited, &asked), 1);
			gs_page_ask(high->page);
			assert_int_equal(await(awaited, &asked), 1);
			assert_true(asked);
			turn(0);
			gs_page_ask(high->page);
			assert_int_equal(await(awaited, &asked), 0);
			assert_true(asked); /* nobody was woken for the last one */
			assert_int_equal(gs_page_load(high->page->attended), GS_ATTENDED);
			assert_true(turn(0) > now + 200 * US); /* nobody looks for it */
			turn(2 * MS);
			assert_in_range(turn(0), due + 4900 * US, due + 5000 * US); /* its next time */
			continue;
		}
		if (i >= 3)
			assert_int_equal(begin_to_await(awaited, &asked), 1);
		if (ask(high))
			gs_gpu_bell(high->tenant);
		be_served(low, high, 100 * (i + 1));
		await(awaited, &asked);
	}
	all_leave(low, high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_awaited_client_wakes_nobody),
		cmocka_unit_test(test_awaited_client_that_is_late),
		cmocka_unit_test(test_awaited_client_that_only_asks),
		cmocka_unit_test(test_who_is_not_attended_is_not_awaited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
