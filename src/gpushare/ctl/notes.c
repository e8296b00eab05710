/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reasons that the table has no room for; see notes.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/notes.h"

#include <stdlib.h>
#include <string.h>

#include "gpushare/ctl/cell.h"

#define INDENT 4

static const struct gs_column *reason_of(const struct gs_layout *layout)
{
	for (size_t i = 0; i < layout->picks; i++) {
		const struct gs_column *c = layout->pick[i].column;

		if (c->kind == GS_KIND_NAME &&
		    (strcmp(c->key, "reason") == 0 || strcmp(c->key, "why") == 0))
			return c;
	}
	return NULL;
}

/* The text in lines, broken between words; each but the first is indented. */
static void print_wrapped(FILE *out, char *text, size_t width)
{
	size_t at = 0;
	char *rest = NULL;

	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		size_t takes = gs_text_width(word);

		if (at && at + 1 + takes > width) {
			fprintf(out, "\n%*s", INDENT, "");
			at = INDENT;
		} else if (at) {
			fputc(' ', out);
			at++;
		}
		fputs(word, out);
		at += takes;
	}
	fputc('\n', out);
}

static void print_note(FILE *out, json_t *row, const char *reason, size_t width)
{
	char *job = gs_cell(GS_KIND_JOB, json_object_get(row, "job"), 1);
	char *step = gs_cell(GS_KIND_TEXT, json_object_get(row, "step"), 1);
	char *text = NULL;

	if (job && step && asprintf(&text, "job %s.%s: %s", job, step, reason) >= 0)
		print_wrapped(out, text, width);
	free(text);
	free(job);
	free(step);
}

void gs_notes_print(FILE *out, const struct gs_lines *lines, const struct gs_layout *layout,
		    json_t *rows, size_t width)
{
	const struct gs_column *column = reason_of(layout);
	int begun = 0;

	if (!width || layout->chosen || !column)
		return;
	for (size_t i = 1; i < lines->n; i++) {
		json_t *row = json_array_get(rows, lines->row[i - 1]);
		char *reason = gs_cell(column->kind, json_object_get(row, column->key), 1);

		if (reason && strcmp(reason, "-") != 0 && !strstr(lines->line[i], reason)) {
			if (!begun++)
				fputc('\n', out);
			print_note(out, row, reason, width);
		}
		free(reason);
	}
}
