/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CSV file of gpushare-bench mixes; see mixes.h. */
#define _GNU_SOURCE
#include "gpushare/bench/mixes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 1024

enum kind { TEXT, WAY, WHEN, COUNT, NUMBER };

static const struct column {
	const char *name;
	enum kind kind;
	size_t offset, size; /* of the member of struct mixes_row */
	int digits;
} columns[] = {
#define COLUMN(name, kind, member, digits) \
	{ name, kind, offsetof(struct mixes_row, member), \
	  sizeof(((struct mixes_row *)NULL)->member), digits },
#include "gpushare/bench/mixes_columns.def"
#undef COLUMN
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

void mixes_csv_head(FILE *out)
{
	for (size_t i = 0; i < COLUMNS; i++)
		fprintf(out, "%s%s", i ? "," : "", columns[i].name);
	fputc('\n', out);
}

/* A comma or a line's end within a text would end its field. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(*text == ',' || *text == '\n' ? ';' : *text, out);
}

static void put_field(FILE *out, const struct column *c, const char *member)
{
	switch (c->kind) {
	case TEXT:
		put_text(out, member);
		break;
	case WAY:
		fputs(mixes_way_name(*(const enum mixes_way *)member), out);
		break;
	case WHEN:
		fputs(mixes_when_name(*(const enum mixes_when *)member), out);
		break;
	case COUNT:
		fprintf(out, "%u", *(const unsigned *)member);
		break;
	case NUMBER:
		fprintf(out, "%.*f", c->digits, *(const double *)member);
		break;
	}
}

void mixes_csv_row(FILE *out, const struct mixes_row *r)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		if (i)
			fputc(',', out);
		put_field(out, &columns[i], (const char *)r + columns[i].offset);
	}
	fputc('\n', out);
}

/* A line's fields, in place; their number, at most max. */
static size_t fields(char *line, char **field, size_t max)
{
	size_t n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *rest = line; rest && n < max;)
		field[n++] = strsep(&rest, ",");
	return n;
}

/* Which columns a file has: one of an older version lacks some. */
struct head {
	const struct column *column[COLUMNS];
	size_t count;
};

static int parse_head(char *line, struct head *head)
{
	char *field[COLUMNS + 1];
	size_t n = fields(line, field, COLUMNS + 1);

	if (n > COLUMNS)
		return -1;
	head->count = 0;
	for (size_t i = 0; i < n; i++) {
		const struct column *c = columns;

		while (c < columns + COLUMNS && strcmp(c->name, field[i]) != 0)
			c++;
		if (c == columns + COLUMNS)
			return -1;
		head->column[head->count++] = c;
	}
	return 0;
}

static int take_field(const struct column *c, const char *text, char *member)
{
	int i = 0;

	switch (c->kind) {
	case TEXT:
		snprintf(member, c->size, "%s", text);
		return 0;
	case WAY:
		for (i = MIXES_SLICING; i < MIXES_WAYS; i++)
			if (strcmp(mixes_way_name((enum mixes_way)i), text) == 0)
				break;
		*(enum mixes_way *)member = (enum mixes_way)i;
		return i < MIXES_WAYS ? 0 : -1;
	case WHEN:
		while (i < MIXES_WHENS && strcmp(mixes_when_name((enum mixes_when)i), text) != 0)
			i++;
		*(enum mixes_when *)member = (enum mixes_when)i;
		return i < MIXES_WHENS ? 0 : -1;
	case COUNT:
		*(unsigned *)member = (unsigned)atoi(text);
		return 0;
	case NUMBER:
		*(double *)member = atof(text);
		return 0;
	}
	return -1;
}

static int parse_row(char *line, const struct head *head, struct mixes_row *r)
{
	char *field[COLUMNS + 1];

	*r = (struct mixes_row) { .way = MIXES_WAYS };
	if (!head->count || fields(line, field, COLUMNS + 1) != head->count)
		return -1;
	for (size_t i = 0; i < head->count; i++)
		if (take_field(head->column[i], field[i], (char *)r + head->column[i]->offset) < 0)
			return -1;
	return r->way < MIXES_WAYS ? 0 : -1;
}

int mixes_csv_read(const char *path, unsigned run, struct mixes_row **row, size_t *count,
		   struct gs_error *err)
{
	char line[LINE_MAX_BYTES];
	FILE *f = fopen(path, "re");
	struct head head = { .count = 0 };
	unsigned number = 0;
	int rc = 0;

	if (!f)
		return gs_fail_errno(err, "cannot read %.150s", path);
	while (rc == 0 && fgets(line, sizeof(line), f)) {
		struct mixes_row *more;

		number++;
		if (line[0] == '#')
			continue;
		if (!head.count && strncmp(line, "mix,", 4) == 0 && parse_head(line, &head) == 0)
			continue;
		more = realloc(*row, (*count + 1) * sizeof(**row));
		if (more)
			*row = more;
		if (!more || parse_row(line, &head, &more[*count]) < 0)
			rc = gs_fail(err, "%.150s:%u: no row of gpushare-bench mixes", path,
				     number);
		else
			(*row)[(*count)++].run = run;
	}
	fclose(f);
	return rc;
}
