/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose memory is taken back: fewest, lowest priority, within the host's bound. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/memory/victims.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define PLENTY MIB(1 << 20)

static void one_of_the_lowest_priority(void **state)
{
	struct gs_victim c[] = {
		{ 1, 5, MIB(400), MIB(400) }, { 2, 1, MIB(300), MIB(300) },
		{ 3, 1, MIB(100), MIB(1) },   { 4, 1, MIB(350), MIB(350) },
		{ 5, 9, MIB(900), 0 },
	};
	struct gs_error err;

	(void)state;
	/* 2 and 4 would do, 3 would not; 2 has less to move. */
	assert_int_equal(gs_victims_choose(c, 5, 9, MIB(250), PLENTY, &err), 1);
	assert_int_equal(c[0].id, 2);
	/* Only 1 is large enough: one of a higher priority rather than two. */
	assert_int_equal(gs_victims_choose(c, 5, 9, MIB(390), PLENTY, &err), 1);
	assert_int_equal(c[0].id, 1);
}

static void the_fewest_when_it_takes_several(void **state)
{
	struct gs_victim c[] = {
		{ 1, 1, MIB(100), MIB(100) },
		{ 2, 2, MIB(200), MIB(200) },
		{ 3, 1, MIB(150), MIB(150) },
		{ 4, 3, MIB(200), MIB(200) },
	};
	struct gs_error err;
	uint64_t ids;

	(void)state;
	assert_int_equal(gs_victims_choose(c, 4, 10, MIB(250), PLENTY, &err), 2);
	ids = c[0].id | c[1].id << 8;
	/* {1, 3}, both of priority 1, make 250. */
	assert_true(ids == (1 | 3 << 8) || ids == (3 | 1 << 8));
	assert_int_equal(gs_victims_choose(c, 4, 10, MIB(400), PLENTY, &err), 2);
	ids = c[0].id | c[1].id << 8;
	assert_true(ids == (2 | 4 << 8) || ids == (4 | 2 << 8));
	assert_int_equal(gs_victims_choose(c, 4, 10, MIB(650), PLENTY, &err), 4);
}

static void refused(struct gs_victim *c, size_t n, int32_t priority, uint64_t need, uint64_t host,
		    const char *why)
{
	struct gs_error err = { "" };

	assert_int_equal(gs_victims_choose(c, n, priority, need, host, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
}

static void refusals_say_why(void **state)
{
	struct gs_victim c[] = { { 1, 3, MIB(300), MIB(290) }, { 2, 3, MIB(100), MIB(90) } };

	(void)state;
	refused(c, 2, 3, MIB(10), PLENTY, "no step of lower priority");
	refused(c, 0, 3, MIB(10), PLENTY, "no step of lower priority");
	refused(c, 2, 4, MIB(401), PLENTY, "400 of the 401 MiB");
	refused(c, 2, 4, MIB(300), MIB(100), "MemoryPreemptHostLimit");
	refused(c, 2, 4, MIB(400), MIB(300), "MemoryPreemptHostLimit");
}

/* Against all subsets. */
static void as_few_as_any_choice(void **state)
{
	unsigned chosen = 0;

	(void)state;
	srand(1);
	for (int round = 0; round < 2000; round++) {
		struct gs_victim c[6], was[6];
		uint64_t need = MIB(1 + rand() % 60);
		int best = -1, got;
		struct gs_error err;

		for (int i = 0; i < 6; i++)
			c[i] = (struct gs_victim) { (uint64_t)i + 1, rand() % 4,
						    MIB(1 + rand() % 20), 0 };
		memcpy(was, c, sizeof(was));
		for (unsigned set = 1; set < 64; set++) {
			uint64_t freed = 0;
			int size = 0, fits = 1;

			for (int i = 0; i < 6; i++)
				if (set >> i & 1) {
					freed += was[i].bytes;
					size++;
					fits &= was[i].priority < 3;
				}
			if (fits && freed >= need && (best < 0 || size < best))
				best = size;
		}
		got = gs_victims_choose(c, 6, 3, need, PLENTY, &err);
		assert_int_equal(got, best);
		for (int i = 0; i < got; i++) {
			assert_true(c[i].priority < 3);
			need -= c[i].bytes < need ? c[i].bytes : need;
		}
		assert_true(got < 0 || need == 0);
		chosen += got > 0;
	}
	assert_true(chosen > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_the_lowest_priority),
		cmocka_unit_test(the_fewest_when_it_takes_several),
		cmocka_unit_test(refusals_say_why),
		cmocka_unit_test(as_few_as_any_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
