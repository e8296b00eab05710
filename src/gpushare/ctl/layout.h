/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which columns of a table are shown, and in which order its rows: --format and --sort.  Pure. */
#ifndef GPUSHARE_CTL_LAYOUT_H
#define GPUSHARE_CTL_LAYOUT_H

#include <jansson.h>
#include <stddef.h>

#include "common/error.h"
#include "gpushare/ctl/columns.h"

#define GS_LAYOUT_COLUMNS 64
#define GS_LAYOUT_SORTS 8

/* The job steps of a report, unless --sort says otherwise. */
#define GS_REPORT_ORDER "start,job,step"

struct gs_pick {
	const struct gs_column *column;
	unsigned width; /* 0: as wide as it must be */
	const char *head;
};

struct gs_sort {
	const struct gs_column *column;
	int falling;
};

/* To be freed by gs_layout_free(). */
struct gs_layout {
	struct gs_pick pick[GS_LAYOUT_COLUMNS];
	size_t picks;
	int chosen; /* by --format: all of them are shown, however narrow the terminal */
	int steady; /* so is one in which no row has anything: the table is drawn again and again */
	struct gs_sort sort[GS_LAYOUT_SORTS];
	size_t sorts;
	char *format; /* what the heads point to */
};

/*
 * From "job,user:12,ntt=SLOWDOWN", all or NULL, and "-ntt,job" or NULL.  -1 with the reason, which
 * lists the names that there are.
 */
int gs_layout_make(struct gs_layout *layout, const struct gs_column *columns, const char *format,
		   const char *sort, struct gs_error *err);
void gs_layout_free(struct gs_layout *layout);

/* The rows' order, to be freed: indices into the array.  NULL: no memory. */
size_t *gs_layout_order(const struct gs_layout *layout, json_t *rows);

#endif
