/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl kernels */
#include "gpushare/ctl/reports.h"

static int run(const char *socket, int argc, char **argv)
{
	return gs_ctl_report(&gs_verb_kernels, GS_QUERY_KERNELS, 1, socket, argc, argv);
}

const struct gs_verb gs_verb_kernels = {
	.name = "kernels",
	.usage = "[--job N] [--json]",
	.words = "Show the kernels of each job step, and why some cannot leave",
	.help = "  --job N    only the steps of job N\n"
		"  --json     print JSON\n",
	.run = run,
};
