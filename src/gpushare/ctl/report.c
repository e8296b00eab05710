/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl report */
#include "gpushare/ctl/reports.h"

static int run(const char *socket, int argc, char **argv)
{
	return gs_ctl_report(&gs_verb_report, GS_QUERY_REPORT, 1, socket, argc, argv);
}

const struct gs_verb gs_verb_report = {
	.name = "report",
	.usage = "[--job N] [--json]",
	.words = "Show what each job step has had, finished ones included",
	.help = "  --job N    only the steps of job N\n"
		"  --json     print JSON\n",
	.run = run,
};
