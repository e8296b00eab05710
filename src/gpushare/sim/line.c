/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the lines of a workload file say; see line.h. */
#include "gpushare/sim/line.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

#define FIELD_MAX_BYTES 80
#define TASKS_MAX INT64_C(1000000000000)

enum column {
	COL_NAME,
	COL_ARRIVAL,
	COL_LENGTH,
	COL_TASKS,
	COL_PRIORITY,
	COL_SHARES,
	COL_MEMORY,
	COL_ORIGINAL,
	COL_PERIOD,
	COL_DEADLINE,
	COL_COUNT,
};

_Static_assert(COL_COUNT == SIM_COLUMNS, "a place for each");

static const char *const column_name[COL_COUNT] = {
	"name",   "arrival_ms", "length_ms",   "block_tasks", "priority",
	"shares", "memory_mb",  "original_ms", "period_ms",   "deadline_ms",
};

/* One field of a line, as text. */
struct field {
	char text[FIELD_MAX_BYTES];
	size_t at; /* column of its first character, from 1 */
};

int sim_line_fail(const struct sim_line *line, size_t column, struct gs_error *err, const char *why)
{
	return gs_fail(err, "%.80s:%zu:%zu: %.140s", line->file, line->number, column, why);
}

/* The field that begins at *at; *at goes behind its comma, or to NULL at the line's end. */
static int next_field(const struct sim_line *line, const char **at, struct field *field,
		      struct gs_error *err)
{
	const char *end = line->text + line->len, *from = *at;
	const char *to = memchr(from, ',', (size_t)(end - from));

	*at = to ? to + 1 : NULL;
	if (!to)
		to = end;
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	field->at = (size_t)(from - line->text) + 1;
	if ((size_t)(to - from) >= sizeof(field->text))
		return sim_line_fail(line, field->at, err, "a field of more than 79 characters");
	memcpy(field->text, from, (size_t)(to - from));
	field->text[to - from] = '\0';
	if (memchr(field->text, '\0', (size_t)(to - from)))
		return sim_line_fail(line, field->at, err, "a NUL byte");
	return 0;
}

static int parse_ms(const char *text, uint64_t *ns, struct gs_error *err)
{
	if (*text == '-')
		return gs_fail(err, "'%.40s' is negative", text);
	if (!*text || text[strspn(text, "0123456789.")])
		return gs_fail(err, "'%.40s' is not a number of milliseconds", text);
	return gs_parse_duration(text, ns, err);
}

static int parse_name(const char *text, char name[SIM_NAME_MAX], struct gs_error *err)
{
	size_t n = strlen(text);

	if (n == 0 || n >= SIM_NAME_MAX)
		return gs_fail(err, "a name has 1 to %d characters", SIM_NAME_MAX - 1);
	for (const char *c = text; *c; c++)
		if (!isprint((unsigned char)*c) || strchr("\"\\<>&", *c))
			return gs_fail(
				err,
				"a name is of printable ASCII characters but quotes, backslashes, <, > and &");
	memcpy(name, text, n + 1);
	return 0;
}

static int parse_field(enum column column, const char *text, struct sim_kernel *k,
		       struct gs_error *err)
{
	int64_t number;

	switch (column) {
	case COL_NAME:
		return parse_name(text, k->name, err);
	case COL_ARRIVAL:
		return parse_ms(text, &k->arrival_ns, err);
	case COL_LENGTH:
		if (parse_ms(text, &k->length_ns, err) < 0)
			return -1;
		return k->length_ns ? 0 : gs_fail(err, "a kernel has a length above zero");
	case COL_TASKS:
		if (gs_parse_int(text, 1, TASKS_MAX, &number, err) < 0)
			return -1;
		k->block_tasks = (uint64_t)number;
		return 0;
	case COL_PRIORITY:
		if (gs_parse_int(text, -1000, 1000, &number, err) < 0)
			return -1;
		k->priority = (int32_t)number;
		return 0;
	case COL_SHARES:
		if (gs_parse_int(text, 1, 1000000, &number, err) < 0)
			return -1;
		k->shares = (uint32_t)number;
		return 0;
	case COL_MEMORY:
		if (gs_parse_int(text, 0, 1 << 30, &number, err) < 0)
			return -1;
		k->memory_mb = (uint32_t)number;
		return 0;
	case COL_ORIGINAL:
		if (parse_ms(text, &k->original_ns, err) < 0)
			return -1;
		return k->original_ns ? 0 : gs_fail(err, "a kernel has a length above zero");
	case COL_PERIOD:
		return parse_ms(text, &k->period_ns, err);
	case COL_DEADLINE:
		return parse_ms(text, &k->deadline_ns, err);
	case COL_COUNT:
		break;
	}
	return gs_fail(err, "no such column");
}

int sim_line_columns(const struct sim_line *line, struct sim_columns *columns, struct gs_error *err)
{
	struct sim_columns found = { .count = 0 };
	unsigned seen = 0;
	struct field f;

	for (const char *at = line->text; at; found.count++) {
		size_t c = 0;

		if (next_field(line, &at, &f, err) < 0)
			return -1;
		while (c < COL_COUNT && strcmp(f.text, column_name[c]) != 0)
			c++;
		if (c == COL_COUNT)
			return sim_line_fail(line, f.at, err,
					     "the first line names the columns: "
					     "name,arrival_ms,length_ms,block_tasks,priority,"
					     "shares,memory_mb,original_ms,"
					     "period_ms,deadline_ms");
		if (seen & (1u << c))
			return sim_line_fail(line, f.at, err, "a column is named twice");
		seen |= 1u << c;
		found.column[found.count] = (unsigned char)c;
	}
	if (!(seen & (1u << COL_NAME)) || !(seen & (1u << COL_LENGTH)))
		return sim_line_fail(line, 1, err, "the columns name and length_ms must be there");
	*columns = found;
	return 0;
}

int sim_line_kernel(const struct sim_line *line, const struct sim_columns *columns,
		    struct sim_kernel *k, size_t *name_at, struct gs_error *err)
{
	struct gs_error why;
	size_t column = 0;
	struct field f;

	*k = (struct sim_kernel) {
		.block_tasks = 1000, .priority = 1, .shares = 1, .line = (uint32_t)line->number
	};
	for (const char *at = line->text; at; column++) {
		if (next_field(line, &at, &f, err) < 0)
			return -1;
		if (column == columns->count)
			return sim_line_fail(line, f.at, err, "more fields than columns");
		if (columns->column[column] == COL_NAME)
			*name_at = f.at;
		if (parse_field(columns->column[column], f.text, k, &why) < 0)
			return gs_fail(err, "%.80s:%zu:%zu: %s: %.120s", line->file, line->number,
				       f.at, column_name[columns->column[column]], why.text);
	}
	if (column < columns->count)
		return sim_line_fail(line, line->len + 1, err, "fewer fields than columns");
	if (!k->deadline_ns)
		k->deadline_ns = k->period_ns;
	return 0;
}
