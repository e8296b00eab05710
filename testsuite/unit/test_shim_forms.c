/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which form a kernel goes out in: by what its two forms took. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/shim/forms.h"

#define US 1000u
#define TASKS 1000

/* A kernel whose launches take so long in each form, and one more each time that it is launched. */
struct kernel {
	struct shim_time time;
	struct shim_forms forms;
	uint64_t ns[2];
	uint64_t creeps;
	unsigned launches[2], timed;
};

static void launch(struct kernel *k, unsigned launches)
{
	while (launches--) {
		uint64_t n = k->time.marked++, ps = k->time.tpt_ps * TASKS;
		enum shim_timed timed = shim_time_take(&k->time, n, ps / 1000, 0);
		struct shim_trial trial = { 0, 0 };
		enum shim_form form = ps ? SHIM_AS_WRITTEN : SHIM_AS_TWIN;

		if (shim_form_counts(&k->time, ps))
			form = shim_form_of(&k->forms, &k->time, timed != SHIM_UNTIMED, &trial);
		k->launches[form]++;
		k->timed += timed != SHIM_UNTIMED;
		if (timed == SHIM_UNTIMED)
			continue;
		if (shim_form_is_usual(&k->time, form, trial))
			shim_time_learn(&k->time, k->ns[form] * 1000 / TASKS, timed, 0, 0);
		shim_form_note(&k->forms, &k->time, form, trial, TASKS, k->ns[form]);
		k->ns[SHIM_AS_WRITTEN] += k->creeps;
		k->ns[SHIM_AS_TWIN] += k->creeps;
	}
}

static void the_better_one_is_soon_known(void **unused)
{
	struct kernel k = { .ns = { 320 * US, 180 * US } };

	(void)unused;
	launch(&k, 20);
	assert_int_equal(k.time.twin, 1);
	assert_in_range(k.time.tpt_ps, 180000 * US / TASKS, 180000 * US / TASKS + 2);
	/* And so they go, but for one in many, which sees whether that is still so. */
	k.launches[SHIM_AS_WRITTEN] = 0;
	launch(&k, 10000);
	assert_in_range(k.launches[SHIM_AS_WRITTEN], 1, 4);
	assert_in_range(k.time.tpt_ps, 180000 * US / TASKS, 180000 * US / TASKS + 2);
}

static void what_takes_longer_so_stays_as_it_is(void **unused)
{
	struct kernel k = { .ns = { 440 * US, 610 * US } };

	(void)unused;
	launch(&k, 20);
	k.launches[SHIM_AS_TWIN] = 0;
	launch(&k, 10000);
	assert_int_equal(k.time.twin, 0);
	assert_in_range(k.launches[SHIM_AS_TWIN], 1, 10);
	assert_in_range(k.time.tpt_ps, 430000 * US / TASKS, 450000 * US / TASKS);
}

/* What a twin costs beside, and what one launch differs from the next by, must not decide. */
static void a_little_is_not_better(void **unused)
{
	struct kernel k = { .ns = { 320 * US, 308 * US } }, longer = { .ns = { 2000 * US, 1960 * US } };
	struct kernel noisy = { .ns = { 320 * US, 305 * US }, .creeps = 30 * US };

	(void)unused;
	launch(&k, 1000);
	assert_int_equal(k.time.twin, 0);
	launch(&longer, 1000);
	assert_int_equal(longer.time.twin, 0);
	launch(&noisy, 1000);
	assert_int_equal(noisy.time.twin, 0);
}

/* A kernel whose work changes may be better off the other way. */
static void what_is_better_may_change(void **unused)
{
	struct kernel k = { .ns = { 320 * US, 180 * US } };

	(void)unused;
	launch(&k, 20);
	assert_int_equal(k.time.twin, 1);
	k.ns[SHIM_AS_TWIN] = 600 * US;
	k.ns[SHIM_AS_WRITTEN] = 400 * US;
	launch(&k, 20000);
	assert_int_equal(k.time.twin, 0);
	assert_in_range(k.time.tpt_ps, 390000 * US / TASKS, 410000 * US / TASKS);
	k.ns[SHIM_AS_TWIN] = 100 * US;
	launch(&k, 50000);
	assert_int_equal(k.time.twin, 1);
}

/* Its twin is not launched for the sake of larger launches of its shape; those have it. */
static void what_has_become_short_rides(void **unused)
{
	struct kernel k = { .ns = { 320 * US, 180 * US } };

	(void)unused;
	launch(&k, 20);
	assert_int_equal(k.time.twin, 1);
	assert_true(shim_form_counts(&k.time, 60 * US * UINT64_C(1000)));
	assert_false(shim_form_counts(&k.time, 40 * US * UINT64_C(1000)));
	k.ns[SHIM_AS_WRITTEN] = k.ns[SHIM_AS_TWIN] = 5 * US;
	launch(&k, 10000);
	k.launches[SHIM_AS_TWIN] = 0;
	launch(&k, 10000);
	assert_int_equal(k.launches[SHIM_AS_TWIN], 0);
}

/* As it was written it takes more than the least that is tried, its twin less. */
static void a_twin_may_take_little(void **unused)
{
	struct kernel k = { .ns = { 150 * US, 70 * US } };

	(void)unused;
	launch(&k, 20);
	assert_int_equal(k.time.twin, 1);
	k.launches[SHIM_AS_WRITTEN] = 0;
	launch(&k, 1000);
	assert_in_range(k.launches[SHIM_AS_WRITTEN], 0, 2);
}

/* Timing a launch costs its thread more than launching it. */
static void few_are_timed_for_it(void **unused)
{
	struct kernel k = { .ns = { 320 * US, 180 * US } };

	(void)unused;
	launch(&k, 30);
	assert_in_range(k.timed, 8, 16);
	launch(&k, 10000);
	assert_in_range(k.timed, 8, 16 + 2 * 10000 / 127);
	/* Where none of them goes out in either form it is asked for once. */
	k = (struct kernel){ .ns = { 0 } };
	for (int i = 0; i < 100; i++)
		shim_form_note(&k.forms, &k.time, SHIM_AS_TWIN, (struct shim_trial){ 0, 0 }, TASKS, 5000 * US);
	assert_int_equal(k.time.again, 2 * SHIM_FORM_PAIRS);
	k.time.again = 0;
	shim_form_note(&k.forms, &k.time, SHIM_AS_TWIN, (struct shim_trial){ 0, 0 }, TASKS, 5000 * US);
	assert_int_equal(k.time.again, 0);
}

/* Times of other sizes are not compared, nor those of two pairs, nor two of one form; whoever is over first. */
static void pairs_are_compared(void **unused)
{
	static const struct shim_trial one = { 1, 1 }, two = { 1, 2 }, other = { 1, 1 + SHIM_FORM_PAIRS };
	struct kernel k = { .ns = { 0 } };

	(void)unused;
	for (int i = 0; i < 10; i++) {
		shim_form_note(&k.forms, &k.time, SHIM_AS_WRITTEN, one, 1000, 500 * US);
		shim_form_note(&k.forms, &k.time, SHIM_AS_TWIN, one, 500, 250 * US);
		shim_form_note(&k.forms, &k.time, SHIM_AS_WRITTEN, other, 500, 500 * US);
		shim_form_note(&k.forms, &k.time, SHIM_AS_WRITTEN, other, 500, 500 * US);
		shim_form_note(&k.forms, &k.time, SHIM_AS_TWIN, one, 500, 250 * US);
	}
	assert_int_equal(k.forms.votes, 0);
	for (int i = 0; i < SHIM_FORM_PAIRS / 2; i++) {
		assert_int_equal(k.time.twin, 0);
		shim_form_note(&k.forms, &k.time, SHIM_AS_TWIN, other, 500, 200 * US);
		shim_form_note(&k.forms, &k.time, SHIM_AS_WRITTEN, two, 500, 250 * US);
		shim_form_note(&k.forms, &k.time, SHIM_AS_WRITTEN, other, 500, 250 * US);
		shim_form_note(&k.forms, &k.time, SHIM_AS_TWIN, two, 500, 200 * US);
	}
	assert_int_equal(k.time.twin, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_better_one_is_soon_known),
		cmocka_unit_test(what_takes_longer_so_stays_as_it_is),
		cmocka_unit_test(a_little_is_not_better),
		cmocka_unit_test(what_is_better_may_change),
		cmocka_unit_test(what_has_become_short_rides),
		cmocka_unit_test(a_twin_may_take_little),
		cmocka_unit_test(few_are_timed_for_it),
		cmocka_unit_test(pairs_are_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
