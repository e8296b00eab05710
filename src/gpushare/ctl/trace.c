/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl trace, gpusharectl plot: who had the GPU when, for Perfetto and as a picture. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpushare/ctl/ctl.h"
#include "gpushare/ctl/picture.h"
#include "gpushare/proto/job_name.h"

static int get_image(const char *socket, struct gs_trace_image *image, struct gs_error *err)
{
	struct gs_ctl_text text;
	int rc;

	if (gs_ctl_get(socket, GS_QUERY_TRACE, 0, &text, err) < 0)
		return -1;
	rc = gs_trace_unpack(text.bytes, text.size, image, err);
	free(text.bytes);
	return rc;
}

static int write_svg(FILE *out, const struct gs_picture *p, const struct gs_svg *edges)
{
	struct gs_svg how = *edges;
	char host[64] = "", title[100];

	if (gethostname(host, sizeof(host) - 1) < 0)
		*host = '\0';
	snprintf(title, sizeof(title), "Who had the GPUs of %s", *host ? host : "this node");
	how.title = title;
	return gs_timeline_svg(out, p->panel, p->panels, &how);
}

/* What is asked for of the image, and the clock and the edges of the picture. */
static int select_from(struct gs_trace_image *image, const struct gs_timeline_query *query,
		       struct gs_svg *how)
{
	struct timespec now;
	int64_t since = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	how->clock_ns =
		(int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec - (int64_t)image->now_ns;
	if (query->since)
		since = (int64_t)query->since * INT64_C(1000000000) - how->clock_ns;
	how->from_ns = since > 0 ? (uint64_t)since : 0;
	/* Up to now only if that was asked for: hours without a job would flatten all before them.
	 */
	how->to_ns = query->since && !query->job_id ? image->now_ns : 0;
	if (!query->job_id && !how->from_ns)
		return 0;
	return gs_picture_select(image, query->job_id, how->from_ns);
}

static int draw_image(FILE *out, struct gs_trace_image *image,
		      const struct gs_timeline_query *query, struct gs_error *err)
{
	struct gs_svg how = { .title = "" };
	struct gs_picture picture;
	int rc = 0;

	if (select_from(image, query, &how) < 0)
		return gs_fail(err, "no memory");
	if (query->job_id && !image->records)
		return gs_fail(err, "the daemon's trace has nothing of job " GS_JOB_F "%s",
			       GS_JOB(query->job_id), query->since ? " since then" : "");
	if (gs_picture_make(&picture, image, query->svg ? GS_LANE_PER_STEP : GS_LANE_PER_CLIENT) <
	    0)
		return gs_fail(err, "no memory");
	if (!how.from_ns)
		how.from_ns = picture.origin_ns;
	if (!query->svg)
		gs_timeline_trace(out, picture.panel, picture.panels);
	else if (write_svg(out, &picture, &how) < 0)
		rc = gs_fail(err, "no memory");
	gs_picture_free(&picture);
	return rc;
}

int gs_ctl_timeline(FILE *out, const char *socket, const struct gs_timeline_query *query,
		    struct gs_error *err)
{
	struct gs_trace_image image;
	int rc;

	if (get_image(socket, &image, err) < 0)
		return -1;
	rc = draw_image(out, &image, query, err);
	gs_trace_image_free(&image);
	return rc;
}

int gs_ctl_save(const char *path, const char *bytes, size_t size)
{
	int std = strcmp(path, "-") == 0, bad;
	FILE *out = std ? stdout : fopen(path, "we");

	if (!out)
		return gs_ctl_fail("cannot write %s: %s", path, strerror(errno));
	bad = fwrite(bytes, 1, size, out) != size || fflush(out) != 0 || ferror(out);
	if (!std)
		bad |= fclose(out) != 0;
	return bad ? gs_ctl_fail("cannot write %s: %s", path, strerror(errno)) : 0;
}

/* A file is only opened, and what was there overwritten, when there is something to write. */
static int draw(const char *socket, const char *path, const struct gs_timeline_query *query)
{
	struct gs_error err = { "" };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int rc;

	if (!out)
		return gs_ctl_fail("no memory");
	rc = gs_ctl_timeline(out, socket, query, &err);
	if (fclose(out) != 0 && rc == 0)
		rc = gs_fail(&err, "no memory");
	rc = rc < 0 ? gs_ctl_fail("%s", err.text) : gs_ctl_save(path, text, size);
	free(text);
	return rc;
}

static int run_trace(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct gs_timeline_query query = { .svg = 0 };
	const char *path = "-";
	const struct gs_option options[] = {
		{ "json", .text = &path },
		{ "job", 'j', .take = gs_ctl_take_job, .of = &query.job_id },
		{ "since", .take = gs_ctl_since, .of = &query.since },
		{ NULL },
	};
	int status = gs_ctl_options(verb, options, argc, argv);

	return status < 0 ? draw(socket, path, &query) : status;
}

static int run_plot(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct gs_timeline_query query = { .svg = 1 };
	const struct gs_option options[] = {
		{ "job", 'j', .take = gs_ctl_take_job, .of = &query.job_id },
		{ "since", .take = gs_ctl_since, .of = &query.since },
		{ NULL },
	};
	int status = gs_ctl_options(verb, options, argc, argv);

	return status < 0 ? draw(socket, argv[optind], &query) : status;
}

#define SELECTION \
	"  -j, --job N       only the steps of job N\n" \
	"      --since TIME  only from then on: 90s, 10m, 12h ago, or 2026-01-31T12:00\n"

const struct gs_verb gs_verb_trace = {
	.name = "trace",
	.usage = "[OPTION]...",
	.words = "Write who had the GPU when as Chrome trace events, for Perfetto",
	.help = SELECTION "      --json FILE   write to FILE; -, the default, is standard output\n",
	.run = run_trace,
};

const struct gs_verb gs_verb_plot = {
	.name = "plot",
	.usage = "[OPTION]... FILE",
	.words = "Write the same as an SVG picture, with each job step's slowdown",
	.help = SELECTION
	"\nFILE - is standard output. Where several things happen within a pixel, the height of\n"
	"its column is the part of its time.\n",
	.operand = "file",
	.run = run_plot,
};
