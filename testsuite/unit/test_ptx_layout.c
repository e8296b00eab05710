/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transformer's copy of the kernel stub's layout and states is the protocol's own. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/ptx/stub_layout.h"
#include "gpushare/proto/page.h"

_Static_assert(PTX_STUB_KSTATE == offsetof(struct gs_stub, kstate), "kstate");
_Static_assert(PTX_STUB_STARTED == offsetof(struct gs_stub, started), "started");
_Static_assert(PTX_STUB_DONE == offsetof(struct gs_stub, done), "done");

static void states_agree(void **state)
{
	static const char *const names[] = {
#define KSTATE(name, meaning) #name,
#define KEDGE(from, to, writers, when)
#include "gpushare/proto/kstate.def"
#undef KSTATE
#undef KEDGE
	};

	(void)state;
	assert_true(sizeof(names) / sizeof(names[0]) > PTX_KSTATE_DONE);
	assert_string_equal(names[PTX_KSTATE_READY], "READY");
	assert_string_equal(names[PTX_KSTATE_TOEVICT], "TOEVICT");
	assert_string_equal(names[PTX_KSTATE_DONE], "DONE");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(states_agree) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
