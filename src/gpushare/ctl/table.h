/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of JSON as lines of text that fit a terminal.  Pure. */
#ifndef GPUSHARE_CTL_TABLE_H
#define GPUSHARE_CTL_TABLE_H

#include <jansson.h>
#include <stddef.h>

#include "gpushare/ctl/layout.h"

/* The heading is line[0]; then a line per row, of rows[row[i]] in line[i + 1]. */
struct gs_lines {
	char **line;
	size_t n; /* with the heading */
	size_t *row;
};

/*
 * Lines of at most `width` columns; 0: as long as they must be, with every column and nothing cut.
 * Where the columns do not all fit, those of the smallest ranks in which any row has something are
 * taken, and what is then left over goes to their texts, which end in '+' where they are cut.  0;
 * -1: no memory.
 */
int gs_table_lines(struct gs_lines *lines, const struct gs_layout *layout, json_t *rows,
		   size_t width);
void gs_lines_free(struct gs_lines *lines);

#endif
