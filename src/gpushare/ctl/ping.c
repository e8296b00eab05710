/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl ping: exit status 0 when the daemon serves. */
#define _GNU_SOURCE
#include <getopt.h>

#include "gpushare/ctl/ctl.h"

static int run(const char *socket, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c != 'h')
			return gs_ctl_usage(&gs_verb_ping, "unknown option");
		gs_ctl_help(&gs_verb_ping);
		return 0;
	}
	if (optind < argc)
		return gs_ctl_usage(&gs_verb_ping, "unexpected argument '%s'", argv[optind]);
	return gs_ctl_query(socket, GS_QUERY_STATUS, 0, 1, 0);
}

const struct gs_verb gs_verb_ping = {
	.name = "ping",
	.usage = "",
	.words = "Exit with status 0 if the daemon answers",
	.help = "",
	.run = run,
};
