/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpusharectl trace, gpusharectl plot: who had the GPU when, for Perfetto and as a picture. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/ctl/ctl.h"
#include "gpushare/ctl/picture.h"

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

static void write_picture(FILE *out, const struct gs_picture *p, int svg)
{
	if (svg)
		gs_timeline_svg(out, p->panel, p->panels, p->origin_ns, "");
	else
		gs_timeline_trace(out, p->panel, p->panels);
}

/* Write it to the file, "-" for standard output; the exit status. */
static int write_to(const char *path, const struct gs_picture *p, int svg)
{
	int std = strcmp(path, "-") == 0, bad;
	FILE *out = std ? stdout : fopen(path, "we");

	if (!out)
		return gs_ctl_fail("cannot write %s: %s", path, strerror(errno));
	write_picture(out, p, svg);
	bad = fflush(out) != 0 || ferror(out);
	if (!std)
		bad |= fclose(out) != 0;
	return bad ? gs_ctl_fail("cannot write %s: %s", path, strerror(errno)) : 0;
}

static int draw(const char *socket, const char *path, int svg)
{
	struct gs_trace_image image;
	struct gs_picture picture;
	struct gs_error err;
	int rc;

	if (get_image(socket, &image, &err) < 0)
		return gs_ctl_fail("%s", err.text);
	rc = gs_picture_make(&picture, &image, svg ? GS_LANE_PER_STEP : GS_LANE_PER_CLIENT, svg);
	if (rc < 0) {
		gs_trace_image_free(&image);
		return gs_ctl_fail("no memory");
	}
	rc = write_to(path, &picture, svg);
	gs_picture_free(&picture);
	gs_trace_image_free(&image);
	return rc;
}

static int run_trace(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	const char *path = "-";
	const struct gs_option options[] = { { "json", .text = &path }, { NULL } };
	int status = gs_ctl_options(verb, options, argc, argv);

	return status < 0 ? draw(socket, path, 0) : status;
}

static int run_plot(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	static const struct gs_option options[] = { { NULL } };
	int status = gs_ctl_options(verb, options, argc, argv);

	return status < 0 ? draw(socket, argv[optind], 1) : status;
}

const struct gs_verb gs_verb_trace = {
	.name = "trace",
	.usage = "[--json FILE]",
	.words = "Write who had the GPU when as Chrome trace events, for Perfetto",
	.help = "  --json FILE  write to FILE; -, the default, is standard output\n",
	.run = run_trace,
};

const struct gs_verb gs_verb_plot = {
	.name = "plot",
	.usage = "FILE",
	.words = "Write the same as an SVG picture, with each job step's slowdown",
	.help = "FILE - is standard output.\n",
	.operand = "file",
	.run = run_plot,
};
