/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes, durations and numbers as people write them; see units.h. */
#define _GNU_SOURCE
#include "common/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/clock.h"

/* A decimal number of digits and at most one point; strtod takes far more. */
static int parse_decimal(const char *text, const char **rest, double *value)
{
	size_t n = strspn(text, "0123456789.");
	char *end;

	if (n == 0 || n > 24 || strchr("0123456789", text[0]) == NULL)
		return -1;
	*value = strtod(text, &end);
	if (end != text + n || !isfinite(*value))
		return -1;
	*rest = end;
	return 0;
}

int gs_parse_size(const char *text, uint64_t *bytes, struct gs_error *err)
{
	static const char units[] = "KMGTP";
	const char *rest, *unit;
	double value;
	int power = 0;

	if (parse_decimal(text, &rest, &value) < 0)
		return gs_fail(
			err, "'%.40s' is not a size: write a number and K, M, G or T, such as 512M",
			text);
	if (*rest && *rest != 'B' && *rest != 'b') {
		unit = strchr(units, toupper((unsigned char)*rest));
		if (!unit)
			return gs_fail(err, "'%.40s': unknown unit '%.8s', use K, M, G or T", text,
				       rest);
		power = (int)(unit - units) + 1;
		rest++;
		if (*rest == 'i')
			rest++;
	}
	if (*rest == 'B' || *rest == 'b')
		rest++;
	if (*rest)
		return gs_fail(err, "'%.40s': unknown unit, use K, M, G or T", text);
	value *= pow(1024, power);
	if (value < 1)
		return gs_fail(err, "'%.40s': a size must be at least one byte", text);
	if (value >= 9223372036854775808.0)
		return gs_fail(err, "'%.40s' is too large", text);
	*bytes = (uint64_t)value;
	return 0;
}

int gs_parse_duration(const char *text, uint64_t *ns, struct gs_error *err)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{ "", 1e6 },  { "ns", 1 },   { "us", 1e3 },   { "ms", 1e6 },
		{ "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 },
	};
	const char *rest;
	double value;

	if (parse_decimal(text, &rest, &value) < 0)
		return gs_fail(
			err,
			"'%.40s' is not a duration: write a number and us, ms, s, m or h, such as 1.5ms",
			text);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(rest, units[i].name) != 0)
			continue;
		value *= units[i].ns;
		if (value > 86400e9)
			return gs_fail(err, "'%.40s' is longer than a day", text);
		*ns = (uint64_t)round(value); /* 8.36 x 1e6 is a little less than 8360000 */
		return 0;
	}
	return gs_fail(err, "'%.40s': unknown unit '%.8s', use ns, us, ms, s, m or h", text, rest);
}

int gs_parse_int(const char *text, int64_t min, int64_t max, int64_t *value, struct gs_error *err)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || *end || errno || isspace((unsigned char)text[0]))
		return gs_fail(err, "'%.40s' is not a whole number", text);
	if (v < min || v > max)
		return gs_fail(err, "%lld is not between %lld and %lld", v, (long long)min,
			       (long long)max);
	*value = v;
	return 0;
}

int gs_parse_bool(const char *text, int *value, struct gs_error *err)
{
	static const char *const names[2][4] = {
		{ "no", "false", "off", "0" },
		{ "yes", "true", "on", "1" },
	};

	for (int v = 0; v < 2; v++)
		for (int i = 0; i < 4; i++)
			if (strcasecmp(text, names[v][i]) == 0) {
				*value = v;
				return 0;
			}
	return gs_fail(err, "'%.40s' is neither yes nor no", text);
}
