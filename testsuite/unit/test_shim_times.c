/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which launches of a kernel are timed, and how soon what it takes is known: by its numbers of
 * launches alone. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/shim/kernel/times.h"
#include "gpushare/proto/page.h"

#define US UINT64_C(1000000) /* ps */
#define TASKS 100
#define EVERY 31
#define ALONE_MOST 1023

/* Its launches take in turn what `pattern` says, ps per block-task. */
struct kernel {
	struct shim_time time;
	const uint64_t *pattern;
	size_t period;
	unsigned timed;
	uint32_t beside; /* enum gs_beside of its launches */
	unsigned longer; /* times that what went untracked of it is said to have taken longer */
};

static void launch(struct kernel *k, unsigned launches, int shared)
{
	while (launches--) {
		uint64_t takes = k->pattern[k->time.tracked % k->period];
		enum shim_timed timed = shim_time_take(&k->time, k->time.tracked++,
						       k->time.tpt_ps * TASKS / 1000, shared);

		if (timed == SHIM_UNTIMED ||
		    (k->beside == GS_BESIDE_SLICED && shim_time_is_settled(&k->time)))
			continue;
		k->timed++;
		k->longer += shim_time_learn(&k->time, takes, timed, shared, k->beside) != 0;
	}
}

static unsigned timed_of(struct kernel *k, unsigned launches, int shared)
{
	unsigned before = k->timed;

	launch(k, launches, shared);
	return k->timed - before;
}

static void steady(struct kernel *k, const uint64_t *takes)
{
	k->pattern = takes;
	k->period = 1;
}

static void the_first_four_and_then_one_of_so_many(void **unused)
{
	static const uint64_t takes = US / 100;
	struct kernel k = { .timed = 0 };

	(void)unused;
	steady(&k, &takes);
	assert_int_equal(timed_of(&k, 4, 1), 4);
	assert_int_equal(timed_of(&k, 10 * EVERY, 1), 10);
	assert_in_range(timed_of(&k, 10 * ALONE_MOST, 0), 9, 10);
	/* Who comes has it timed at once. */
	launch(&k, ALONE_MOST / 2, 0);
	assert_int_equal(timed_of(&k, 1, 1), 1);
	assert_int_equal(k.longer, 0);
	assert_in_range(k.time.tpt_ps, takes - 2, takes + 2);
}

/* At two thirds of the way after 34 launches. */
static void one_that_has_changed_is_known_soon(void **unused)
{
	static const uint64_t before = US, after = 4 * US, less = US / 4;
	struct kernel k = { .timed = 0 };

	(void)unused;
	steady(&k, &before);
	launch(&k, 4 + 2 * EVERY, 1);
	steady(&k, &after);
	launch(&k, EVERY + 3, 1);
	assert_true(k.time.tpt_ps > US + 3 * US * 2 / 3);
	assert_true(k.longer >= 1);
	launch(&k, 20 * EVERY, 1);
	steady(&k, &less);
	k.longer = 0;
	launch(&k, EVERY + 3, 1);
	assert_true(k.time.tpt_ps < 4 * US - (4 * US - less) * 2 / 3);
	assert_int_equal(k.longer, 0);
}

/* Those that are timed after a surprise ask for no more: 4 launches of 34. */
static void one_that_is_never_as_its_mean_untracked_most_times(void **unused)
{
	static const uint64_t takes[] = { US, 100 * US };
	struct kernel k = { .pattern = takes, .period = 2 };

	(void)unused;
	launch(&k, 4, 1);
	assert_in_range(timed_of(&k, 34 * 100, 1), 100, 4 * 101);
	assert_in_range(k.time.tpt_ps, 5 * US, 95 * US);
}

/* Alone a surprise that is shorter asks for no more, one that is longer does. */
static void alone_only_what_is_longer_is_looked_into(void **unused)
{
	static const uint64_t before = US / 100, less = US / 1000, after = US / 10;
	struct kernel k = { .timed = 0 };

	(void)unused;
	steady(&k, &before);
	launch(&k, 4 + 3 * ALONE_MOST, 0);
	steady(&k, &less);
	assert_in_range(timed_of(&k, ALONE_MOST + 3, 0), 1, 2);
	assert_true(k.time.tpt_ps > before / 2);
	/* Who comes has the next ones timed, and those that are asked for. */
	launch(&k, EVERY + 1, 0);
	assert_true(timed_of(&k, 5, 1) >= 4);
	assert_true(k.time.tpt_ps < before / 2);
	launch(&k, 20 * ALONE_MOST, 0);
	steady(&k, &after);
	assert_in_range(timed_of(&k, ALONE_MOST + 3, 0), 4, 5);
	assert_true(k.time.tpt_ps > after * 2 / 3);
}

/* Its first launch took 1,000 times as long: that is soon of no matter, also where nobody else uses
 * the GPU. */
static void a_cold_start_is_soon_forgotten(void **unused)
{
	static const uint64_t cold = 100 * US, warm = US / 10;
	struct kernel k = { .timed = 0 };

	(void)unused;
	steady(&k, &cold);
	launch(&k, 1, 0);
	steady(&k, &warm);
	launch(&k, 2 * ALONE_MOST, 0);
	assert_true(k.time.tpt_ps < 10 * warm);
}

static void what_is_forgotten_is_timed_anew(void **unused)
{
	static const uint64_t takes = US;
	struct kernel k = { .timed = 0 };

	(void)unused;
	steady(&k, &takes);
	launch(&k, 4 + EVERY, 0);
	shim_time_forget(&k.time);
	assert_int_equal(k.time.tpt_ps, 0);
	assert_int_equal(timed_of(&k, 3, 0), 3);
}

/* Others' kernels make what is measured longer, never shorter. */
static void what_has_become_longer_beside_others_is_believed_slowly(void **unused)
{
	static const uint64_t short_one = US / 10, long_one = 10 * US;
	struct kernel k = { .pattern = &short_one, .period = 1, .beside = GS_BESIDE_NOBODY };

	(void)unused;
	launch(&k, 10, 1);
	k.beside = GS_BESIDE_TOGETHER;
	launch(&k, 100, 1);
	steady(&k, &long_one);
	launch(&k, 31 * 4, 1);
	assert_in_range(k.time.tpt_ps, US / 10, US / 4);
	launch(&k, 31 * 60, 1);
	assert_in_range(k.time.tpt_ps, 2 * US, 10 * US);
}

static void under_mps_nothing_is_learned_beside_others(void **unused)
{
	static const uint64_t takes = US;
	struct kernel k = { .pattern = &takes, .period = 1, .beside = GS_BESIDE_TOGETHER };

	(void)unused;
	/* Each one is timed, until one tells something. */
	assert_int_equal(timed_of(&k, 100, 1), 100);
	assert_int_equal(k.time.tpt_ps, 0);
	k.beside = GS_BESIDE_NOBODY;
	launch(&k, 1, 1);
	assert_in_range(k.time.tpt_ps, US, US + 1);
}

static void beside_others_the_shortest_counts(void **unused)
{
	static const uint64_t takes[] = { 3 * US, US, 2 * US, 3 * US, US / 2 };
	struct kernel k = { .pattern = takes, .period = 5, .beside = GS_BESIDE_SLICED };

	(void)unused;
	assert_int_equal(timed_of(&k, 1000, 1), 4);
	assert_in_range(k.time.tpt_ps, US, US + 1);
	assert_int_equal(k.longer, 0);
	/* A launch that is not timed goes on without marks, too. */
	assert_false(shim_time_due(&k.time, k.time.tracked, 1));
	k.beside = 0;
	steady(&k, &takes[1]);
	assert_in_range(timed_of(&k, 310, 1), 9, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_four_and_then_one_of_so_many),
		cmocka_unit_test(one_that_has_changed_is_known_soon),
		cmocka_unit_test(one_that_is_never_as_its_mean_untracked_most_times),
		cmocka_unit_test(alone_only_what_is_longer_is_looked_into),
		cmocka_unit_test(a_cold_start_is_soon_forgotten),
		cmocka_unit_test(what_is_forgotten_is_timed_anew),
		cmocka_unit_test(what_has_become_longer_beside_others_is_believed_slowly),
		cmocka_unit_test(under_mps_nothing_is_learned_beside_others),
		cmocka_unit_test(beside_others_the_shortest_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
