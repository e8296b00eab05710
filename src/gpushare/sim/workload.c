/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading workload files; see workload.h. */
#define _GNU_SOURCE
#include "gpushare/sim/workload.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "gpushare/sim/file.h"

#define FIELD_MAX_BYTES 80
#define TASKS_MAX INT64_C(1000000000000)

enum column {
	COL_NAME, COL_ARRIVAL, COL_LENGTH, COL_TASKS, COL_PRIORITY, COL_SHARES, COL_MEMORY,
	COL_COUNT,
};

static const char *const column_name[COL_COUNT] = {
	"name", "arrival_ms", "length_ms", "block_tasks", "priority", "shares", "memory_mb",
};

struct parser {
	const char *file;
	struct sim_workload *workload;
	size_t room;
	enum column column[COL_COUNT]; /* of the file, left to right */
	size_t columns;
	size_t line;
	uint32_t *names; /* hash table of kernel number + 1 */
	size_t slots;    /* a power of two, at least twice the kernels */
};

/* One field of a line, as text. */
struct field {
	char text[FIELD_MAX_BYTES];
	size_t at; /* column of its first character, from 1 */
};

static int fail_at(const struct parser *p, size_t at, struct gs_error *err, const char *why)
{
	return gs_fail(err, "%.80s:%zu:%zu: %.140s", p->file, p->line, at, why);
}

/* The field that begins at *at; *at goes behind its comma, or to NULL at the line's end. */
static int next_field(const struct parser *p, const char *line, const char *end,
		      const char **at, struct field *field, struct gs_error *err)
{
	const char *from = *at, *to = memchr(from, ',', (size_t)(end - from));

	*at = to ? to + 1 : NULL;
	if (!to)
		to = end;
	while (from < to && isspace((unsigned char)*from))
		from++;
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	field->at = (size_t)(from - line) + 1;
	if ((size_t)(to - from) >= sizeof(field->text))
		return fail_at(p, field->at, err, "a field of more than 79 characters");
	memcpy(field->text, from, (size_t)(to - from));
	field->text[to - from] = '\0';
	if (memchr(field->text, '\0', (size_t)(to - from)))
		return fail_at(p, field->at, err, "a NUL byte");
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

static int parse_name(const char *text, struct sim_kernel *k, struct gs_error *err)
{
	size_t n = strlen(text);

	if (n == 0 || n >= sizeof(k->name))
		return gs_fail(err, "a name has 1 to %d characters", SIM_NAME_MAX - 1);
	for (const char *c = text; *c; c++)
		if (!isprint((unsigned char)*c) || strchr("\"\\<>&", *c))
			return gs_fail(err, "a name may not contain quotes, backslashes, <, > or &");
	memcpy(k->name, text, n + 1);
	return 0;
}

static int parse_field(enum column column, const char *text, struct sim_kernel *k,
		       struct gs_error *err)
{
	int64_t number;

	switch (column) {
	case COL_NAME:
		return parse_name(text, k, err);
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
	case COL_COUNT:
		break;
	}
	return gs_fail(err, "no such column");
}

static int parse_header(struct parser *p, const char *line, const char *end,
			struct gs_error *err)
{
	unsigned seen = 0;
	struct field f;

	for (const char *at = line; at; p->columns++) {
		size_t c = 0;

		if (next_field(p, line, end, &at, &f, err) < 0)
			return -1;
		while (c < COL_COUNT && strcmp(f.text, column_name[c]) != 0)
			c++;
		if (c == COL_COUNT)
			return fail_at(p, f.at, err, "the first line names the columns: name,"
				       "arrival_ms,length_ms,block_tasks,priority,shares,memory_mb");
		if (seen & (1u << c))
			return fail_at(p, f.at, err, "a column is named twice");
		seen |= 1u << c;
		p->column[p->columns] = (enum column)c;
	}
	if (!(seen & (1u << COL_NAME)) || !(seen & (1u << COL_LENGTH)))
		return fail_at(p, 1, err, "the columns name and length_ms must be there");
	return 0;
}

static size_t hash_name(const char *name)
{
	uint64_t h = UINT64_C(14695981039346656037);

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(1099511628211);
	return (size_t)(h ^ (h >> 29));
}

/* Where the name is, or the empty slot where it would be. */
static size_t name_slot(const struct parser *p, const char *name)
{
	size_t at = hash_name(name) & (p->slots - 1);

	while (p->names[at] && strcmp(p->workload->kernel[p->names[at] - 1].name, name) != 0)
		at = (at + 1) & (p->slots - 1);
	return at;
}

static int make_room(struct parser *p, struct gs_error *err)
{
	struct sim_workload *w = p->workload;
	size_t room = p->room ? p->room * 2 : 64;
	struct sim_kernel *grown;

	if (w->count < p->room)
		return 0;
	grown = realloc(w->kernel, room * sizeof(*grown));
	if (!grown)
		return gs_fail(err, "no memory");
	w->kernel = grown;
	p->room = room;
	free(p->names);
	p->slots = room * 2;
	p->names = calloc(p->slots, sizeof(*p->names));
	if (!p->names)
		return gs_fail(err, "no memory");
	for (size_t i = 0; i < w->count; i++)
		p->names[name_slot(p, w->kernel[i].name)] = (uint32_t)i + 1;
	return 0;
}

static int parse_row(struct parser *p, const char *line, const char *end,
		     struct gs_error *err)
{
	struct sim_kernel *k;
	size_t column = 0, name_at = 1, slot;
	struct gs_error why;
	struct field f;

	if (make_room(p, err) < 0)
		return -1;
	k = &p->workload->kernel[p->workload->count];
	*k = (struct sim_kernel){ .block_tasks = 1000, .priority = 1, .shares = 1 };
	for (const char *at = line; at; column++) {
		if (next_field(p, line, end, &at, &f, err) < 0)
			return -1;
		if (column == p->columns)
			return fail_at(p, f.at, err, "more fields than columns");
		if (parse_field(p->column[column], f.text, k, &why) < 0)
			return gs_fail(err, "%.80s:%zu:%zu: %s: %.120s", p->file, p->line, f.at,
				       column_name[p->column[column]], why.text);
		if (p->column[column] == COL_NAME)
			name_at = f.at;
	}
	if (column < p->columns)
		return fail_at(p, (size_t)(end - line) + 1, err, "fewer fields than columns");
	slot = name_slot(p, k->name);
	if (p->names[slot])
		return fail_at(p, name_at, err, "name: there is a kernel of this name already");
	p->names[slot] = (uint32_t)++p->workload->count;
	return 0;
}

int sim_workload_parse(const char *name, const char *text, size_t len,
		       struct sim_workload *workload, struct gs_error *err)
{
	struct parser p = { .file = name, .workload = workload };
	const char *end = text + len;
	int rc = 0;

	*workload = (struct sim_workload){ 0 };
	while (text < end && rc == 0) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		const char *stop = eol ? eol : end;

		p.line++;
		if (stop > text && stop[-1] == '\r')
			stop--;
		if (stop > text && *text != '#')
			rc = p.columns ? parse_row(&p, text, stop, err)
				       : parse_header(&p, text, stop, err);
		text = eol ? eol + 1 : end;
	}
	free(p.names);
	if (rc == 0 && workload->count == 0) {
		p.line += p.line == 0;
		rc = fail_at(&p, 1, err, "no kernel");
	}
	if (rc < 0)
		sim_workload_free(workload);
	return rc;
}

int sim_workload_load(const char *path, struct sim_workload *workload, struct gs_error *err)
{
	size_t len;
	char *text = sim_read_file(path, &len, err);
	int rc;

	*workload = (struct sim_workload){ 0 };
	if (!text)
		return -1;
	rc = sim_workload_parse(path, text, len, workload, err);
	free(text);
	return rc;
}

void sim_workload_free(struct sim_workload *workload)
{
	free(workload->kernel);
	*workload = (struct sim_workload){ 0 };
}
