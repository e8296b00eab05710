/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of clients that play by the rules and of one that does not: rules, barriers, figures. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_rig.h"
#include "gpushare/arbiter/gpu_core.h"

#define UP GS_COPY_TO_DEVICE
#define DOWN GS_COPY_TO_HOST
#define CHUNK_KIB 4096u

static struct client *low, *high;

static void begin_copies(enum gs_copy_policy policy)
{
	struct gs_gpu_options o = options_of("piv");

	o.copies = (struct gs_copy_options) { policy, { CHUNK_KIB, CHUNK_KIB } };
	begin_with(&o);
}

static void begin_two(enum gs_copy_policy policy, int32_t priority)
{
	begin_copies(policy);
	low = join(1, 1);
	high = join(2, priority);
	grant(1 * MS);
}

/* The client's run i: enqueued, or begun. */
static void copy(struct client *c, int i, uint32_t way, uint32_t chunks, uint32_t state)
{
	struct gs_copy_run *run = &c->page->copies.run[i];

	run->way = way;
	run->chunks = chunks;
	run->done = 0;
	run->chunk_kib = CHUNK_KIB;
	run->state = state;
}

static void chunks_done(struct client *c, int i, uint32_t done)
{
	c->page->copies.run[i].done = done;
}

static uint32_t rule(const struct client *c, int way)
{
	return c->page->copies.rule[way];
}

static uint32_t is_open(const struct client *c, int way)
{
	return c->page->copies.open[way];
}

static void nothing_without_a_policy(void **state)
{
	(void)state;
	begin_two(GS_COPY_POLICY_NO, 10);
	copy(low, 0, UP, 10, GS_COPY_BEGUN);
	copy(high, 0, UP, 10, GS_COPY_BEGUN);
	assert_true(grant(1 * MS) > now + 10 * MS);
	assert_true(rule(low, UP) == GS_COPY_FREE && rule(high, UP) == GS_COPY_FREE);
	all_leave(low, high);
}

static void who_is_alone_is_free(void **state)
{
	(void)state;
	begin_copies(GS_COPY_POLICY_PRIORITY);
	low = join(1, 1);
	copy(low, 0, UP, 1, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_int_equal(rule(low, UP), GS_COPY_FREE);
	assert_int_equal(is_open(low, UP), 1);
	all_leave(low);
}

/* While nobody copies, all have the rule FIRST. One that copies alone has FREE, and the others have
 * TELL. Two that copy in one direction have CUT. */
static void rules_follow_what_they_do(void **state)
{
	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 10);
	assert_true(rule(low, UP) == GS_COPY_FIRST && rule(high, DOWN) == GS_COPY_FIRST);
	copy(low, 0, UP, 1, GS_COPY_ENQUEUED);
	grant(1 * MS);
	assert_true(rule(low, UP) == GS_COPY_FREE && rule(low, DOWN) == GS_COPY_FIRST);
	assert_int_equal(rule(high, UP), GS_COPY_TELL);
	assert_int_equal(low->page->copies.chunk_kib[UP], CHUNK_KIB);
	copy(high, 0, DOWN, 1, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_int_equal(rule(low, UP), GS_COPY_FREE); /* the other engine's */
	copy(high, 1, UP, 1, GS_COPY_ENQUEUED);
	grant(1 * MS);
	assert_true(rule(low, UP) == GS_COPY_CUT && rule(high, UP) == GS_COPY_CUT);
	chunks_done(low, 0, 1);
	chunks_done(high, 1, 1);
	grant(2000 * MS); /* what has ended was seen now */
	grant(2000 * MS);
	assert_true(rule(low, UP) == GS_COPY_FIRST && rule(high, UP) == GS_COPY_FIRST);
	all_leave(low, high);
}

/* An allocation's shares are divided among those of its clients that copy in that direction. */
static void clients_of_one_allocation_divide_its_shares(void **state)
{
	struct client *other;

	(void)state;
	begin_two(GS_COPY_POLICY_FAIR, 1);
	other = join(3, 1);
	other->gpu_client->p.alloc = low->gpu_client->p.alloc;
	copy(low, 0, UP, 10, GS_COPY_BEGUN);
	copy(high, 0, UP, 10, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_int_equal(low->gpu_client->copies.copier[UP].shares,
			 high->gpu_client->copies.copier[UP].shares);
	copy(other, 0, UP, 10, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_int_equal(2 * low->gpu_client->copies.copier[UP].shares,
			 high->gpu_client->copies.copier[UP].shares);
	assert_int_equal(other->gpu_client->copies.copier[UP].shares,
			 low->gpu_client->copies.copier[UP].shares);
	all_leave(low, high, other);
}

static void the_barrier_closes_while_the_urgent_one_copies(void **state)
{
	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 10);
	copy(low, 0, UP, 10, GS_COPY_BEGUN);
	copy(high, 0, UP, 1, GS_COPY_ENQUEUED);
	grant(1 * MS);
	assert_int_equal(is_open(low, UP), 1); /* the urgent one may wait for a kernel */
	high->page->copies.run[0].state = GS_COPY_BEGUN;
	assert_true(grant(1 * MS) <= now + 1 * MS);
	assert_true(!is_open(low, UP) && is_open(low, DOWN) && is_open(high, UP));
	assert_true(gs_gpu_wants_polling(gpu, now));
	grant(3 * MS);
	chunks_done(high, 0, 1);
	grant(1 * MS);
	assert_true(is_open(low, UP) && is_open(high, UP));
	assert_int_equal(low->usage.copied[UP].waited_ns, 4 * MS);
	assert_int_equal(high->usage.copied[UP].waited_ns, 0);
	/* The urgent one will copy again, which the arbiter must see at once while there is a copy
	 * to hold back. */
	assert_true(gs_gpu_wants_polling(gpu, now));
	grant(2000 * MS);
	grant(2000 * MS);
	assert_false(gs_gpu_wants_polling(gpu, now));
	all_leave(low, high);
}

static void a_forced_barrier_stays_open(void **state)
{
	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 10);
	low->page->copies.forced = 1;
	copy(low, 0, UP, 10, GS_COPY_BEGUN);
	copy(high, 0, UP, 1, GS_COPY_BEGUN);
	grant(1 * MS);
	grant(1 * MS);
	assert_int_equal(is_open(low, UP), 1);
	low->page->copies.forced = 0;
	grant(1 * MS);
	assert_int_equal(is_open(low, UP), 0);
	all_leave(low, high);
}

static void equals_by_the_chunks_that_are_done(void **state)
{
	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 1);
	copy(low, 0, UP, 100, GS_COPY_BEGUN);
	copy(high, 0, UP, 100, GS_COPY_BEGUN);
	grant(1 * MS);
	chunks_done(low, 0, 4);
	grant(1 * MS);
	assert_true(is_open(low, UP) && is_open(high, UP));
	chunks_done(low, 0, 5); /* 20 MiB ahead */
	grant(1 * MS);
	assert_true(!is_open(low, UP) && is_open(high, UP));
	chunks_done(high, 0, 5);
	grant(1 * MS);
	assert_true(is_open(low, UP) && is_open(high, UP));
	/* A run that is over and another in its place: the rest of the first counts. */
	copy(high, 0, UP, 100, GS_COPY_BEGUN);
	high->page->copies.run[0].state = GS_COPY_NONE;
	grant(1 * MS);
	copy(high, 0, UP, 100, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_true(is_open(low, UP) && !is_open(high, UP));
	all_leave(low, high);
}

static void a_copy_that_goes_nowhere_holds_nobody(void **state)
{
	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 10);
	copy(low, 0, UP, 100, GS_COPY_BEGUN);
	copy(high, 0, UP, 1, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_int_equal(is_open(low, UP), 0);
	for (int ms = 0; ms < 600; ms++)
		grant(1 * MS);
	assert_int_equal(is_open(low, UP), 1);
	all_leave(low, high);
}

/* Its own figures alone suffer. */
static void a_page_that_lies(void **state)
{
	struct gs_copies *lies;

	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 10);
	lies = &high->page->copies;
	copy(low, 0, UP, 100, GS_COPY_BEGUN);
	memset(lies->run, 0xff, sizeof(lies->run));
	grant(1 * MS);
	for (int i = 0; i < GS_COPY_RUNS; i++)
		lies->run[i].way = (uint32_t)i % 3;
	grant(1 * MS);
	for (int i = 0; i < GS_COPY_RUNS; i++) {
		lies->run[i].state = GS_COPY_BEGUN;
		lies->run[i].done = (uint32_t)i;
	}
	lies->made[UP].bytes = UINT64_MAX;
	for (int ms = 0; ms < 3000; ms++)
		grant(1 * MS);
	assert_int_equal(is_open(low, UP), 1);
	all_leave(low, high);
}

static void who_goes_finds_its_barrier_open(void **state)
{
	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 10);
	copy(low, 0, UP, 100, GS_COPY_BEGUN);
	copy(high, 0, UP, 100, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_int_equal(is_open(low, UP), 0);
	gs_gpu_remove(gpu, low->gpu_client, now);
	assert_true(is_open(low, UP) && rule(low, UP) == GS_COPY_FREE);
	low->gpu_client = NULL;
	all_leave(low, high);
}

/* So many that the arbiter does not decide about all: whom it leaves out must not stay behind a
 * barrier that it had closed before. */
static void a_crowd_leaves_nobody_behind_a_barrier(void **state)
{
	struct client *crowd[100];

	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 10);
	copy(low, 0, UP, 100, GS_COPY_BEGUN);
	copy(high, 0, UP, 100, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_int_equal(is_open(low, UP), 0);
	for (size_t i = 0; i < 100; i++) {
		crowd[i] = join(3 + i, 1);
		copy(crowd[i], 0, UP, 1, GS_COPY_ENQUEUED);
	}
	for (int ms = 0; ms < 30; ms++)
		grant(1 * MS);
	assert_int_equal(rule(low, UP), GS_COPY_CUT);
	assert_int_equal(is_open(low, UP), 1);
	for (size_t i = 0; i < 100; i++)
		leave(crowd[i]);
	all_leave(low, high);
}

/* CopyPolicy= becomes no while jobs run. */
static void a_policy_that_ends(void **state)
{
	struct gs_gpu_options o = options_of("piv");
	struct gs_error err;

	(void)state;
	begin_two(GS_COPY_POLICY_PRIORITY, 10);
	copy(low, 0, UP, 100, GS_COPY_BEGUN);
	copy(high, 0, UP, 100, GS_COPY_BEGUN);
	grant(1 * MS);
	assert_int_equal(is_open(low, UP), 0);
	assert_int_equal(gs_gpu_configure(gpu, &o, now, &err), 0);
	grant(1 * MS);
	assert_true(is_open(low, UP) && rule(low, UP) == GS_COPY_FREE &&
		    rule(high, UP) == GS_COPY_FREE);
	all_leave(low, high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_a_policy),
		cmocka_unit_test(who_is_alone_is_free),
		cmocka_unit_test(rules_follow_what_they_do),
		cmocka_unit_test(clients_of_one_allocation_divide_its_shares),
		cmocka_unit_test(the_barrier_closes_while_the_urgent_one_copies),
		cmocka_unit_test(a_forced_barrier_stays_open),
		cmocka_unit_test(equals_by_the_chunks_that_are_done),
		cmocka_unit_test(a_copy_that_goes_nowhere_holds_nobody),
		cmocka_unit_test(a_page_that_lies),
		cmocka_unit_test(who_goes_finds_its_barrier_open),
		cmocka_unit_test(a_crowd_leaves_nobody_behind_a_barrier),
		cmocka_unit_test(a_policy_that_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
