/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every legal move of a launch slot with its writers, and no other. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpushare/proto/launch_state.h"

/* Written out a second time on purpose: a change of the table must be meant. */
static const struct {
	uint32_t from, to;
	unsigned writers;
} legal[] = {
	{ GS_K_PREP, GS_K_READY, GS_BY_CLIENT },
	{ GS_K_PREP, GS_K_RUNNING, GS_BY_CLIENT },
	{ GS_K_PREP, GS_K_PREP, GS_BY_CLIENT },
	{ GS_K_READY, GS_K_TORUN, GS_BY_DAEMON },
	{ GS_K_READY, GS_K_RUNNING, GS_BY_CLIENT | GS_BY_DAEMON },
	{ GS_K_READY, GS_K_PREP, GS_BY_CLIENT },
	{ GS_K_TORUN, GS_K_RUNNING, GS_BY_CLIENT },
	{ GS_K_TORUN, GS_K_READY, GS_BY_DAEMON },
	{ GS_K_RUNNING, GS_K_READY, GS_BY_CLIENT | GS_BY_GPU },
	{ GS_K_RUNNING, GS_K_PREP, GS_BY_CLIENT },
	{ GS_K_RUNNING, GS_K_TOEVICT, GS_BY_DAEMON },
	{ GS_K_RUNNING, GS_K_DONE, GS_BY_CLIENT | GS_BY_GPU },
	{ GS_K_TOEVICT, GS_K_RUNNING, GS_BY_DAEMON },
	{ GS_K_TOEVICT, GS_K_READY, GS_BY_CLIENT | GS_BY_GPU },
	{ GS_K_TOEVICT, GS_K_DONE, GS_BY_GPU },
	{ GS_K_DONE, GS_K_PREP, GS_BY_CLIENT },
};

static void moves(void **state)
{
	(void)state;
	for (uint32_t from = 0; from < GS_K_COUNT + 3; from++)
		for (uint32_t to = 0; to < GS_K_COUNT + 3; to++) {
			unsigned want = 0;

			for (size_t i = 0; i < sizeof(legal) / sizeof(legal[0]); i++)
				if (legal[i].from == from && legal[i].to == to)
					want = legal[i].writers;
			if (gs_launch_state_writers(from, to) != want)
				fail_msg("%s -> %s: writers %u instead of %u",
					 gs_launch_state_name(from), gs_launch_state_name(to),
					 gs_launch_state_writers(from, to), want);
		}
	assert_int_equal(gs_launch_state_writers(UINT32_MAX, UINT32_MAX), 0);
	assert_int_equal(gs_launch_state_writers(UINT32_MAX, GS_K_PREP), 0);
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(gs_launch_state_name(GS_K_PREP), "PREP");
	assert_string_equal(gs_launch_state_name(GS_K_TOEVICT), "TOEVICT");
	assert_string_equal(gs_launch_state_name(GS_K_DONE), "DONE");
	assert_string_equal(gs_launch_state_name(GS_K_COUNT), "?");
	assert_string_equal(gs_launch_state_name(UINT32_MAX), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moves),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
