/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl status */
#include "gpushare/ctl/reports.h"

static int run(const char *socket, int argc, char **argv)
{
	return gs_ctl_report(&gs_verb_status, GS_QUERY_STATUS, 0, socket, argc, argv);
}

const struct gs_verb gs_verb_status = {
	.name = "status",
	.usage = "[--json]",
	.words = "Show the GPUs, who holds them, and the registered job steps",
	.help = "  --json     print JSON\n",
	.run = run,
};
