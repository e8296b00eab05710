/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl report: all that the daemon knows, or a selection of its history. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpushare/ctl/ctl.h"

static int parse_group(void *of, const char *name, struct gs_error *err)
{
	static const char *const names[GS_GROUP_COUNT] = {
		[GS_GROUP_STEP] = "step", [GS_GROUP_JOB] = "job",
		[GS_GROUP_USER] = "user", [GS_GROUP_PARTITION] = "partition",
		[GS_GROUP_GPU] = "gpu",
	};

	for (uint32_t i = 0; i < GS_GROUP_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			*(uint32_t *)of = i;
			return 0;
		}
	return gs_fail(err, "'%.40s' is neither step, job, user, partition nor gpu", name);
}

static int query_history(const char *socket, struct gs_msg *msg)
{
	struct gs_ctl_text text;
	struct gs_error err;
	int sock = gs_ctl_connect(socket, &err), rc;

	if (sock < 0)
		return gs_ctl_fail("%s", err.text);
	rc = gs_ctl_fetch(sock, msg, &text, &err);
	close(sock);
	if (rc < 0)
		return gs_ctl_fail("%s", err.text);
	rc = gs_ctl_print(&text);
	free(text.bytes);
	return rc;
}

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	const char *user = "", *partition = "", *html = NULL;
	int json = 0, selects = 0, status;
	struct gs_msg msg;
	struct gs_msg_history *request = &msg.history;
	const struct gs_option options[] = {
		{ "job", 'j', .number = &request->job_id, .least = 1, .most = UINT32_MAX },
		{ "json", .given = &json },
		{ "html", .text = &html },
		{ "since", .given = &selects, .take = gs_ctl_since, .of = &request->since },
		{ "user", 'u', .given = &selects, .text = &user },
		{ "partition", 'p', .given = &selects, .text = &partition },
		{ "by", .given = &selects, .take = parse_group, .of = &request->group },
		{ NULL },
	};

	gs_msg_init(&msg, GS_MSG_HISTORY, 1);
	status = gs_ctl_options(verb, options, argc, argv);
	if (status >= 0)
		return status;
	if (gs_msg_str(request->user, sizeof(request->user), user) < 0 ||
	    gs_msg_str(request->partition, sizeof(request->partition), partition) < 0)
		return gs_ctl_usage(verb, "a name is too long");
	if (html && (json || request->group != GS_GROUP_STEP))
		return gs_ctl_usage(verb, "--html goes with neither --json nor --by");
	request->json = json || html;
	if (html)
		return gs_ctl_report_html(socket, &msg, selects, html);
	return selects ? query_history(socket, &msg) :
			 gs_ctl_query(socket, GS_QUERY_REPORT, request->job_id, json);
}

const struct gs_verb gs_verb_report = {
	.name = "report",
	.usage = "[OPTION]...",
	.words = "Show what each job step has had, finished ones included",
	.help = "  -j, --job N           only the steps of job N\n"
		"  -u, --user NAME       only those of this user\n"
		"  -p, --partition NAME  only those of this partition\n"
		"      --since TIME      only those that ended since then or have not: 90m, 12h, 7d\n"
		"                        ago, or 2026-01-31, or 2026-01-31T12:00\n"
		"      --by WHAT         a line per step, job, user, partition or gpu\n"
		"      --json            print JSON\n"
		"      --html FILE       write a page for a browser: timeline, users, memory, steps\n"
		"\n"
		"--user, --partition, --since and --by ask the history (HistoryFile).\n",
	.run = run,
};
