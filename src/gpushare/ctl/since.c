/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time in --since, of several verbs; see ctl.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

#include "gpushare/ctl/ctl.h"

int gs_ctl_since(void *of, const char *text, struct gs_error *err)
{
	static const struct {
		char unit;
		long seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	static const char *const dates[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	uint64_t *since = of;
	time_t now = time(NULL);
	char *end;
	long n = strtol(text, &end, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && n >= 0 && n <= now / units[i].seconds && *end == units[i].unit &&
		    !end[1]) {
			*since = (uint64_t)(now - n * units[i].seconds);
			return 0;
		}
	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
		struct tm tm = { .tm_isdst = -1 }, is;
		const char *rest = strptime(text, dates[i], &tm);
		time_t t;

		if (!rest || *rest)
			continue;
		is = tm;
		t = mktime(&is); /* takes 30 February for 2 March */
		if (t >= 0 && is.tm_mday == tm.tm_mday) {
			*since = (uint64_t)t;
			return 0;
		}
	}
	return gs_fail(err,
		       "'%.40s' is neither a time like 90m, 12h, 7d nor a date like "
		       "2026-01-31 or 2026-01-31T12:00",
		       text);
}
