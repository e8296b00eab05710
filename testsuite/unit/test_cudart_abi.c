/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Our declarations of the Runtime API agree with the vendor's header, value by value and layout by
 * layout. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cudart_abi.h"

static void agree(void **state)
{
	size_t n = 0;

	(void)state;
	for (; abi_ours[n].name && abi_vendors[n].name; n++) {
		assert_string_equal(abi_ours[n].name, abi_vendors[n].name);
		if (abi_ours[n].value != abi_vendors[n].value)
			print_message("%s: ours %lld, the vendor's %lld\n", abi_ours[n].name,
				      abi_ours[n].value, abi_vendors[n].value);
		assert_true(abi_ours[n].value == abi_vendors[n].value);
	}
	assert_true(!abi_ours[n].name && !abi_vendors[n].name && n > 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(agree) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
