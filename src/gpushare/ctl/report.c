/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl report: all that the daemon knows, or a selection of its history. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

/* "90m" ago, or a date: YYYY-MM-DD, with THH:MM or THH:MM:SS behind it. */
static int parse_since(void *of, const char *text, struct gs_error *err)
{
	static const struct {
		char unit;
		long seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	static const char *const dates[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	uint64_t *since = of;
	time_t now = time(NULL);
	char *end;
	long n = strtol(text, &end, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && n >= 0 && n <= now / units[i].seconds && *end == units[i].unit &&
		    !end[1]) {
			*since = (uint64_t)(now - n * units[i].seconds);
			return 0;
		}
	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *rest = strptime(text, dates[i], &tm);
		time_t t;

		if (!rest || *rest)
			continue;
		t = mktime(&tm);
		if (t >= 0) {
			*since = (uint64_t)t;
			return 0;
		}
	}
	return gs_fail(err,
		       "'%.40s' is neither a time like 90m, 12h, 7d nor a date like "
		       "2026-01-31 or 2026-01-31T12:00",
		       text);
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
	const char *user = "", *partition = "";
	int json = 0, selects = 0, status;
	struct gs_msg msg;
	struct gs_msg_history *request = &msg.history;
	/* The history answers where one of those that select is given. */
	const struct gs_option options[] = {
		{ "job", 'j', .number = &request->job_id, .least = 1, .most = UINT32_MAX },
		{ "json", .given = &json },
		{ "since", .given = &selects, .take = parse_since, .of = &request->since },
		{ "user", 'u', .given = &selects, .text = &user },
		{ "partition", 'p', .given = &selects, .text = &partition },
		{ "by", .given = &selects, .take = parse_group, .of = &request->group },
		{ NULL },
	};

	gs_msg_init(&msg, GS_MSG_HISTORY, 1);
	status = gs_ctl_options(verb, options, argc, argv);
	if (status >= 0)
		return status;
	if (!selects)
		return gs_ctl_query(socket, GS_QUERY_REPORT, request->job_id, json);
	if (gs_msg_str(request->user, sizeof(request->user), user) < 0 ||
	    gs_msg_str(request->partition, sizeof(request->partition), partition) < 0)
		return gs_ctl_usage(verb, "a name is too long");
	request->json = (uint32_t)json;
	return query_history(socket, &msg);
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
		"\n"
		"--user, --partition, --since and --by ask the history (HistoryFile).\n",
	.run = run,
};
