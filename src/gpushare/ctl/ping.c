/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl ping: does the daemon answer? */
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/ctl/ctl.h"

static int ping(const char *socket, uint64_t patience_ns, struct gs_error *err)
{
	int sock = gs_ctl_connect_within(socket, patience_ns, err), rc;
	struct gs_ctl_text text;
	struct gs_msg msg;

	if (sock < 0)
		return -1;
	gs_msg_init(&msg, GS_MSG_QUERY, 1);
	msg.query.what = GS_QUERY_STATUS;
	msg.query.json = 1;
	rc = gs_ctl_fetch(sock, &msg, &text, err);
	if (rc == 0)
		free(text.bytes);
	close(sock);
	return rc;
}

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	uint64_t patience = 10 * GS_NS_PER_S;
	const struct gs_option options[] = {
		{ "timeout", 't', .duration = &patience },
		{ NULL },
	};
	int status = gs_ctl_options(verb, options, argc, argv);
	struct gs_error err;

	if (status >= 0)
		return status;
	if (!patience)
		return gs_ctl_usage(verb, "--timeout: more than 0");
	return ping(socket, patience, &err) < 0 ? gs_ctl_fail("%s", err.text) : 0;
}

const struct gs_verb gs_verb_ping = {
	.name = "ping",
	.usage = "[--timeout TIME]",
	.words = "Exit with status 0 if the daemon answers",
	.help = "  -t, --timeout TIME  how long to wait for that (default: 10s)\n",
	.run = run,
};
