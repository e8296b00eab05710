/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl ping: does the daemon answer? */
#include <stdlib.h>

#include "gpushare/ctl/ctl.h"

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	static const struct gs_option options[] = { { NULL } };
	int status = gs_ctl_options(verb, options, argc, argv);
	struct gs_ctl_text text;
	struct gs_error err;

	if (status >= 0)
		return status;
	if (gs_ctl_get(socket, GS_QUERY_STATUS, 0, &text, &err) < 0)
		return gs_ctl_fail("%s", err.text);
	free(text.bytes);
	return 0;
}

const struct gs_verb gs_verb_ping = {
	.name = "ping",
	.usage = "",
	.words = "Exit with status 0 if the daemon answers",
	.help = "",
	.run = run,
};
