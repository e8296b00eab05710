/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that the three reports share; see reports.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/reports.h"

#include <getopt.h>

#include "common/units.h"

int gs_ctl_report(const struct gs_verb *verb, enum gs_query what, int takes_job,
		  const char *socket, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'J' },
		{ "help", no_argument, NULL, 'h' },
		{ "job", required_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	int c, json = 0;
	int64_t job = 0;
	struct gs_error err;

	while ((c = getopt_long(argc, argv, takes_job ? "j:h" : "h", longs, NULL)) != -1) {
		if (c == 'J') {
			json = 1;
		} else if (c == 'h') {
			gs_ctl_help(verb);
			return 0;
		} else if (c == 'j' && takes_job) {
			if (gs_parse_int(optarg, 1, UINT32_MAX, &job, &err) < 0)
				return gs_ctl_usage(verb, "--job: %s", err.text);
		} else if (c == 'j') {
			return gs_ctl_usage(verb, "it takes no --job");
		} else {
			return gs_ctl_usage(verb, "unknown option");
		}
	}
	if (optind < argc)
		return gs_ctl_usage(verb, "unexpected argument '%s'", argv[optind]);
	return gs_ctl_query(socket, what, (unsigned)job, json, 1);
}
