/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl report: all that the daemon knows, or a selection of its history. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/units.h"
#include "gpushare/ctl/reports.h"

static int parse_group(const char *name, uint32_t *group, struct gs_error *err)
{
	static const char *const names[GS_GROUP_COUNT] = {
		[GS_GROUP_STEP] = "step", [GS_GROUP_JOB] = "job", [GS_GROUP_USER] = "user",
		[GS_GROUP_PARTITION] = "partition", [GS_GROUP_GPU] = "gpu",
	};

	for (uint32_t i = 0; i < GS_GROUP_COUNT; i++)
		if (strcmp(name, names[i]) == 0) {
			*group = i;
			return 0;
		}
	return gs_fail(err, "--by: '%.40s' is neither step, job, user, partition nor gpu", name);
}

/* "90m" ago, or a date: YYYY-MM-DD, with THH:MM or THH:MM:SS behind it. */
static int parse_since(const char *text, time_t now, uint64_t *since, struct gs_error *err)
{
	static const struct {
		char unit;
		long seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	static const char *const dates[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S" };
	char *end;
	long n = strtol(text, &end, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != text && n >= 0 && n <= now / units[i].seconds &&
		    *end == units[i].unit && !end[1]) {
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
	return gs_fail(err, "--since: '%.40s' is neither a time like 90m, 12h, 7d nor a date like "
		       "2026-01-31 or 2026-01-31T12:00", text);
}

static int parse_name(char *field, size_t size, const char *text, struct gs_error *err)
{
	return gs_msg_str(field, size, text) < 0 ? gs_fail(err, "'%.40s' is too long", text) : 0;
}

/* One option; *selects is set by those that the history answers. */
static int parse_option(int c, const char *arg, struct gs_msg_history *ask, int *selects,
			struct gs_error *err)
{
	int64_t n;

	*selects |= c != 'j' && c != 'J';
	switch (c) {
	case 'j':
		if (gs_parse_int(arg, 1, UINT32_MAX, &n, err) < 0)
			return -1;
		ask->job_id = (uint32_t)n;
		return 0;
	case 'J':
		ask->json = 1;
		return 0;
	case 's':
		return parse_since(arg, time(NULL), &ask->since, err);
	case 'u':
		return parse_name(ask->user, sizeof(ask->user), arg, err);
	case 'p':
		return parse_name(ask->partition, sizeof(ask->partition), arg, err);
	case 'b':
		return parse_group(arg, &ask->group, err);
	default:
		return gs_fail(err, "unknown option");
	}
}

static int ask_history(const char *socket, struct gs_msg *msg)
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

static int run(const char *socket, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "job", required_argument, NULL, 'j' },
		{ "json", no_argument, NULL, 'J' },
		{ "since", required_argument, NULL, 's' },
		{ "user", required_argument, NULL, 'u' },
		{ "partition", required_argument, NULL, 'p' },
		{ "by", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct gs_error err;
	struct gs_msg msg;
	int c, selects = 0;

	gs_msg_init(&msg, GS_MSG_HISTORY, 1);
	while ((c = getopt_long(argc, argv, "j:u:p:h", longs, NULL)) != -1) {
		if (c == 'h') {
			gs_ctl_help(&gs_verb_report);
			return 0;
		}
		if (parse_option(c, optarg, &msg.history, &selects, &err) < 0)
			return gs_ctl_usage(&gs_verb_report, "%s", err.text);
	}
	if (optind < argc)
		return gs_ctl_usage(&gs_verb_report, "unexpected argument '%s'", argv[optind]);
	if (selects)
		return ask_history(socket, &msg);
	return gs_ctl_query(socket, GS_QUERY_REPORT, msg.history.job_id, (int)msg.history.json, 1);
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
