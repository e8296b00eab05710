/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl report: all that the daemon knows, or a selection of its history. */
#define _GNU_SOURCE
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpushare/ctl/ctl.h"
#include "gpushare/ctl/layout.h"
#include "gpushare/proto/user_name.h"

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

static int fetch_history(const char *socket, struct gs_msg *msg, struct gs_ctl_text *text,
			 struct gs_error *err)
{
	int sock = gs_ctl_connect(socket, err), rc;

	if (sock < 0)
		return -1;
	rc = gs_ctl_fetch(sock, msg, text, err);
	close(sock);
	return rc;
}

/* The columns of a report by groups: the first is what it is by. */
static const struct gs_column *columns_by(uint32_t group)
{
	static const struct gs_column firsts[GS_GROUP_COUNT] = {
		[GS_GROUP_JOB] = { "job", "JOB", "job id", GS_KIND_JOB, 1 },
		[GS_GROUP_USER] = { "user", "USER", "owner", GS_KIND_TEXT, 1 },
		[GS_GROUP_PARTITION] = { "partition", "PARTITION", "Slurm partition", GS_KIND_TEXT,
					 1 },
		[GS_GROUP_GPU] = { "gpu", "GPU", "GPU index", GS_KIND_COUNT, 1 },
	};
	static struct gs_column columns[GS_LAYOUT_COLUMNS];
	size_t n = 1;

	if (group == GS_GROUP_STEP)
		return gs_columns_steps;
	columns[0] = firsts[group];
	for (const struct gs_column *c = gs_columns_groups; c->key && n < GS_LAYOUT_COLUMNS - 1;
	     c++)
		columns[n++] = *c;
	return columns;
}

static int show_report(const struct gs_show *show, json_t *rows, const void *columns,
		       struct gs_error *err)
{
	int rc = gs_ctl_show(show, columns, rows, err);

	if (!json_array_size(rows))
		fputs("gpusharectl: there is no such job step\n", stderr);
	if (columns == gs_columns_steps && json_array_size(rows) >= GS_HISTORY_STEPS_MAX)
		fprintf(stderr,
			"gpusharectl: these are the latest %d job steps; --user, --partition, "
			"--since and --job choose among all\n",
			GS_HISTORY_STEPS_MAX);
	return rc;
}

/* --user: as the reports name the user. */
static int take_user(void *of, const char *value, struct gs_error *err)
{
	const struct passwd *pw = strlen(value) < GS_USER_NAME_MAX ? NULL : getpwnam(value);

	if (!*value)
		return gs_fail(err, "a user's name is wanted");
	if (!pw && strlen(value) >= GS_USER_NAME_MAX)
		return gs_fail(err, "there is no user '%.64s'", value);
	gs_user_name(of, value, pw ? pw->pw_uid : 0);
	return 0;
}

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	const char *partition = "", *html = NULL;
	const struct gs_column *columns;
	struct gs_show show = { 0 };
	struct gs_ctl_text text;
	int selects = 0, status;
	struct gs_error err;
	struct gs_msg msg;
	struct gs_msg_history *request = &msg.history;
	const struct gs_option options[] = {
		{ "job", 'j', .take = gs_ctl_take_job, .of = &request->job_id },
		{ "html", .text = &html },
		{ "since", .given = &selects, .take = gs_ctl_since, .of = &request->since },
		{ "user", 'u', .given = &selects, .take = take_user, .of = request->user },
		{ "partition", 'p', .given = &selects, .text = &partition },
		{ "by", .given = &selects, .take = parse_group, .of = &request->group },
		GS_SHOW_OPTIONS(&show),
		{ NULL },
	};

	gs_msg_init(&msg, GS_MSG_HISTORY, 1);
	status = gs_ctl_options(verb, options, argc, argv);
	if (status < 0)
		status = gs_ctl_check_show(verb, &show, columns_by(request->group));
	if (status >= 0)
		return status;
	if (gs_msg_str(request->partition, sizeof(request->partition), partition) < 0)
		return gs_ctl_usage(verb, "a name is too long");
	if (html && (show.json || request->group != GS_GROUP_STEP))
		return gs_ctl_usage(verb, "--html goes with neither --json nor --by");
	request->json = 1;
	if (html)
		return gs_ctl_report_html(socket, &msg, selects, html);
	columns = columns_by(request->group);
	/* The daemon has those that are over first. */
	if (!show.sort && request->group == GS_GROUP_STEP)
		show.sort = GS_REPORT_ORDER;
	if ((selects ? fetch_history(socket, &msg, &text, &err) :
		       gs_ctl_get(socket, GS_QUERY_REPORT, request->job_id, &text, &err)) < 0)
		return gs_ctl_fail("%s", err.text);
	return gs_ctl_show_answer(&show, &text, show_report, columns);
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
		"      --html FILE       write a page for a browser: timeline, users, memory, steps\n" GS_SHOW_HELP
		"\n"
		"--user, --partition, --since and --by ask the history (HistoryFile).\n",
	.run = run,
};
