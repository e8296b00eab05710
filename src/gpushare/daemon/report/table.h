/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of texts, column by column as wide as its widest cell.  Pure. */
#ifndef GPUSHARE_DAEMON_TABLE_H
#define GPUSHARE_DAEMON_TABLE_H

#include <stddef.h>
#include <stdio.h>

#define GS_CELL_MAX 160

struct gs_table {
	char *buf;
	size_t len;
	FILE *out; /* for what stands between tables; not if failed */
	char (*cell)[GS_CELL_MAX];
	size_t columns, cells, room;
	int failed;
};

/* At most 64 columns. */
void gs_table_open(struct gs_table *table, size_t columns);

/* The next cell, row by row. */
void gs_table_cell(struct gs_table *table, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Print the collected cells and begin anew with that many columns. */
void gs_table_print(struct gs_table *table, size_t next_columns);

/* The text, to be freed; NULL: no memory. */
char *gs_table_close(struct gs_table *table);

#endif
