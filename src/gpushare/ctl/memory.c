/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl memory */
#include "gpushare/ctl/reports.h"

static int run(const char *socket, int argc, char **argv)
{
	return gs_ctl_report(&gs_verb_memory, GS_QUERY_MEMORY, 0, socket, argc, argv);
}

const struct gs_verb gs_verb_memory = {
	.name = "memory",
	.usage = "[--json]",
	.words = "Show the GPUs' memory, who has reserved it, and who waits for it and why",
	.help = "  --json     print JSON\n",
	.run = run,
};
