/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl metrics: the daemon's figures for Prometheus. */
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
			return gs_ctl_usage(&gs_verb_metrics, "unknown option");
		gs_ctl_help(&gs_verb_metrics);
		return 0;
	}
	if (optind < argc)
		return gs_ctl_usage(&gs_verb_metrics, "unexpected argument '%s'", argv[optind]);
	return gs_ctl_query(socket, GS_QUERY_METRICS, 0, 0, 1);
}

const struct gs_verb gs_verb_metrics = {
	.name = "metrics",
	.usage = "",
	.words = "Print the figures as Prometheus text metrics",
	.help = "MetricsFile= of gpushare.conf has the daemon write them to a file.\n",
	.run = run,
};
