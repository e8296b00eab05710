/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture that `gpusharectl top` draws, and what the keys change of it. */
#ifndef GPUSHARE_CTL_TOP_SCREEN_H
#define GPUSHARE_CTL_TOP_SCREEN_H

#include <jansson.h>
#include <stdio.h>

#include "common/error.h"

struct gs_top_view {
	const char *format,
		*sort;  /* the user's; NULL: top's own, and the sort that was chosen by key */
	unsigned order; /* which of the sorts */
	int reversed;
	int users; /* a row per user */
	int help;
	int typing; /* the filter is being typed */
	char filter[64];
	size_t scroll; /* so many rows are above the screen */
};

/* Draw it: `height` lines of `width` columns, or all lines where height is 0; width 0: no limit. */
int gs_top_draw(FILE *out, const struct gs_top_view *view, json_t *status, size_t width,
		size_t height, int colour, struct gs_error *err);

/* A key was pressed.  0: go on; 1: draw anew; -1: it was to quit. */
int gs_top_key(struct gs_top_view *view, int key, size_t page);

#endif
