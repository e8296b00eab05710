/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a table to getopt_long(3) and back; see options.h. */
#define _GNU_SOURCE
#include "common/options.h"

#include <getopt.h>
#include <stdlib.h>

#include "common/units.h"

#define OPTIONS_MAX 40
#define NUMBERED 256 /* what getopt_long() answers for the table's first option */
#define HELP (NUMBERED + OPTIONS_MAX)

static int take_number(const struct gs_option *o, const char *argument, struct gs_error *err)
{
	int64_t n = 0;

	if (gs_parse_int(argument, o->least, o->most, &n, err) < 0)
		return -1;
	if (o->number)
		*o->number = (uint32_t)n;
	else
		*o->wide = (uint64_t)n;
	return 0;
}

static int take_one(const struct gs_option *o, const char *argument, struct gs_error *err)
{
	if (o->given)
		*o->given = 1;
	if (o->text)
		*o->text = argument;
	if (o->act)
		o->act(o->of);
	if (o->number || o->wide)
		return take_number(o, argument, err);
	if (o->duration)
		return gs_parse_duration(argument, o->duration, err);
	return o->take ? o->take(o->of, argument, err) : 0;
}

static int has_argument(const struct gs_option *o)
{
	return o->text || o->number || o->wide || o->duration || o->take;
}

/* The table for getopt_long(). */
static void translate(const struct gs_option *options, struct option longs[OPTIONS_MAX + 2],
		      char *shorts)
{
	size_t n = 0;

	for (const struct gs_option *o = options; o->name; o++, n++) {
		if (n == OPTIONS_MAX)
			abort();
		longs[n] = (struct option) { o->name, has_argument(o), NULL, NUMBERED + (int)n };
		if (!o->letter)
			continue;
		*shorts++ = o->letter;
		if (has_argument(o))
			*shorts++ = ':';
	}
	longs[n] = (struct option) { "help", no_argument, NULL, HELP };
	*shorts++ = 'h';
	*shorts = '\0';
}

static const struct gs_option *find(const struct gs_option *options, int answer)
{
	if (answer >= NUMBERED)
		return &options[answer - NUMBERED];
	while (options->letter != answer)
		options++;
	return options;
}

int gs_options_take(const struct gs_option *options, int operands_end, int argc, char **argv,
		    struct gs_error *err)
{
	struct option longs[OPTIONS_MAX + 2] = { { 0 } };
	char shorts[2 * OPTIONS_MAX + 3] = "+";
	struct gs_error why;
	int answer;

	translate(options, longs, shorts + (operands_end != 0));
	optind = 0; /* from the start, with glibc's full reset */
	while ((answer = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct gs_option *o;

		if (answer == '?')
			return gs_fail(err, "unknown option, or its value is missing");
		if (answer == 'h' || answer == HELP)
			return 0;
		o = find(options, answer);
		if (take_one(o, optarg, &why) < 0)
			return gs_fail(err, "--%s: %.200s", o->name, why.text);
	}
	return 1;
}
