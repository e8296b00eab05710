/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MemoryAdmission=rbdm: memory that is free is granted at once, and reservations order those who
 * must wait. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/memory/rbdm.h"

/* 100 units of memory; the priorities 1, 2 and 3 need six, three and two operations. */
static struct gs_rbdm *make(enum gs_admission admission, const char *wake)
{
	struct gs_rbdm_options o = {
		.capacity = 100, .priority_sum = 6, .wake = wake, .admission = admission
	};
	struct gs_error err;
	struct gs_rbdm *r = gs_rbdm_create(&o, &err);

	assert_non_null(r);
	return r;
}

static void arrive(struct gs_rbdm *r, uint64_t id, uint32_t priority, uint64_t memory,
		   uint64_t cycle)
{
	assert_int_equal(gs_rbdm_arrive(r, id, priority, memory, cycle, NULL), 0);
}

static uint64_t next(struct gs_rbdm *r, uint64_t cycle)
{
	uint64_t id = 0;

	return gs_rbdm_next(r, cycle, &id) ? id : 0;
}

static enum gs_rbdm_phase phase(const struct gs_rbdm *r, uint64_t id, uint64_t cycle)
{
	struct gs_rbdm_view poll;

	assert_int_equal(gs_rbdm_view(r, id, cycle, &poll), 1);
	return poll.phase;
}

static void free_memory_is_granted_on_arrival(void **state)
{
	struct gs_rbdm *r = make(GS_ADMISSION_RBDM, "hpfw");

	(void)state;
	arrive(r, 1, 1, 60, 7);
	assert_int_equal(next(r, 7), 1);
	arrive(r, 2, 1, 40, 7);
	assert_int_equal(next(r, 7), 2);
	assert_int_equal(gs_rbdm_admitted(r), 100);
	assert_int_equal(gs_rbdm_due(r), UINT64_MAX);
	gs_rbdm_leave(r, 1);
	gs_rbdm_leave(r, 2);
	arrive(r, 3, 1, 100, 7); /* all of it, the lowest priority: the same */
	assert_int_equal(next(r, 7), 3);
	gs_rbdm_destroy(r);
}

static void strict_waits_for_its_operations(void **state)
{
	struct gs_rbdm *r = make(GS_ADMISSION_STRICT, "hpfw");

	(void)state;
	arrive(r, 1, 1, 60, 7);
	for (uint64_t cycle = 7; cycle < 12; cycle++)
		assert_int_equal(next(r, cycle), 0);
	assert_int_equal(gs_rbdm_due(r), 12);
	assert_int_equal(next(r, 12), 1);
	gs_rbdm_destroy(r);
}

/* One that fits does not pass one that does not and has come before: neither while that one
 * reserves nor once it waits. */
static void an_arrival_queues_behind_who_waits(void **state)
{
	struct gs_rbdm *r = make(GS_ADMISSION_RBDM, "hpfw");

	(void)state;
	arrive(r, 1, 1, 60, 0);
	assert_int_equal(next(r, 0), 1);
	arrive(r, 2, 1, 50, 0); /* until cycle 5 */
	assert_int_equal(next(r, 0), 0);
	arrive(r, 3, 1, 30, 1);
	assert_int_equal(next(r, 1), 0);
	assert_int_equal(phase(r, 2, 4), GS_RBDM_RESERVING);
	for (uint64_t cycle = 2; cycle < 20; cycle++)
		assert_int_equal(next(r, cycle), 0);
	assert_int_equal(phase(r, 2, 20), GS_RBDM_WAITING);
	arrive(r, 4, 1, 10, 20);
	assert_int_equal(next(r, 20), 0);
	gs_rbdm_leave(r, 1);
	assert_int_equal(next(r, 20), 2);
	assert_int_equal(next(r, 20), 3);
	assert_int_equal(next(r, 20), 4);
	gs_rbdm_destroy(r);
}

/* Only one waits: it has the memory that is freed in that cycle, however many operations are still
 * to be made. */
static void freed_memory_is_granted_at_once(void **state)
{
	struct gs_rbdm *r = make(GS_ADMISSION_RBDM, "hpfw");

	(void)state;
	arrive(r, 1, 3, 60, 0);
	assert_int_equal(next(r, 0), 1);
	arrive(r, 2, 1, 90, 1);
	assert_int_equal(next(r, 1), 0);
	gs_rbdm_leave(r, 1);
	assert_int_equal(phase(r, 2, 2), GS_RBDM_RESERVING);
	assert_int_equal(next(r, 2), 2);
	arrive(r, 3, 1, 90, 3);
	assert_int_equal(next(r, 3), 0);
	gs_rbdm_leave(r, 3); /* who gives up is in nobody's way */
	arrive(r, 4, 1, 10, 3);
	assert_int_equal(next(r, 3), 4);
	gs_rbdm_destroy(r);
}

/* Several wait: the one goes first whose reservation is, or will be, covered first, as in
 * rbdm-strict. */
static void reservations_order_those_who_wait(void **state)
{
	struct gs_rbdm *r = make(GS_ADMISSION_RBDM, "fifo");

	(void)state;
	arrive(r, 1, 3, 100, 0);
	assert_int_equal(next(r, 0), 1);
	arrive(r, 2, 1, 60, 1);  /* 1 to 6 */
	arrive(r, 3, 3, 60, 2);  /* 2 to 3 */
	arrive(r, 4, 3, 60, 20); /* 20 to 21 */
	assert_int_equal(next(r, 2), 0);
	gs_rbdm_leave(r, 1);
	assert_int_equal(next(r, 2), 3);
	assert_int_equal(next(r, 2), 0);
	gs_rbdm_leave(r, 3);
	assert_int_equal(next(r, 2), 2);
	gs_rbdm_leave(r, 2);
	gs_rbdm_destroy(r);
}

/* Whom the wake-up policy puts first of those whose reservations are covered is tried alone. */
static void the_wake_order_holds(void **state)
{
	struct gs_rbdm *r = make(GS_ADMISSION_RBDM, "hpfw");

	(void)state;
	arrive(r, 1, 3, 60, 0);
	assert_int_equal(next(r, 0), 1);
	arrive(r, 2, 1, 50, 0);
	assert_int_equal(next(r, 10), 0);
	arrive(r, 3, 3, 30, 10); /* covered in cycle 11; from then on it is before 2, and it fits */
	assert_int_equal(next(r, 10), 0);
	assert_int_equal(next(r, 11), 3);
	assert_int_equal(next(r, 11), 0);
	gs_rbdm_leave(r, 1);
	assert_int_equal(next(r, 11), 2);
	gs_rbdm_destroy(r);
}

#define STEPS 400

/* Those that have arrived and are not through. */
static unsigned left_of(const int *there, const int *through, uint64_t *last)
{
	unsigned n = 0;

	for (uint64_t id = 1; id <= STEPS; id++)
		if (there[id] && !through[id]) {
			n++;
			*last = id;
		}
	return n;
}

/*
 * Property, with random steps: one that waits alone does not fit, and under hpfw nobody passes one
 * of the same priority that came before.  Memory in sixths, so that each priority has its number of
 * operations.
 */
static void random_steps(void **state)
{
	static int there[STEPS + 1], through[STEPS + 1];
	static uint64_t memory[STEPS + 1], ends[STEPS + 1];
	static uint32_t priority[STEPS + 1];
	struct gs_rbdm *r = make(GS_ADMISSION_RBDM, "hpfw");
	uint64_t cycle, id, last = 0;
	unsigned at_once = 0, alone = 0;

	(void)state;
	srandom(31);
	for (cycle = 1; cycle <= STEPS || left_of(there, through, &last); cycle++) {
		assert_true(cycle < 100 * STEPS);
		for (id = 1; id <= STEPS; id++)
			if (through[id] && ends[id] == cycle)
				gs_rbdm_leave(r, id);
		if (cycle <= STEPS && random() % 3) {
			there[cycle] = 1;
			priority[cycle] = 1 + (uint32_t)random() % 3;
			memory[cycle] = 6 + 6 * ((uint64_t)random() % 16);
			arrive(r, cycle, priority[cycle], memory[cycle], cycle);
		}
		while ((id = next(r, cycle))) {
			assert_true(gs_rbdm_admitted(r) <= 100);
			for (uint64_t before = 1; before < id; before++)
				if (there[before] && !through[before])
					assert_int_not_equal(priority[before], priority[id]);
			through[id] = 1;
			ends[id] = cycle + 1 + (uint64_t)random() % 3;
			at_once += cycle == id;
		}
		if (left_of(there, through, &last) == 1) {
			assert_true(memory[last] > 100 - gs_rbdm_admitted(r));
			alone++;
		}
	}
	print_message("%u at once; one waited alone in %u of %llu cycles\n", at_once, alone,
		      (unsigned long long)cycle);
	assert_true(at_once > 0 && alone > 0);
	gs_rbdm_destroy(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(free_memory_is_granted_on_arrival),
		cmocka_unit_test(strict_waits_for_its_operations),
		cmocka_unit_test(an_arrival_queues_behind_who_waits),
		cmocka_unit_test(freed_memory_is_granted_at_once),
		cmocka_unit_test(reservations_order_those_who_wait),
		cmocka_unit_test(the_wake_order_holds),
		cmocka_unit_test(random_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
