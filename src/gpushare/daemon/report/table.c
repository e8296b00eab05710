/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of text; see table.h. */
#define _GNU_SOURCE
#include "gpushare/daemon/report/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void gs_table_open(struct gs_table *t, size_t columns)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns;
	t->out = open_memstream(&t->buf, &t->len);
	t->failed = !t->out;
}

void gs_table_cell(struct gs_table *t, const char *fmt, ...)
{
	va_list ap;

	if (t->cells == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		void *grown = realloc(t->cell, room * sizeof(*t->cell));

		if (!grown) {
			t->failed = 1;
			return;
		}
		t->cell = grown;
		t->room = room;
	}
	va_start(ap, fmt);
	vsnprintf(t->cell[t->cells++], GS_CELL_MAX, fmt, ap);
	va_end(ap);
}

/* Figures stand right, words left; the last column is not padded. */
static int is_figure(const char *cell)
{
	return cell[0] >= '0' && cell[0] <= '9' && cell[strspn(cell, "0123456789.")] == '\0';
}

/* Positive: figures, to the right; negative: words, to the left. */
static int column_width(const struct gs_table *t, size_t column)
{
	size_t width = 0;
	int figures = 1;

	for (size_t i = column; i < t->cells; i += t->columns) {
		if (strlen(t->cell[i]) > width)
			width = strlen(t->cell[i]);
		if (i >= t->columns)
			figures &= is_figure(t->cell[i]);
	}
	return figures ? (int)width : -(int)width;
}

void gs_table_print(struct gs_table *t, size_t next_columns)
{
	int width[64];

	for (size_t c = 0; c < t->columns && c < 64; c++)
		width[c] = column_width(t, c);
	for (size_t i = 0; !t->failed && i < t->cells; i++) {
		size_t c = i % t->columns;
		int last = c + 1 == t->columns;

		if (last && width[c] < 0)
			fprintf(t->out, "%s", t->cell[i]);
		else
			fprintf(t->out, "%*s", width[c], t->cell[i]);
		fputs(last ? "\n" : "  ", t->out);
	}
	t->cells = 0;
	t->columns = next_columns;
}

char *gs_table_close(struct gs_table *t)
{
	int bad = t->failed;

	if (t->out)
		bad |= fclose(t->out) != 0;
	free(t->cell);
	if (bad) {
		free(t->buf);
		return NULL;
	}
	return t->buf;
}
