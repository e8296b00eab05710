/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of users' texts reaches others' terminals. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/text.h"

static void assert_disarmed(const char *text, const char *is)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%s", text);
	gs_text_disarm(buf);
	assert_string_equal(buf, is);
}

static void text_stays(void **state)
{
	static const char *const texts[] = {
		"",
		"_Z6kernelPfi",
		"a b~",
		"\u00a0\u00e9\u07ff",
		"\u05d0\u0627",             /* letters that are written from the right */
		"\u061b\u061d\u0620",       /* beside U+061C */
		"\u200d\u2010\u2029\u202f", /* beside the marks and the overrides */
		"\u2065\u206a\uffff",       /* beside the isolates */
		"\U0001f600\U0010ffff",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_disarmed(texts[i], texts[i]);
}

static void what_steers_does_not(void **state)
{
	(void)state;
	assert_disarmed("a\033[2Jb\177\n", "a?[2Jb??");
	assert_disarmed("a\xc2\x9b"
			"b",
			"a??b"); /* U+009B begins a sequence, too */
	assert_disarmed("a\xff\xc0\x80"
			"b\xe2\x80",
			"a???b??");
}

/* "kernel", U+202E, "fdp.exe" is shown as "kernelexe.pdf". */
static void text_is_shown_in_its_order(void **state)
{
	static const char *const odd[] = { "\u200e", "\u200f", "\u202a", "\u202b",
					   "\u202c", "\u202d", "\u202e", "\u2066",
					   "\u2067", "\u2068", "\u2069" };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_disarmed(odd[i], "???");
	assert_disarmed("\u061c", "??");
	assert_disarmed("kernel\u202efdp.exe", "kernel???fdp.exe");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_stays),
		cmocka_unit_test(what_steers_does_not),
		cmocka_unit_test(text_is_shown_in_its_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
