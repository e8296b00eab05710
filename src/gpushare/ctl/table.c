/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables that fit a terminal; see table.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/ctl/cell.h"
#include "gpushare/ctl/kernel_name.h"

#define TEXT_LEAST 8    /* no word is cut to less, whatever else is left out for it */
#define NAME_LEAST 16   /* nor a sentence */
#define PERCENT_LEAST 5 /* 100.0, so that a table that is drawn again does not move */
#define RANK_LATE 20    /* from that rank on only if all before it are shown */
#define KERNEL_FAIR 48  /* what a kernel's name gets before others are cut for it */

struct column {
	const struct gs_pick *pick;
	size_t natural, least, width; /* width 0: it is not shown */
	int figure, empty;
};

struct work {
	const struct gs_layout *layout;
	struct column column[GS_LAYOUT_COLUMNS];
	size_t rows;
	char **cell; /* row by row */
};

static char **cell_at(struct work *w, size_t row, size_t column)
{
	return &w->cell[row * w->layout->picks + column];
}

static int fill(struct work *w, json_t *rows, const size_t *order, int brief)
{
	size_t n = w->layout->picks;

	for (size_t r = 0; r < w->rows; r++)
		for (size_t c = 0; c < n; c++) {
			const struct gs_column *column = w->layout->pick[c].column;
			json_t *value =
				json_object_get(json_array_get(rows, order[r]), column->key);
			char *cell = gs_cell(column->kind, value, brief);

			if (!cell)
				return -1;
			if (brief && column->kind == GS_KIND_KERNEL)
				gs_kernel_name_shorten(cell, KERNEL_FAIR);
			*cell_at(w, r, c) = cell;
		}
	return 0;
}

static void find_widths(struct work *w)
{
	for (size_t c = 0; c < w->layout->picks; c++) {
		struct column *column = &w->column[c];
		size_t head, most;

		column->pick = &w->layout->pick[c];
		column->empty = !w->layout->chosen && !w->layout->steady && w->rows;
		column->figure = gs_kind_is_figure(column->pick->column->kind);
		most = head = gs_text_width(column->pick->head);
		if (column->pick->column->kind == GS_KIND_PERCENT && most < PERCENT_LEAST)
			most = PERCENT_LEAST;
		for (size_t r = 0; r < w->rows; r++) {
			size_t width = gs_text_width(*cell_at(w, r, c));

			most = width > most ? width : most;
			column->empty &= strcmp(*cell_at(w, r, c), "-") == 0;
		}
		if (column->pick->width)
			column->natural = column->least = column->pick->width;
		else {
			size_t least = column->pick->column->kind == GS_KIND_NAME ? NAME_LEAST :
										    TEXT_LEAST;

			least = head > least ? head : least;

			column->natural = most;
			column->least = column->figure || most < least ? most : least;
		}
	}
}

/* Columns by their ranks, the smallest first. */
static int next_rank(const struct work *w, const char *done)
{
	int best = -1;

	for (size_t c = 0; c < w->layout->picks; c++)
		if (!done[c] && (best < 0 || w->column[c].pick->column->rank <
						     w->column[best].pick->column->rank))
			best = (int)c;
	return best;
}

/* What room is left goes to the columns that are shown; returns how much is used. */
static size_t grow(struct work *w, size_t width, size_t used)
{
	char done[GS_LAYOUT_COLUMNS] = { 0 };
	int c;

	while ((c = next_rank(w, done)) >= 0) {
		struct column *column = &w->column[c];
		size_t left = width > used ? width - used : 0;
		size_t more = column->natural - column->width;

		done[c] = 1;
		if (!column->width)
			continue;
		more = more < left ? more : left;
		column->width += more;
		used += more;
	}
	return used;
}

/* A kernel's name loses whole parts, so it may leave room for others; returns how much. */
static size_t tighten(struct work *w)
{
	size_t freed = 0;

	for (size_t c = 0; c < w->layout->picks; c++) {
		struct column *column = &w->column[c];
		size_t most = gs_text_width(column->pick->head);

		if (column->pick->column->kind != GS_KIND_KERNEL || column->pick->width)
			continue;
		for (size_t r = 0; r < w->rows; r++) {
			size_t has;

			gs_kernel_name_shorten(*cell_at(w, r, c), column->width);
			has = gs_text_width(*cell_at(w, r, c));
			most = has > most ? has : most;
		}
		if (most < column->width) {
			freed += column->width - most;
			column->width = column->natural = most;
		}
	}
	return freed;
}

/* Which columns there is room for, and how wide; returns what stands between two. */
static unsigned fit(struct work *w, size_t width)
{
	char done[GS_LAYOUT_COLUMNS] = { 0 };
	size_t n = w->layout->picks, all = 0, used = 0;
	int c, full = 0;

	for (size_t i = 0; i < n; i++)
		all += w->column[i].width = w->column[i].natural;
	if (!width || all + 2 * (n - 1) <= width)
		return 2;
	for (size_t i = 0; i < n; i++)
		w->column[i].width = 0;
	while ((c = next_rank(w, done)) >= 0) {
		size_t takes = w->column[c].least + (used != 0);
		int fits = used + takes <= width;

		done[c] = 1;
		if (w->layout->chosen || (!w->column[c].empty && fits &&
					  (!full || w->column[c].pick->column->rank < RANK_LATE))) {
			w->column[c].width = w->column[c].least;
			used += takes;
		}
		full |= !fits;
	}
	used = grow(w, width, used);
	grow(w, width, used - tighten(w));
	return 1;
}

/* The cell in its width; a text that is cut ends in '+'. */
static void put(FILE *out, const struct column *column, char *cell, int last)
{
	size_t width = column->width, has;

	if (gs_text_width(cell) > width && column->pick->column->kind == GS_KIND_KERNEL)
		gs_kernel_name_shorten(cell, width); /* only where --format fixed the width */
	has = gs_text_width(cell);
	if (column->figure)
		for (size_t i = has; i < width; i++)
			fputc(' ', out);
	if (has <= width) {
		fputs(cell, out);
	} else {
		size_t shown = 0;

		for (const char *c = cell; *c; c++) {
			shown += ((unsigned char)*c & 0xc0) != 0x80;
			if (shown >= width)
				break;
			fputc(*c, out);
		}
		fputc('+', out);
	}
	if (!column->figure && !last)
		for (size_t i = has; i < width; i++)
			fputc(' ', out);
}

static char *line_of(struct work *w, char **cells, unsigned between)
{
	size_t size, last = 0;
	char *line = NULL;
	int begun = 0;
	FILE *out = open_memstream(&line, &size);

	if (!out)
		return NULL;
	for (size_t c = 0; c < w->layout->picks; c++)
		last = w->column[c].width ? c : last;
	for (size_t c = 0; c < w->layout->picks; c++) {
		if (!w->column[c].width)
			continue;
		fprintf(out, "%*s", begun++ ? (int)between : 0, "");
		put(out, &w->column[c], cells[c], c == last);
	}
	if (fclose(out) != 0) {
		free(line);
		return NULL;
	}
	return line;
}

static char *head_of(struct work *w, unsigned between)
{
	char *cells[GS_LAYOUT_COLUMNS] = { NULL }, *line = NULL;
	int whole = 1;

	for (size_t c = 0; c < w->layout->picks; c++)
		whole &= (cells[c] = strdup(w->column[c].pick->head)) != NULL;
	if (whole)
		line = line_of(w, cells, between);
	for (size_t c = 0; c < w->layout->picks; c++)
		free(cells[c]);
	return line;
}

int gs_table_lines(struct gs_lines *lines, const struct gs_layout *layout, json_t *rows,
		   size_t width)
{
	struct work w = { .layout = layout, .rows = json_array_size(rows) };
	unsigned between;
	int rc = -1;

	*lines = (struct gs_lines) { .n = 0 };
	lines->row = gs_layout_order(layout, rows);
	lines->line = calloc(w.rows + 1, sizeof(*lines->line));
	w.cell = calloc(w.rows * layout->picks + 1, sizeof(*w.cell));
	if (lines->row && lines->line && w.cell && fill(&w, rows, lines->row, width != 0) == 0) {
		find_widths(&w);
		between = fit(&w, width);
		rc = 0;
		for (size_t i = 0; i <= w.rows; i++) {
			char *line = i ? line_of(&w, cell_at(&w, i - 1, 0), between) :
					 head_of(&w, between);

			if (!line)
				rc = -1;
			lines->line[lines->n++] = line;
		}
	}
	for (size_t i = 0; w.cell && i < w.rows * layout->picks; i++)
		free(w.cell[i]);
	free(w.cell);
	if (rc < 0)
		gs_lines_free(lines);
	return rc;
}

void gs_lines_free(struct gs_lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->line[i]);
	free(lines->line);
	free(lines->row);
	*lines = (struct gs_lines) { .n = 0 };
}
