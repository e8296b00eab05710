/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Admission by reservation (RBDM): operations, wake-up orders, ageing; see test_rbdm_sim.c for its
 * Table 2. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/memory/rbdm.h"

static struct gs_rbdm *make_as(enum gs_admission admission, const char *wake, uint64_t capacity,
			       uint64_t age)
{
	struct gs_rbdm_options o = { .capacity = capacity,
				     .priority_sum = 6,
				     .wake = wake,
				     .age_cycles = age,
				     .admission = admission };
	struct gs_error err;
	struct gs_rbdm *r = gs_rbdm_create(&o, &err);

	assert_non_null(r);
	return r;
}

/* The paper's. */
static struct gs_rbdm *make(const char *wake, uint64_t capacity, uint64_t age)
{
	return make_as(GS_ADMISSION_STRICT, wake, capacity, age);
}

static void arrive(struct gs_rbdm *r, uint64_t id, uint32_t priority, uint64_t memory,
		   uint64_t cycle)
{
	assert_int_equal(gs_rbdm_arrive(r, id, priority, memory, cycle, NULL), 0);
}

static void expect(struct gs_rbdm *r, uint64_t cycle, uint64_t want)
{
	uint64_t id = 0;

	if (gs_rbdm_next(r, cycle, &id) == 0)
		id = 0;
	assert_int_equal(id, want);
}

/* Table 1: 2, 3 and 6 operations for high, middle and low. */
static void operations(void **state)
{
	(void)state;
	assert_int_equal(gs_rbdm_operations(600, gs_rbdm_rm(600, 3, 6)), 2);
	assert_int_equal(gs_rbdm_operations(600, gs_rbdm_rm(600, 2, 6)), 3);
	assert_int_equal(gs_rbdm_operations(600, gs_rbdm_rm(600, 1, 6)), 6);
	/* Truncated, so that one operation more is needed. */
	assert_int_equal(gs_rbdm_rm(3421, 1, 6), 570);
	assert_int_equal(gs_rbdm_operations(3421, 570), 7);
	assert_int_equal(gs_rbdm_rm(1, 1, 6), 1);
	assert_int_equal(gs_rbdm_rm(UINT64_MAX, 6, 6), UINT64_MAX);
}

static void bad_arguments(void **state)
{
	struct gs_rbdm_options o = { .capacity = 1, .priority_sum = 6, .wake = "lottery" };
	struct gs_rbdm *r = make("fifo", 100, 0);
	struct gs_error err;

	(void)state;
	assert_null(gs_rbdm_create(&o, &err));
	assert_string_equal(err.text,
			    "'lottery' is not a wake-up policy: choose one of fifo hpfw smhpfw");
	o.wake = "fifo";
	o.capacity = 0;
	assert_null(gs_rbdm_create(&o, &err));
	assert_int_equal(gs_rbdm_arrive(r, 1, 1, 101, 0, &err), -1);
	assert_int_equal(gs_rbdm_arrive(r, 1, 0, 1, 0, &err), -1);
	assert_int_equal(gs_rbdm_arrive(r, 1, 1, 0, 0, &err), -1);
	arrive(r, 1, 1, 1, 0);
	assert_int_equal(gs_rbdm_arrive(r, 1, 1, 1, 0, &err), -1);
	gs_rbdm_leave(r, 77);
	gs_rbdm_destroy(r);
	gs_rbdm_destroy(NULL);
}

static void the_first_in_line_blocks_the_others(void **state)
{
	struct gs_rbdm *r = make("fifo", 100, 0);

	(void)state;
	arrive(r, 1, 3, 60, 0);
	arrive(r, 2, 3, 60, 0);
	arrive(r, 3, 3, 10, 0);
	assert_int_equal(gs_rbdm_due(r), 1);
	expect(r, 0, 0);
	expect(r, 1, 1);
	expect(r, 1, 0);
	assert_int_equal(gs_rbdm_waiting(r), 2);
	assert_int_equal(gs_rbdm_admitted(r), 60);
	assert_int_equal(gs_rbdm_due(r), UINT64_MAX);
	gs_rbdm_leave(r, 1);
	expect(r, 2, 2);
	expect(r, 2, 3);
	gs_rbdm_leave(r, 3);
	gs_rbdm_leave(r, 2);
	assert_int_equal(gs_rbdm_admitted(r), 0);
	gs_rbdm_destroy(r);
}

/* Three wait, as in Figures 2 and 5; in which order are they woken? */
static void wake_up_orders(void **state)
{
	static const struct {
		const char *wake;
		uint64_t order[4];
	} want[] = {
		{ "fifo", { 1, 2, 3, 4 } },
		{ "hpfw", { 2, 4, 1, 3 } },
		{ "smhpfw", { 4, 2, 3, 1 } },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct gs_rbdm *r = make(want[i].wake, 100, 0);

		arrive(r, 9, 3, 100, 0);
		expect(r, 1, 9);
		arrive(r, 1, 1, 90, 1);
		arrive(r, 2, 2, 80, 5);
		arrive(r, 3, 1, 70, 6);
		arrive(r, 4, 2, 60, 12);
		for (uint64_t cycle = 2; cycle < 30; cycle++)
			expect(r, cycle, 0);
		assert_int_equal(gs_rbdm_waiting(r), 4);
		gs_rbdm_leave(r, 9);
		for (int k = 0; k < 4; k++) {
			expect(r, 30, want[i].order[k]);
			expect(r, 30, 0);
			gs_rbdm_leave(r, want[i].order[k]);
		}
		gs_rbdm_destroy(r);
	}
}

/*
 * A small step arrives in every cycle and runs for three: more than fit, so
 * one always waits.  When is a big one through?  0: not in 500 cycles.
 */
static uint64_t big_is_through(enum gs_admission admission, const char *wake, uint64_t age)
{
	struct gs_rbdm *r = make_as(admission, wake, 100, age);
	uint64_t started[600] = { 0 }, through = 0, id;

	arrive(r, 598, 6, 60, 0);
	expect(r, 0, 598);
	arrive(r, 599, 3, 90, 0);
	for (uint64_t cycle = 1; cycle < 500 && !through; cycle++) {
		arrive(r, cycle, 3, 40, cycle - 1);
		for (uint64_t k = 1; k < 600; k++)
			if ((started[k] && cycle - started[k] == 3) || (k == 598 && cycle == 3))
				gs_rbdm_leave(r, k);
		while (gs_rbdm_next(r, cycle, &id)) {
			started[id] = cycle;
			if (id == 599)
				through = cycle;
		}
		assert_true(gs_rbdm_admitted(r) <= 100);
	}
	gs_rbdm_destroy(r);
	return through;
}

static void ageing_helps_the_big(void **state)
{
	(void)state;
	for (int i = GS_ADMISSION_RBDM; i <= GS_ADMISSION_STRICT; i++) {
		enum gs_admission as = (enum gs_admission)i;

		/* Of equal priority the big one came first: hpfw lets it through as fifo does. */
		assert_in_range(big_is_through(as, "fifo", 0), 1, 5);
		assert_in_range(big_is_through(as, "hpfw", 0), 1, 5);
		assert_int_equal(big_is_through(as, "smhpfw", 0), 0);
		assert_in_range(big_is_through(as, "smhpfw", 50), 51, 55);
	}
}

/*
 * Property: whoever has waited for the bound goes before all who began to wait
 * later, so that what is ahead of it only gets less.  More small steps of high
 * priority arrive than fit: without the bound no big one gets through.
 */
static unsigned big_ones_through(enum gs_admission admission, uint64_t bound, unsigned seed)
{
	enum { CYCLES = 400 };
	static uint64_t memory[CYCLES + 1], ends[CYCLES + 1];
	struct gs_rbdm *r = make_as(admission, "smhpfw", 100, bound);
	struct gs_rbdm_view poll, other;
	unsigned through = 0;
	uint64_t id;

	srandom(seed);
	memset(ends, 0, sizeof(ends));
	for (uint64_t cycle = 1; cycle <= CYCLES; cycle++) {
		int big = cycle > 50 && random() % 9 == 0;

		for (id = 1; id < cycle; id++)
			if (ends[id] == cycle)
				gs_rbdm_leave(r, id);
		memory[cycle] = big ? 60 + (uint64_t)random() % 41 : 20 + (uint64_t)random() % 11;
		arrive(r, cycle, big ? 1 : 3, memory[cycle], cycle);
		while (gs_rbdm_next(r, cycle, &id)) {
			ends[id] = cycle + 1 + (uint64_t)random() % 10;
			through += memory[id] >= 60;
			assert_true(gs_rbdm_admitted(r) <= 100);
			assert_int_equal(gs_rbdm_view(r, id, cycle, &poll), 1);
			for (uint64_t k = 1; bound && k <= cycle; k++)
				if (gs_rbdm_view(r, k, cycle, &other) &&
				    other.phase == GS_RBDM_WAITING && cycle - other.since >= bound)
					assert_true(poll.since <= other.since);
		}
	}
	gs_rbdm_destroy(r);
	return through;
}

static void nobody_starves(void **state)
{
	(void)state;
	for (int i = GS_ADMISSION_RBDM; i <= GS_ADMISSION_STRICT; i++) {
		unsigned without = 0, with = 0;

		for (unsigned seed = 1; seed <= 10; seed++) {
			without += big_ones_through((enum gs_admission)i, 0, seed);
			with += big_ones_through((enum gs_admission)i, 40, seed);
		}
		print_message("big ones through: %u without a bound, %u with\n", without, with);
		assert_int_equal(without, 0);
		assert_true(with >= 10);
	}
}

/* What the daemon asks between the cycles: how a step stands, and new settings. */
static void looks_and_settings(void **state)
{
	struct gs_rbdm_options o = {
		.capacity = 1, .priority_sum = 6, .wake = "fifo", .admission = GS_ADMISSION_STRICT
	};
	struct gs_rbdm *r = make("hpfw", 100, 0);
	struct gs_rbdm_view poll;
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_rbdm_view(r, 1, 0, &poll), 0);
	assert_int_equal(gs_rbdm_adopt(r, 1, 3, 80, &err), 0);
	assert_int_equal(gs_rbdm_adopt(r, 9, 3, 21, &err), -1); /* not with what 1 has */
	assert_int_equal(gs_rbdm_view(r, 1, 5, &poll), 1);
	assert_int_equal(poll.phase, GS_RBDM_ADMITTED);
	arrive(r, 2, 1, 60, 10); /* six operations of 10 */
	assert_int_equal(gs_rbdm_view(r, 2, 12, &poll), 1);
	assert_int_equal(poll.phase, GS_RBDM_RESERVING);
	assert_int_equal(poll.operations, 6);
	assert_int_equal(poll.done, 3);
	assert_int_equal(poll.rm, 10);
	expect(r, 15, 0);
	arrive(r, 3, 3, 60, 16); /* two operations */
	expect(r, 17, 0);
	assert_int_equal(gs_rbdm_view(r, 2, 17, &poll), 1);
	assert_int_equal(poll.phase, GS_RBDM_WAITING);
	assert_int_equal(poll.place, 2); /* hpfw: 3 goes before it */
	gs_rbdm_prioritise(r, 2, 4);
	assert_int_equal(gs_rbdm_view(r, 2, 17, &poll), 1);
	assert_int_equal(poll.place, 1);
	gs_rbdm_prioritise(r, 2, 1);
	assert_int_equal(gs_rbdm_configure(r, &o, 18, &err), 0); /* fifo; the capacity stays */
	assert_int_equal(gs_rbdm_view(r, 2, 18, &poll), 1);
	assert_int_equal(poll.place, 1);
	o.wake = "none-such";
	assert_int_equal(gs_rbdm_configure(r, &o, 18, &err), -1);
	arrive(r, 4, 1, 6, 20);
	o.wake = "fifo";
	o.admission = GS_ADMISSION_FCFS;
	assert_int_equal(gs_rbdm_configure(r, &o, 20, &err), 0);
	gs_rbdm_leave(r, 1);
	expect(r, 20, 2);
	gs_rbdm_leave(r, 2);
	expect(r, 20, 3);
	expect(r, 20, 4); /* covered at once */
	gs_rbdm_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(the_first_in_line_blocks_the_others),
		cmocka_unit_test(wake_up_orders),
		cmocka_unit_test(ageing_helps_the_big),
		cmocka_unit_test(nobody_starves),
		cmocka_unit_test(looks_and_settings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
