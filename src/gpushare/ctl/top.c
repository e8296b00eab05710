/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpusharectl top: the GPUs and who uses them, again and again.  Two answers
 * of `status`, an interval apart, tell what each step had of the time between.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "gpushare/ctl/ctl.h"
#include "gpushare/ctl/screen.h"
#include "gpushare/ctl/top_rows.h"
#include "gpushare/ctl/top_screen.h"

#define INTERVAL_MIN_NS (50 * GS_NS_PER_MS)

struct top {
	const char *socket;
	uint64_t interval_ns;
	struct gs_top_view view;
	json_t *status; /* the latest, with what came of it since the one before */
	uint64_t at_ns;
	int screen, colour;
};

/* Ask again, and compare.  -1 with the reason. */
static int inspect(struct top *t, struct gs_error *err)
{
	json_t *now = gs_ctl_request(t->socket, GS_QUERY_STATUS, 0, err);
	uint64_t at_ns = gs_clock_ns();

	if (!now)
		return -1;
	gs_top_parts(now, t->status);
	json_decref(t->status);
	t->status = now;
	t->at_ns = at_ns;
	return 0;
}

/* One write for all of it, so that the screen does not flicker. */
static int draw(struct top *t, struct gs_error *err)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc;

	if (!out)
		return gs_fail(err, "no memory");
	rc = gs_top_draw(out, &t->view, t->status, gs_screen_width(),
			 t->screen ? gs_screen_height() : 0, t->colour, err);
	if (fclose(out) != 0 && rc == 0)
		rc = gs_fail(err, "no memory");
	if (rc == 0)
		fwrite(text, 1, size, stdout);
	if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		rc = gs_fail_errno(err, "cannot write");
	free(text);
	return rc;
}

static void wait_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / GS_NS_PER_S), (long)(ns % GS_NS_PER_S) };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

/* Keys until it is time to look again.  1: look; 0: quit; -1 with the reason. */
static int keys(struct top *t, uint64_t until, struct gs_error *err)
{
	for (;;) {
		uint64_t now = gs_clock_ns();
		int key = gs_screen_key(now < until ? until - now : 0), does;

		if (key == GS_KEY_NONE || (key == ' ' && !t->view.typing))
			return 1;
		does = gs_top_key(&t->view, key, gs_screen_height() / 2);
		if (does < 0)
			return 0;
		if (does && draw(t, err) < 0)
			return -1;
	}
}

static int watch_screen(struct top *t, struct gs_error *err)
{
	int rc;

	gs_screen_begin();
	do {
		rc = draw(t, err);
		if (rc == 0)
			rc = keys(t, t->at_ns + t->interval_ns, err);
		if (rc > 0)
			rc = inspect(t, err) < 0 ? -1 : 1;
	} while (rc > 0);
	gs_screen_end();
	return rc;
}

/* A terminal that cannot move its cursor gets one table below the other. */
static int watch_plain(struct top *t, int once, struct gs_error *err)
{
	int rc;

	do {
		rc = draw(t, err);
		if (rc < 0 || once)
			return rc;
		putchar('\n');
		wait_ns(t->interval_ns);
		rc = inspect(t, err);
	} while (rc == 0);
	return rc;
}

static int watch(struct top *t, int once)
{
	struct gs_error err;
	int rc = inspect(t, &err);

	if (rc == 0) {
		wait_ns(t->interval_ns);
		rc = inspect(t, &err);
	}
	if (rc == 0)
		rc = t->screen ? watch_screen(t, &err) : watch_plain(t, once, &err);
	json_decref(t->status);
	return rc < 0 ? gs_ctl_fail("%s", err.text) : 0;
}

static int run(const struct gs_verb *verb, const char *socket, int argc, char **argv)
{
	struct top t = { .socket = socket, .interval_ns = GS_NS_PER_S };
	struct gs_show show = { 0 };
	const char *no_colour = getenv("NO_COLOR");
	int once = 0, status;
	const struct gs_option options[] = {
		{ "once", .given = &once },
		{ "interval", 'i', .duration = &t.interval_ns },
		{ "format", 'o', .text = &t.view.format },
		{ "sort", 'S', .text = &t.view.sort },
		{ NULL },
	};

	status = gs_ctl_options(verb, options, argc, argv);
	show.format = t.view.format;
	show.sort = t.view.sort;
	if (status < 0)
		status = gs_ctl_check_show(verb, &show, gs_columns_top);
	if (status >= 0)
		return status;
	if (t.interval_ns < INTERVAL_MIN_NS)
		return gs_ctl_usage(verb, "--interval: at least 50 ms");
	t.screen = !once && gs_screen_is_smart();
	t.colour = t.screen && !(no_colour && *no_colour);
	return watch(&t, once || !isatty(STDOUT_FILENO));
}

const struct gs_verb gs_verb_top = {
	.name = "top",
	.usage = "[OPTION]...",
	.words = "Watch what each job step gets of the GPUs",
	.help = "  -i, --interval TIME  between two looks (default: 1s; at least 50ms)\n"
		"      --once           print one table and exit, as into a pipe\n"
		"  -o, --format LIST    these columns, as in job,user:12,gpu_pct; help lists them\n"
		"  -S, --sort LIST      by these columns, as in -gpu_pct,job\n"
		"\nKeys: q quits, h lists the others.\n",
	.run = run,
};
