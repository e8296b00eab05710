/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a job waits, below a table in which there was no room for all of that.  Pure. */
#ifndef GPUSHARE_CTL_NOTES_H
#define GPUSHARE_CTL_NOTES_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "gpushare/ctl/layout.h"
#include "gpushare/ctl/table.h"

/*
 * For each row of the table whose reason (the column reason, or why) is not in its line in full: a
 * line "job 12.0: the reason" of at most `width` columns, and more of them where it is longer;
 * before the first an empty one.  Nothing where the columns were chosen, or width is 0.
 */
void gs_notes_print(FILE *out, const struct gs_lines *lines, const struct gs_layout *layout,
		    json_t *rows, size_t width);

#endif
