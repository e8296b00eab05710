/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Equals that run beside each other on parts of the GPU (arbiter/corun.h), with kernels
 * whose speed depends on their part. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/corun/balance.h"
#include "corun_rig.h"

/* Its step's figures have that it was beside others for at least so long, with that progress. */
static void was_beside(const struct program *p, uint64_t least_ns, double progress_then)
{
	const struct gs_step_usage_beside *is = &p->c->usage.beside;

	assert_true(is->ns >= least_ns);
	assert_true(fabs((double)is->alone_ns / (double)is->ns - progress_then) < 0.1);
}

static void runs_beside_where_it_gains(void **unused)
{
	/* kernels of seconds, of milliseconds, and shorter than the tick's granularity allows */
	static const uint64_t lengths[][2] = { { 2000 * MS, 3000 * MS },
					       { 2 * MS, 5 * MS },
					       { 700 * MS, 1 * MS } };

	(void)unused;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct program p[2];

		begin_corun(4);
		p[0] = program(1, lengths[i][0], 1);
		p[1] = program(2, lengths[i][1], 0.3);
		play(p, 2, 1000 * MS);
		count_anew(p, 2);
		play(p, 2, 4000 * MS);
		assert_true(part_of(&p[0]) + part_of(&p[1]) > 0.99 &&
			    part_of(&p[0]) + part_of(&p[1]) < 1.01);
		/* 0.77 each: one on 0.77 of the GPU, the other one on 0.23, where it is as fast */
		assert_true(progress(&p[0], 4000 * MS) > 0.7);
		assert_true(progress(&p[1], 4000 * MS) > 0.7);
		assert_true(together(2) > 1.4);
		was_beside(&p[0], 3500 * MS, progress(&p[0], 4000 * MS));
		was_beside(&p[1], 3500 * MS, progress(&p[1], 4000 * MS));
		all_leave(p[0].c, p[1].c);
	}
}

static void takes_turns_where_it_does_not(void **unused)
{
	struct program p[2];
	unsigned divided = 0;

	(void)unused;
	begin_corun(4);
	p[0] = program(1, 200 * MS, 1);
	p[1] = program(2, 300 * MS, 1);
	for (int ms = 0; ms < 20000; ms++) {
		play(p, 2, MS);
		divided += part_of(&p[0]) < FULL;
	}
	/* a trial at first, and another one after ten seconds */
	assert_in_range(divided, 2 * 8 * 40, 2 * 8 * 60);
	assert_true(progress(&p[0], 20000 * MS) > 0.45 && progress(&p[1], 20000 * MS) > 0.45);
	all_leave(p[0].c, p[1].c);
}

/* What a program claims to take alone is no matter. */
static void claims_do_not_count(void **unused)
{
	struct program p[2];

	(void)unused;
	for (int i = 0; i < 4; i++) {
		int gains = i & 1;

		begin_corun(4);
		p[0] = program(1, 20 * MS, 1);
		p[1] = program(2, 30 * MS, gains ? 0.3 : 1);
		p[i / 2].claim = 3;
		p[1 - i / 2].claim = 0.5;
		play(p, 2, 1000 * MS);
		count_anew(p, 2);
		play(p, 2, 2000 * MS);
		assert_int_equal(part_of(&p[0]) < FULL, gains);
		for (int k = 0; k < 2; k++)
			assert_true(progress(&p[k], 2000 * MS) > (gains ? 0.7 : 0.4));
		all_leave(p[0].c, p[1].c);
	}
}

/* One that wants to run beside nobody takes turns with the others; they are tried when it goes. */
static void one_does_not_want_to(void **unused)
{
	struct program p[3];

	(void)unused;
	begin_corun(4);
	no_corun = 1;
	p[0] = program(1, 20 * MS, 0.3);
	no_corun = 0;
	p[1] = program(2, 30 * MS, 0.3);
	p[2] = program(3, 10 * MS, 0.3);
	play(p, 3, 3000 * MS);
	together(0);
	for (int i = 0; i < 3; i++)
		assert_true(part_of(&p[i]) == FULL && progress(&p[i], 3000 * MS) > 0.28);
	leave(p[0].c);
	play(&p[1], 2, 2000 * MS);
	assert_true(together(2) > 1.4);
	all_leave(p[1].c, p[2].c);
}

static void progress_goes_by_shares(void **unused)
{
	struct program p[2];

	(void)unused;
	begin_corun(4);
	p[0] = program_with(75, 1, 2000 * MS, 0.5);
	p[1] = program_with(25, 2, 3000 * MS, 0.5);
	play(p, 2, 2000 * MS);
	count_anew(p, 2);
	play(p, 2, 4000 * MS);
	assert_true(progress(&p[0], 4000 * MS) > 0.9);
	assert_true(fabs(progress(&p[0], 4000 * MS) / progress(&p[1], 4000 * MS) - 3) < 0.5);
	all_leave(p[0].c, p[1].c);
}

static void three_and_four(void **unused)
{
	(void)unused;
	for (size_t n = 3; n <= 5; n++) {
		struct program p[5];
		double sum = 0;

		begin_corun(4);
		for (size_t i = 0; i < 5; i++)
			p[i] = program(i + 1, 500 * MS, 0.4);
		play(p, n, 2000 * MS);
		count_anew(p, n);
		play(p, n, 4000 * MS);
		for (size_t i = 0; i < n; i++) {
			sum += progress(&p[i], 4000 * MS);
			assert_true(n > 4 || progress(&p[i], 4000 * MS) > 2.2 / (double)n);
			assert_true((part_of(&p[i]) < FULL) == (n <= 4));
		}
		assert_true(n <= 4 ? sum > 2.3 : sum < 1.01);
		all_leave(p[0].c, p[1].c, p[2].c, p[3].c, p[4].c);
	}
}

/* The others get all of the GPU when one goes, pauses or is stopped. Who comes back gets what it
 * had, without a trial. */
static void who_stays_gets_all(void **unused)
{
	struct program p[2];
	double had;

	(void)unused;
	begin_corun(4);
	p[0] = program(1, 2000 * MS, 0.6);
	p[1] = program(2, 2 * MS, 0.3);
	play(p, 2, 2000 * MS);
	had = part_of(&p[0]);
	assert_true(had < 0.8);
	p[1].idle_until = now + 100 * MS;
	play(p, 2, 30 * MS);
	assert_true(part_of(&p[0]) == FULL && p[0].part == FULL && is_running(&p[0]));
	play(p, 2, 80 * MS);
	assert_true(fabs(part_of(&p[0]) - had) < 0.01 && fabs(p[0].part - had) < 0.01);
	leave(p[1].c);
	play(p, 1, 2 * MS);
	assert_true(part_of(&p[0]) == FULL && p[0].part == FULL && is_running(&p[0]));
	all_leave(p[0].c);
}

/* Kernels that cannot be kept to a part, or whose time is not known. */
static void other_kernels_take_turns(void **unused)
{
	(void)unused;
	for (int how = 0; how < 3; how++) {
		struct program p[2];

		begin_corun(how == 2 ? 0 : 4);
		p[0] = program(1, 2000 * MS, 0.5);
		p[1] = program(2, 30 * MS, 0.3);
		if (how == 0)
			p[1].flags = GS_SLOT_EVICTABLE;
		if (how == 1)
			p[1].alone_ns = 0;
		for (int ms = 0; ms < 1000; ms++) {
			if (how == 1)
				p[1].alone_ns = 0;
			grant(MS);
			agent(p[0].c);
			agent(p[1].c);
			for (int i = 0; i < 2; i++) {
				if (state(p[i].c, 0) == GS_K_TOEVICT)
					evicted(p[i].c, 0, 1);
				launch_again(&p[i]);
			}
			assert_true(part_of(&p[0]) == FULL && part_of(&p[1]) == FULL);
			assert_false(is_running(&p[0]) && is_running(&p[1]));
		}
		all_leave(p[0].c, p[1].c);
	}
}

/* A more urgent one has all of the GPU meanwhile. */
static void the_urgent_one_comes_first(void **unused)
{
	struct program p[3];

	(void)unused;
	begin_corun(4);
	p[0] = program(1, 2000 * MS, 0.6);
	p[1] = program(2, 3000 * MS, 0.3);
	play(p, 2, 2000 * MS);
	p[2] = program(3, 500 * MS, 1);
	gs_gpu_client_priority(p[2].c->gpu_client, 10, 10, now);
	play(p, 3, 5 * MS);
	count_anew(p, 3);
	play(p, 3, 100 * MS);
	assert_true(progress(&p[2], 100 * MS) > 0.99);
	assert_true(p[0].did == 0 && p[1].did == 0);
	all_leave(p[0].c, p[1].c, p[2].c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_beside_where_it_gains),
		cmocka_unit_test(takes_turns_where_it_does_not),
		cmocka_unit_test(claims_do_not_count),
		cmocka_unit_test(one_does_not_want_to),
		cmocka_unit_test(progress_goes_by_shares),
		cmocka_unit_test(three_and_four),
		cmocka_unit_test(who_stays_gets_all),
		cmocka_unit_test(other_kernels_take_turns),
		cmocka_unit_test(the_urgent_one_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
