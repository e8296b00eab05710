/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line by line through a text; see reader.h. */
#include "gpushare/sim/reader.h"

#include <stdlib.h>
#include <string.h>

#define ASK_FIRST 512 /* whoever goes from place to place wants a line only */

int sim_reader_open(struct sim_reader *r, const struct sim_text *text, struct gs_error *err)
{
	*r = (struct sim_reader){ .text = text, .ask = SIM_LINE_MAX };
	r->line.file = text->name;
	r->buffer = malloc(SIM_LINE_MAX);
	return r->buffer ? 0 : gs_fail(err, "no memory");
}

void sim_reader_close(struct sim_reader *r)
{
	free(r->buffer);
	r->buffer = NULL;
}

void sim_reader_seek(struct sim_reader *r, uint64_t line_at)
{
	if (line_at >= r->at && line_at - r->at < r->have) {
		r->from = (size_t)(line_at - r->at);
		return;
	}
	r->at = line_at;
	r->from = r->have = 0;
	r->ended = 0;
	r->ask = ASK_FIRST;
}

/* More text behind what is not read yet, which moves to the front. */
static int fill(struct sim_reader *r, struct gs_error *err)
{
	size_t room;
	ssize_t n;

	memmove(r->buffer, r->buffer + r->from, r->have - r->from);
	r->at += r->from;
	r->have -= r->from;
	r->from = 0;
	room = SIM_LINE_MAX - r->have;
	if (room == 0) {
		r->line.number++;
		return sim_line_fail(&r->line, 1, err, "a line of more than 65535 characters");
	}
	if (room > r->ask)
		room = r->ask;
	r->ask *= r->ask < SIM_LINE_MAX ? 2 : 1;
	n = sim_text_read(r->text, r->at + r->have, r->buffer + r->have, room, err);
	if (n < 0)
		return -1;
	r->have += (size_t)n;
	r->ended = (size_t)n < room;
	return 0;
}

/* Any line, its end stripped: 1; 0: there is none; -1. */
static int next_line(struct sim_reader *r, struct gs_error *err)
{
	const char *text, *eol;
	size_t len;

	while (!(eol = memchr(r->buffer + r->from, '\n', r->have - r->from)) && !r->ended)
		if (fill(r, err) < 0)
			return -1;
	text = r->buffer + r->from;
	len = eol ? (size_t)(eol - text) : r->have - r->from;
	if (!eol && len == 0)
		return 0;
	r->line_at = r->at + r->from;
	r->from += len + (eol != NULL);
	r->line.number++;
	r->line.text = text;
	r->line.len = len - (len > 0 && text[len - 1] == '\r');
	return 1;
}

/* A line that counts, behind the one that names the columns. */
static int next_row(struct sim_reader *r, struct gs_error *err)
{
	int rc;

	while ((rc = next_line(r, err)) == 1) {
		if (r->line.len == 0 || *r->line.text == '#')
			continue;
		if (r->columns.count)
			break;
		if (sim_line_columns(&r->line, &r->columns, err) < 0)
			return -1;
	}
	return rc;
}

int sim_reader_kernel(struct sim_reader *r, struct sim_kernel *kernel, struct gs_error *err)
{
	int rc = next_row(r, err);

	return rc == 1 && sim_line_kernel(&r->line, &r->columns, kernel, err) < 0 ? -1 : rc;
}

int sim_reader_name(struct sim_reader *r, char name[SIM_NAME_MAX], size_t *column,
		    struct gs_error *err)
{
	int rc = next_row(r, err);

	return rc == 1 && sim_line_name(&r->line, &r->columns, name, column, err) < 0 ? -1 : rc;
}
