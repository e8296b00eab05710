/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl report --html: what the page is made of, asked from the daemon. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpushare/ctl/ctl.h"
#include "gpushare/ctl/html.h"

/* The history answers where something selects but a job. */
static int fetch_steps(const char *socket, struct gs_msg *msg, int selects,
		       struct gs_ctl_text *text, struct gs_error *err)
{
	int sock, rc;

	if (!selects)
		return gs_ctl_get(socket, GS_QUERY_REPORT, msg->history.job_id, text, err);
	sock = gs_ctl_connect(socket, err);
	if (sock < 0)
		return -1;
	rc = gs_ctl_fetch(sock, msg, text, err);
	close(sock);
	return rc;
}

/* An SVG, or the words why there is none: a report without a picture is one, too. */
static char *timeline_of(const char *socket, const struct gs_msg_history *request, int *words)
{
	struct gs_timeline_query query = { 1, request->job_id, request->since };
	struct gs_error err = { "" };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	*words = gs_ctl_timeline(out, socket, &query, &err) < 0;
	fclose(out);
	if (!*words)
		return text;
	free(text);
	return strdup(err.text);
}

/* "gpushare on n1": when it was made, and of whom it is. */
static void describe(const struct gs_msg_history *request, char *title, char *about, size_t size)
{
	time_t now = time(NULL), since = (time_t)request->since;
	char host[64] = "", from[64] = "", when[64];
	struct tm tm;

	if (gethostname(host, sizeof(host) - 1) < 0)
		*host = '\0';
	snprintf(title, size, "gpushare%s%s", *host ? " on " : "", host);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %Z", localtime_r(&now, &tm));
	if (since)
		strftime(from, sizeof(from), ", since %Y-%m-%d %H:%M:%S", localtime_r(&since, &tm));
	snprintf(about, size, "Made on %s%s%s%s%s%s.", when, from,
		 *request->user ? ", of user " : "", request->user,
		 *request->partition ? ", of partition " : "", request->partition);
}

int gs_ctl_report_html(const char *socket, struct gs_msg *msg, int selects, const char *path)
{
	struct gs_ctl_text steps = { NULL, 0 }, memory = { NULL, 0 };
	char title[200], about[200], *timeline, *text = NULL;
	struct gs_html page = { .title = title, .about = about };
	size_t size = 0;
	struct gs_error err = { "no memory" };
	FILE *out;
	int rc = -1;

	describe(&msg->history, title, about, sizeof(title));
	timeline = timeline_of(socket, &msg->history, &page.timeline_words);
	page.timeline = timeline;
	out = open_memstream(&text, &size);
	if (timeline && out && fetch_steps(socket, msg, selects, &steps, &err) == 0 &&
	    gs_ctl_get(socket, GS_QUERY_MEMORY, 0, &memory, &err) == 0) {
		page.steps = steps.bytes;
		page.memory = memory.bytes;
		rc = gs_html_write(out, &page, &err);
	}
	if (out)
		fclose(out);
	rc = rc < 0 ? gs_ctl_fail("%s", err.text) : gs_ctl_save(path, text, size);
	free(timeline);
	free(text);
	free(steps.bytes);
	free(memory.bytes);
	return rc;
}
