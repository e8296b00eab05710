/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MPS: kernels of a collective (NCCL's all-reduce) have few blocks and may stay on the GPU for
 * long, as they wait for another GPU. Equals do not wait for them to end, since their program may
 * be held back on the other GPU for just these equals (GS_SLOT_FEW).
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpushare/arbiter/gpu_core.h"
#include "sharing_rig.h"

#define FILLS 0u

/* A launch as written, that takes ns by what is known of it. */
static void launch_as(struct client *c, unsigned slot, uint32_t few, uint64_t ns)
{
	launch_leaving(c, slot, AS_IS, 0, ns);
	atomic_fetch_or(&c->page->slot[slot].flags, few);
}

/* After how long the client's launch is on its way; at most `most`. */
static uint64_t waits(struct client *c, unsigned slot, uint64_t most)
{
	uint64_t begin = now;

	while (state(c, slot) == GS_K_READY && now - begin < most) {
		grant(100 * US);
		agent(c);
	}
	return now - begin;
}

/* One has a kernel on the GPU that does not end, and the other one launches long ones. */
static uint64_t beside(uint32_t few, uint64_t ns)
{
	struct client *a, *b;
	uint64_t waited;

	begin_sharing("piv", 1);
	a = join(1, 5);
	b = join(2, 5);
	launch_as(b, 0, FILLS, 10 * MS); /* one of them has long kernels, so they take turns */
	grant(0);
	agent(b);
	launch_as(a, 0, few, ns);
	waits(a, 0, 500 * MS);
	finish(b, 0);
	go(b, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	for (int i = 0; i < 50; i++)
		grant(100 * US);
	launch_as(b, 0, FILLS, 10 * MS);
	waited = waits(b, 0, 500 * MS);
	finish(a, 0);
	all_leave(a, b);
	return waited;
}

static void nobody_waits_for_a_collective(void **unused)
{
	(void)unused;
	assert_in_range(beside(GS_SLOT_FEW, 50 * US), 0, 5 * MS);
	assert_in_range(beside(GS_SLOT_FEW, 20 * MS), 0, 5 * MS);
}

/* Equals take turns because of kernels that take more than half of the multiprocessors. */
static void a_kernel_that_fills_the_gpu_is_waited_for(void **unused)
{
	(void)unused;
	assert_in_range(beside(FILLS, 20 * MS), 15 * MS, 500 * MS);
}

/* Its short kernel has ended, if it ran, and the next one comes. */
static void next_short(struct client *c)
{
	if (state(c, 0) == GS_K_RUNNING)
		finish(c, 0);
	if (state(c, 0) == GS_K_DONE)
		go(c, 0, GS_K_DONE, GS_K_PREP, GS_BY_CLIENT);
	if (state(c, 0) == GS_K_PREP)
		launch_as(c, 0, FILLS, 200 * US);
}

/* One has had a kernel of 20 ms. Of the next twenty times in which both have short kernels: how
 * often have both one on the GPU? */
static unsigned together_after(uint32_t few)
{
	unsigned together = 0;
	struct client *a, *b;

	begin_sharing("rr", 1);
	a = join(1, 5);
	b = join(2, 5);
	launch_as(a, 0, few, 20 * MS);
	for (unsigned i = 0; i < 30; i++) {
		grant(200 * US);
		agent(a);
		agent(b);
		together += i >= 10 && state(a, 0) == GS_K_RUNNING && state(b, 0) == GS_K_RUNNING;
		next_short(a);
		next_short(b);
	}
	all_leave(a, b);
	return together;
}

/* Beside kernels that take long equals take turns at launching for a while. */
static void collectives_are_no_long_kernels(void **unused)
{
	(void)unused;
	assert_in_range(together_after(GS_SLOT_FEW), 15, 20);
	assert_in_range(together_after(FILLS), 0, 5);
}

/* It is no kernel that is stuck, either: nobody is warned of it, or ended for it. */
static void a_collective_is_not_overdue(void **unused)
{
	(void)unused;
	begin_sharing("piv", 1);
	for (int fills = 0; fills < 2; fills++) {
		struct client *low = join(1 + 2 * (uint64_t)fills, 1),
			      *high = join(2 + 2 * (uint64_t)fills, 10);
		uint64_t before = gpu->figures.overdue;

		launch_as(low, 0, fills ? FILLS : GS_SLOT_FEW, 50 * US);
		grant(0);
		agent(low);
		for (unsigned i = 0; i < 400; i++) {
			if (state(high, 0) == GS_K_PREP)
				launch_as(high, 0, FILLS, 200 * US);
			grant(MS);
			agent(high);
		}
		assert_int_equal(gpu->figures.overdue - before, fills);
		finish(low, 0);
		finish(high, 0);
		grant(MS);
		leave(low);
		leave(high);
	}
	all_leave(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits_for_a_collective),
		cmocka_unit_test(a_kernel_that_fills_the_gpu_is_waited_for),
		cmocka_unit_test(collectives_are_no_long_kernels),
		cmocka_unit_test(a_collective_is_not_overdue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
