/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines by a table of options (common/options.h). */
#define _GNU_SOURCE
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/options.h"

static struct {
	int flag, has_time, acted;
	const char *text;
	uint32_t number;
	uint64_t wide, time;
	char taken[32];
} v;

static int take(void *of, const char *argument, struct gs_error *err)
{
	if (strlen(argument) >= sizeof(v.taken))
		return gs_fail(err, "too long");
	strcpy(of, argument);
	return 0;
}

static void act(void *of)
{
	++*(int *)of;
}

static const struct gs_option options[] = {
	{ "flag", 'f', .given = &v.flag },
	{ "text", 't', .text = &v.text },
	{ "number", .number = &v.number, .least = 1, .most = 10 },
	{ "wide", .wide = &v.wide, .least = 0, .most = INT64_MAX },
	{ "time", 'T', .given = &v.has_time, .duration = &v.time },
	{ "take", 'k', .take = take, .of = v.taken },
	{ "act", .act = act, .of = &v.acted },
	{ NULL },
};

static struct gs_error err;

#define parse(...) parse_it(0, (char *[]) { "it", __VA_ARGS__, NULL })

static int parse_it(int operands_end, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	memset(&v, 0, sizeof(v));
	err.text[0] = '\0';
	return gs_options_take(options, operands_end, argc, argv, &err);
}

static void values_go_where_the_table_says(void **state)
{
	(void)state;
	assert_int_equal(parse("-f", "--text=a", "--number", "10", "--wide", "9223372036854775807",
			       "-T", "2us", "-kx", "--act", "--act"),
			 1);
	assert_int_equal(v.flag, 1);
	assert_string_equal(v.text, "a");
	assert_int_equal(v.number, 10);
	assert_true(v.wide == INT64_MAX);
	assert_int_equal(v.has_time, 1);
	assert_int_equal(v.time, 2000);
	assert_string_equal(v.taken, "x");
	assert_int_equal(v.acted, 2);
	assert_int_equal(parse("--text", "b"), 1);
	assert_int_equal(v.flag + v.has_time, 0);
}

static void what_is_wrong_is_named(void **state)
{
	(void)state;
	assert_int_equal(parse("--number", "11"), -1);
	assert_non_null(strstr(err.text, "--number: 11 is not"));
	assert_int_equal(parse("-T", "soon"), -1);
	assert_int_equal(strncmp(err.text, "--time: ", 8), 0);
	assert_int_equal(parse("-k", "0123456789012345678901234567890123456789"), -1);
	assert_string_equal(err.text, "--take: too long");
	assert_int_equal(parse("--nosuch"), -1);
	assert_int_equal(parse("--text"), -1);
	assert_string_equal(err.text, "unknown option, or its value is missing");
}

static void help_is_everywhere(void **state)
{
	(void)state;
	assert_int_equal(parse("--help"), 0);
	assert_int_equal(parse("-f", "-h", "--nosuch"), 0);
}

static void operands_end_the_options_or_do_not(void **state)
{
	char *line[] = { "it", "-f", "program", "--nosuch", NULL };
	char *moved[] = { "it", "program", "-f", NULL };

	(void)state;
	assert_int_equal(parse_it(1, line), 1);
	assert_string_equal(line[optind], "program");
	assert_int_equal(parse_it(0, moved), 1);
	assert_int_equal(v.flag, 1);
	assert_string_equal(moved[optind], "program");
	assert_int_equal(parse_it(1, (char *[]) { "it", "program", "-f", NULL }), 1);
	assert_int_equal(v.flag, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_go_where_the_table_says),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(help_is_everywhere),
		cmocka_unit_test(operands_end_the_options_or_do_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
