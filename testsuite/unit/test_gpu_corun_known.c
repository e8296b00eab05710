/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of those that were tried beside each other on parts of the GPU
 * (arbiter/corun_known.h), and for whom it holds. */
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

#include "corun_rig.h"

/* A more urgent one comes for 5 of every 100 ms, so many times. */
static void interrupt(struct program p[3], int times)
{
	p[2] = program(9, 5 * MS, 1);
	gs_gpu_client_priority(p[2].c->gpu_client, 10, 10, now);
	for (int i = 0; i < times; i++) {
		p[2].idle_until = now + 95 * MS;
		play(p, 3, 100 * MS);
	}
}

/* What cuts trials short does not keep one of them from the GPU. */
static void cut_short_again_and_again(void **unused)
{
	struct program p[3];

	(void)unused;
	begin_corun(4);
	p[0] = program(1, 200 * MS, 1);
	p[1] = program(2, 300 * MS, 0.3);
	interrupt(p, 60);
	assert_true(progress(&p[0], 6000 * MS) > 0.35 && progress(&p[1], 6000 * MS) > 0.35);
	all_leave(p[0].c, p[1].c, p[2].c);
}

/* Nor does what interrupts those that gain, before any epoch of theirs has ended: they are not
 * tried again for a while. */
static void interrupted_again_and_again(void **unused)
{
	struct program p[3];

	(void)unused;
	begin_corun(4);
	p[0] = program(1, 200 * MS, 1);
	p[1] = program(2, 300 * MS, 0.3);
	play(p, 2, 2000 * MS);
	assert_true(together(2) > 1.4);
	interrupt(p, 10);
	leave(p[2].c);
	play(p, 2, 1000 * MS);
	together(0);
	play(p, 2, 12000 * MS);
	assert_true(together(2) > 1.4);
	all_leave(p[0].c, p[1].c);
}

/* The next jobs with the same programs stay beside each other without a trial, or take turns
 * without one, whichever comes first. */
static void the_programs_are_known(void **unused)
{
	(void)unused;
	for (int gains = 0; gains < 2; gains++) {
		double enough = gains ? 0.3 : 1;
		struct program p[2];
		unsigned divided = 0;

		begin_corun(4);
		p[0] = of_program(71, 1, 200 * MS, 1);
		p[1] = of_program(72, 2, 300 * MS, enough);
		play(p, 2, 2000 * MS);
		assert_int_equal(part_of(&p[0]) < FULL, gains);
		leave(p[0].c);
		leave(p[1].c);
		grant(500 * MS);
		p[1] = of_program(72, 3, 300 * MS, enough);
		p[0] = of_program(71, 4, 200 * MS, 1);
		/* in 0.4 s there is no room for two epochs alone and a trial, but for the first */
		for (int ms = 0; ms < 400; ms++) {
			play(p, 2, MS);
			divided += part_of(&p[0]) < FULL;
		}
		if (gains)
			assert_true(divided > 200);
		else
			assert_int_equal(divided, 0);
		/* other programs are tried */
		leave(p[0].c);
		p[0] = of_program(73, 5, 200 * MS, 1);
		divided = 0;
		for (int ms = 0; ms < 1000; ms++) {
			play(p, 2, MS);
			divided += part_of(&p[0]) < FULL;
		}
		assert_true(divided > 200);
		all_leave(p[0].c, p[1].c);
	}
}

/* Two equals of these programs; ids from `id` on. */
static void begin_pair(struct program p[2], uint64_t id, double enough)
{
	p[0] = of_program(71, id, 200 * MS, 1);
	p[1] = of_program(72, id + 1, 300 * MS, enough);
}

static void end_pair(struct program p[2])
{
	leave(p[0].c);
	leave(p[1].c);
	grant(500 * MS);
}

/* Where a pair of these programs has gained. */
static void begin_known(struct program p[2])
{
	begin_corun(4);
	begin_pair(p, 1, 0.3);
	play(p, 2, 2000 * MS);
	end_pair(p);
}

/* How long it takes until they are on parts, ms. */
static unsigned until_divided(struct program p[2], unsigned most_ms)
{
	unsigned ms = 0;

	for (; ms < most_ms && part_of(&p[0]) == FULL; ms++)
		play(p, 2, MS);
	return ms;
}

/* Until an epoch of the new ones has ended, the status does not say what the old ones did. */
static void what_others_did_is_not_said(void **unused)
{
	struct program p[2];

	(void)unused;
	begin_known(p);
	begin_pair(p, 3, 0.3);
	assert_true(until_divided(p, 1000) < 300);
	assert_true(isnan(together(2)));
	play(p, 2, 1000 * MS);
	assert_true(together(2) > 1.4);
	all_leave(p[0].c, p[1].c);
}

/* Short jobs that end before anything is judged are not interrupted trials. */
static void short_jobs_do_not_count(void **unused)
{
	struct program p[2];

	(void)unused;
	begin_known(p);
	for (uint64_t i = 0; i < 6; i++) {
		begin_pair(p, 3 + 2 * i, 0.3);
		assert_true(until_divided(p, 1000) < 300);
		end_pair(p);
	}
	begin_pair(p, 21, 0.3);
	assert_true(until_divided(p, 1000) < 300);
	all_leave(p[0].c, p[1].c);
}

/* That something interrupts some of them again and again is no matter to the next ones. */
static void interruptions_are_not_inherited(void **unused)
{
	struct program p[3];

	(void)unused;
	begin_corun(4);
	begin_pair(p, 1, 0.3);
	interrupt(p, 10);
	leave(p[2].c);
	assert_int_equal(until_divided(p, 1000), 1000);
	end_pair(p);
	begin_pair(p, 3, 0.3);
	assert_true(until_divided(p, 1000) < 500);
	all_leave(p[0].c, p[1].c);
}

/* How long those wait that have gained too little does not depend on what was before they gained.
 */
static void who_gains_starts_anew(void **unused)
{
	struct program p[2];

	(void)unused;
	begin_corun(4);
	begin_pair(p, 1, 1);
	for (int i = 0; i < 3; i++) {
		p[1].enough = 1;
		play(p, 2, 5000 * MS);
		together(0);
		p[1].enough = 0.3;
		play(p, 2, 12000 * MS); /* the trial after ten seconds */
		assert_true(together(2) > 1.4);
	}
	all_leave(p[0].c, p[1].c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_short_again_and_again),
		cmocka_unit_test(interrupted_again_and_again),
		cmocka_unit_test(the_programs_are_known),
		cmocka_unit_test(what_others_did_is_not_said),
		cmocka_unit_test(short_jobs_do_not_count),
		cmocka_unit_test(interruptions_are_not_inherited),
		cmocka_unit_test(who_gains_starts_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
