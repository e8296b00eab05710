/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare.h where there is no gpushare: every call says so, and nothing else happens. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpushare/api/gpushare.h"

static void nobody_answers(void)
{
	struct gpushare_report r;

	assert_int_equal(gpushare_managed(), 0);
	assert_int_equal(gpushare_set_priority(3), GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_reset_priority(), GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_set_thread_priority(3), GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_reset_thread_priority(), GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_set_stream_priority(NULL, 3), GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_reset_stream_priority(NULL), GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_begin_critical(), GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_end_critical(), GPUSHARE_NOT_MANAGED);
	assert_int_equal(gpushare_get_report(&r), GPUSHARE_NOT_MANAGED);
	assert_int_equal(r.size, sizeof(r));
	assert_int_equal(gpushare_get_report(NULL), GPUSHARE_NOT_MANAGED);
}

static void without_shares(void **unused)
{
	(void)unused;
	unsetenv("GPUSHARE_SOCKET");
	nobody_answers();
	setenv("GPUSHARE_SOCKET", "", 1);
	nobody_answers();
}

/* The machine's own driver, if it has one, knows nothing of gpushare. */
static void without_the_shim(void **unused)
{
	(void)unused;
	setenv("GPUSHARE_SOCKET", "/nonexistent/gpushared.sock", 1);
	nobody_answers();
}

static void results_have_words(void **unused)
{
	(void)unused;
	for (int i = 0; i <= GPUSHARE_INVALID; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(gpushare_strerror(i), gpushare_strerror(j));
	assert_string_equal(gpushare_strerror(-1), "unknown result");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_shares),
		cmocka_unit_test(without_the_shim),
		cmocka_unit_test(results_have_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
