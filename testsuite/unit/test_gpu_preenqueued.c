/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches that wait in their streams for their turn (GS_SLOT_PREENQUEUED), as the daemon has them.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu_rig.h"

static struct client *low, *high;

static void begin_pair(void)
{
	struct gs_gpu_options o = options_of("piv");

	o.overlap_ns = 8 * US;
	o.preenqueue = 1;
	begin_with(&o);
	low = join(1, 1);
	high = join(2, 10);
}

/* A long kernel, of short block-tasks. */
static void low_computes(void)
{
	launch(low, 0, 1000, 1);
	gs_page_store(low->page->slot[0].leave_ns, 50 * US);
	grant(0);
	agent(low);
}

static void high_waits_in_its_stream(void)
{
	launch(high, 0, 10, 1);
	atomic_fetch_or(&high->page->slot[0].flags, GS_SLOT_PREENQUEUED);
}

/* What waits in its stream goes when nobody is there any more, and not before; by the daemon's
 * hand, once. */
static void test_preenqueued(void **unused)
{
	struct gs_slot *slot;

	(void)unused;
	begin_pair();
	slot = &high->page->slot[0];
	assert_int_equal(gs_page_load(high->page->preenqueue), 0);
	low_computes();
	grant(0);
	assert_int_equal(gs_page_load(high->page->preenqueue), 1);
	assert_int_equal(gs_page_load(low->page->preenqueue), 0);
	high_waits_in_its_stream();
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	agent(low);
	grant(45 * US);
	grant(10 * US);
	assert_false(has_turn(high));
	evicted(low, 0, 400);
	grant(1 * US);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_RUNNING);
	assert_false(gs_page_load(slot->flags) & GS_SLOT_PREENQUEUED);
	gs_page_store(slot->started, 1);
	grant(1 * US);
	assert_int_equal(gs_page_load(low->page->preenqueue), 1);
	assert_int_equal(gs_page_load(high->page->preenqueue), 0);
	/* Back in READY it is as any other. */
	assert_true(gs_slot_move(slot, GS_K_RUNNING, GS_K_READY));
	gs_gpu_doorbell(high->gpu_client);
	grant(1 * US);
	assert_int_equal(state(high, 0), GS_K_TORUN);
	all_leave(low, high);
}

/* One of two is not in its stream yet: its way to the GPU passes in the meantime. */
static void test_preenqueued_in_part(void **unused)
{
	(void)unused;
	begin_pair();
	low_computes();
	launch(high, 0, 10, 1);
	launch(high, 1, 10, 1);
	atomic_fetch_or(&high->page->slot[0].flags, GS_SLOT_PREENQUEUED);
	grant(1 * MS);
	agent(low);
	grant(45 * US);
	assert_true(has_turn(high));
	assert_int_equal(state(high, 0), GS_K_RUNNING);
	assert_int_equal(state(high, 1), GS_K_TORUN);
	all_leave(low, high);
}

/* What has not begun is in nobody's way, however long its client takes to hear. */
static void test_preenqueued_behind_what_has_not_begun(void **unused)
{
	(void)unused;
	begin_pair();
	prepare(low, 0, 1000, 1);
	go(low, 0, GS_K_PREP, GS_K_READY, GS_BY_CLIENT);
	gs_gpu_doorbell(low->gpu_client);
	grant(0);
	go(low, 0, GS_K_TORUN, GS_K_RUNNING, GS_BY_CLIENT);
	grant(1 * US);
	high_waits_in_its_stream();
	grant(1 * MS);
	assert_int_equal(state(low, 0), GS_K_TOEVICT);
	grant(1 * MS);
	assert_true(has_turn(high));
	all_leave(low, high);
}

/* It says that it leaves in 50 us, and does not: it is not waited for until EvictDeadline. */
static void test_preenqueued_behind_one_that_stays(void **unused)
{
	(void)unused;
	begin_pair();
	low_computes();
	grant(0);
	high_waits_in_its_stream();
	grant(1 * MS);
	agent(low);
	grant(1 * MS);
	assert_false(has_turn(high));
	grant(1 * MS);
	grant(1 * MS);
	assert_true(has_turn(high));
	all_leave(low, high);
}

/* What has been marked as started may be behind a wait, too: of one who never has the time slice
 * meanwhile it would never end. */
static void test_kernel_behind_an_preenqueued_one(void **unused)
{
	(void)unused;
	begin_pair();
	launch(low, 0, 1, 0);
	grant(0);
	agent(low);
	gs_page_store(low->page->slot[0].alone_ns, 5 * MS);
	launch(high, 0, 10, 1);
	grant(1 * MS);
	assert_int_equal(has_turn(low), 0);
	launch(low, 1, 10, 1);
	atomic_fetch_or(&low->page->slot[1].flags, GS_SLOT_PREENQUEUED);
	agent(low);
	grant(29 * MS);
	assert_false(has_turn(high));
	grant(2 * MS);
	assert_true(has_turn(high));
	all_leave(low, high);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preenqueued),
		cmocka_unit_test(test_preenqueued_in_part),
		cmocka_unit_test(test_preenqueued_behind_what_has_not_begun),
		cmocka_unit_test(test_preenqueued_behind_one_that_stays),
		cmocka_unit_test(test_kernel_behind_an_preenqueued_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
