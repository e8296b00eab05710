/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What users may have of the event loop's time, alone and together. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "gpushare/daemon/base/daemon.h"
#include "gpushare/daemon/base/users.h"

#define MS GS_NS_PER_MS

/* Each test has users of its own; what all have had is forgotten between them. */
static int wait_for_all(void **state)
{
	(void)state;
	while (gs_user_is_over(1, 1))
		usleep(10000);
	sleep(3);
	return 0;
}

static void test_root_is_never_over(void **unused)
{
	(void)unused;
	gs_user_spent(0, 0, 100 * GS_NS_PER_S);
	assert_false(gs_user_is_over(0, 0));
	assert_true(gs_user_has_had_little(0));
}

static void test_one_has_a_tenth_of_a_second_at_once(void **unused)
{
	uint64_t begun = gs_clock_ns();

	(void)unused;
	gs_user_spent(1001, 1001, 50 * MS);
	assert_false(gs_user_is_over(1001, 1001));
	assert_false(gs_user_has_had_little(1001));
	assert_true(gs_user_has_had_little(1002));
	gs_user_spent(1001, 1001, 150 * MS);
	assert_false(gs_user_is_over(1002, 1002));
	while (gs_user_is_over(1001, 1001))
		usleep(5000);
	/* A fifth: what is more than 100 ms is forgotten after half a second. */
	assert_true(gs_clock_ns() - begun > 450 * MS);
}

/* Seven that ask for much have less each than three, but one who asks for little has its part. */
static void test_many_have_less_each(void **unused)
{
	(void)unused;
	for (uid_t uid = 2000; uid < 2007; uid++)
		gs_user_spent(uid, uid, 50 * MS);
	for (uid_t uid = 2000; uid < 2007; uid++)
		gs_user_is_over(uid, uid); /* they go on asking */
	gs_user_spent(2000, 2000, 45 * MS);
	assert_true(gs_user_is_over(2000, 2000)); /* alone it would not be */
	assert_false(gs_user_is_over(2100, 2100));
	assert_true(gs_user_has_had_little(2100));
}

/* However many they are: nobody is read until all have had no more than four fifths. */
static void test_all_have_a_part_together(void **unused)
{
	uint64_t begun = gs_clock_ns();

	(void)unused;
	for (uid_t uid = 3000; uid < 3160; uid++)
		gs_user_spent(uid, uid, 9 * MS); /* little, each */
	assert_true(gs_user_is_over(3000, 3000));
	assert_true(gs_user_is_over(3200, 3200)); /* who has had nothing waits as well */
	assert_false(gs_user_is_over(0, 0));
	while (gs_user_is_over(3200, 3200))
		usleep(5000);
	/* 1,440 ms, of which 400 are had at once. */
	assert_true(gs_clock_ns() - begun > 1200 * MS);
}

/* Who connects without end keeps nobody from asking but itself. */
static void test_connecting_counts_to_one_stranger_alone(void **unused)
{
	struct gs_daemon d = { .ndevice = 0 };

	(void)unused;
	TAILQ_INIT(&d.steps);
	gs_user_connected(&d, 4000, 250 * MS);
	assert_true(gs_user_is_over(GS_USER_STRANGERS, 4000));
	assert_false(gs_user_is_over(GS_USER_STRANGERS, 4001));
	gs_user_spent(GS_USER_STRANGERS, 4001, 150 * MS);
	assert_true(gs_user_is_over(GS_USER_STRANGERS, 4002));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_is_never_over),
		cmocka_unit_test(test_one_has_a_tenth_of_a_second_at_once),
		cmocka_unit_test_setup(test_many_have_less_each, wait_for_all),
		cmocka_unit_test_setup(test_all_have_a_part_together, wait_for_all),
		cmocka_unit_test_setup(test_connecting_counts_to_one_stranger_alone, wait_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
