/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes, durations, numbers and booleans as people write them. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/units.h"

static void sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "1", 1 },
		{ "4096", 4096 },
		{ "64K", 65536 },
		{ "64k", 65536 },
		{ "64KB", 65536 },
		{ "64KiB", 65536 },
		{ "512M", 512 << 20 },
		{ "1.5G", UINT64_C(3) << 29 },
		{ "8G", UINT64_C(8) << 30 },
		{ "1T", UINT64_C(1) << 40 },
		{ "3B", 3 },
		{ "4096P", UINT64_C(4096) << 50 },
		{ "0.5K", 512 },
	};
	static const char *const bad[] = {
		"",
		"G",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1 G",
		"0",
		"0.5",
		"0G",
		"1X",
		"1GG",
		"1.2.3",
		"1Bx",
		"1BB",
		"8192P",
		"99999999999999999999",
		"1e9",
		"0x10",
		"inf",
		"nan",
		".5",
		"1Ki B",
	};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(gs_parse_size(good[i].text, &bytes, NULL), 0);
		assert_int_equal(bytes, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct gs_error err = { "" };

		bytes = 77;
		if (gs_parse_size(bad[i], &bytes, &err) != -1)
			fail_msg("accepted '%s'", bad[i]);
		assert_int_equal(bytes, 77);
		assert_true(err.text[0] != '\0');
	}
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "0", 0 },
		{ "1", 1000000 },
		{ "1.5ms", 1500000 },
		{ "250us", 250000 },
		{ "40ns", 40 },
		{ "2s", 2000000000 },
		{ "8.36", 8360000 },
		{ "0.29us", 290 },
		{ "86400s", UINT64_C(86400000000000) },
		{ "10m", UINT64_C(600000000000) },
		{ "1.5h", UINT64_C(5400000000000) },
	};
	static const char *const bad[] = {
		"", "ms", "-1", "1 ms", "1M", "25h", "1mss", "86401s", "1..5", "1e3", "inf",
	};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(gs_parse_duration(good[i].text, &ns, NULL), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ns = 77;
		if (gs_parse_duration(bad[i], &ns, NULL) != -1)
			fail_msg("accepted '%s'", bad[i]);
		assert_int_equal(ns, 77);
	}
}

static void numbers(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"1x",
		" 1",
		"1 ",
		"1.0",
		"--1",
		"11",
		"-6",
		"99999999999999999999",
		"-99999999999999999999",
		"0x3",
	};
	int64_t v;

	(void)state;
	assert_int_equal(gs_parse_int("10", -5, 10, &v, NULL), 0);
	assert_int_equal(v, 10);
	assert_int_equal(gs_parse_int("-5", -5, 10, &v, NULL), 0);
	assert_int_equal(v, -5);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (gs_parse_int(bad[i], -5, 10, &v, NULL) != -1)
			fail_msg("accepted '%s'", bad[i]);
		assert_int_equal(v, -5);
	}
}

static void booleans(void **state)
{
	static const char *const yes[] = { "yes", "YES", "true", "On", "1" };
	static const char *const no[] = { "no", "No", "false", "off", "0" };
	static const char *const bad[] = { "", "y", "2", "yess", "enable" };
	int v;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(gs_parse_bool(yes[i], &v, NULL), 0);
		assert_int_equal(v, 1);
		assert_int_equal(gs_parse_bool(no[i], &v, NULL), 0);
		assert_int_equal(v, 0);
		assert_int_equal(gs_parse_bool(bad[i], &v, NULL), -1);
		assert_int_equal(v, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(durations),
		cmocka_unit_test(numbers),
		cmocka_unit_test(booleans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
