/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transformer's copy of the launch slot's layout and states is the protocol's own. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/ptx/slot_layout.h"
#include "gpushare/proto/page.h"

_Static_assert(PTX_SLOT_STATE == offsetof(struct gs_slot, state), "launch state");
_Static_assert(PTX_SLOT_STARTED == offsetof(struct gs_slot, started), "started");
_Static_assert(PTX_SLOT_DONE == offsetof(struct gs_slot, done), "done");

static void states_agree(void **state)
{
	static const char *const names[] = {
#define LAUNCH_STATE(name, meaning) #name,
#define KEDGE(from, to, writers, when)
#include "gpushare/proto/launch_state.def"
#undef LAUNCH_STATE
#undef KEDGE
	};

	(void)state;
	assert_true(sizeof(names) / sizeof(names[0]) > PTX_STATE_DONE);
	assert_string_equal(names[PTX_STATE_READY], "READY");
	assert_string_equal(names[PTX_STATE_RUNNING], "RUNNING");
	assert_string_equal(names[PTX_STATE_TOEVICT], "TOEVICT");
	assert_string_equal(names[PTX_STATE_DONE], "DONE");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(states_agree) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
