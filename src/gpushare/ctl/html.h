/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `gpusharectl report --html`: the report as one file for a browser, with no script and nothing
 * from elsewhere.  Pure. */
#ifndef GPUSHARE_CTL_HTML_H
#define GPUSHARE_CTL_HTML_H

#include <stdio.h>

#include "common/error.h"

/* What the daemon has answered, as JSON text, but for the picture. */
struct gs_html {
	const char *title;
	const char *about;    /* when it was made, and of what it is a selection */
	const char *timeline; /* an SVG picture, or words (timeline_words) why there is none */
	int timeline_words;
	const char *steps;  /* `report --json` */
	const char *memory; /* `memory --json` */
};

/* 0, or -1 with the reason: an answer that is no such JSON, or no memory. */
int gs_html_write(FILE *out, const struct gs_html *page, struct gs_error *err);

#endif
