/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --format and --sort; see layout.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_MAX 1000

static int no_such(const struct gs_column *columns, const char *key, struct gs_error *err)
{
	static const char more[] = "; -o help lists all";
	char names[GS_ERROR_TEXT_MAX / 2] = "";
	const struct gs_column *c;
	size_t at = 0;

	for (c = columns; c->key && at + strlen(c->key) + 2 < sizeof(names); c++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", at ? ", " : "",
				       c->key);
	return gs_fail(err, "there is no column '%.40s'; there are: %s%s", key, names,
		       c->key ? more : "");
}

static int pick(struct gs_layout *l, const struct gs_column *columns, char *word,
		struct gs_error *err)
{
	char *head = strchr(word, '='), *width = strchr(word, ':'), *end = NULL;
	struct gs_pick *p = &l->pick[l->picks];
	long w = 0;

	if (head)
		*head++ = '\0';
	if (width && (!head || width < head)) {
		*width++ = '\0';
		w = strtol(width, &end, 10);
		if (end == width || *end || w < 1 || w > WIDTH_MAX)
			return gs_fail(err, "'%.40s' is no width of a column: 1 to %d", width,
				       WIDTH_MAX);
	}
	if (l->picks == GS_LAYOUT_COLUMNS)
		return gs_fail(err, "more than %d columns", GS_LAYOUT_COLUMNS);
	p->column = gs_column_find(columns, word, (unsigned)strlen(word));
	if (!p->column)
		return no_such(columns, word, err);
	p->width = (unsigned)w;
	p->head = head ? head : p->column->head;
	l->picks++;
	return 0;
}

static void pick_all(struct gs_layout *l, const struct gs_column *columns)
{
	for (; columns->key && l->picks < GS_LAYOUT_COLUMNS; columns++)
		l->pick[l->picks++] = (struct gs_pick) { columns, 0, columns->head };
}

static int parse_format(struct gs_layout *l, const struct gs_column *columns, const char *format,
			struct gs_error *err)
{
	char *rest = NULL;
	int rc = 0;

	l->format = strdup(format);
	if (!l->format)
		return gs_fail(err, "no memory");
	for (char *word = strtok_r(l->format, ", ", &rest); rc == 0 && word;
	     word = strtok_r(NULL, ", ", &rest))
		if (strcmp(word, "all") == 0)
			pick_all(l, columns);
		else
			rc = pick(l, columns, word, err);
	if (rc == 0 && !l->picks)
		rc = gs_fail(err, "no column is named");
	return rc;
}

static int parse_sort(struct gs_layout *l, const struct gs_column *columns, const char *sort,
		      struct gs_error *err)
{
	while (*sort) {
		size_t n = strcspn(sort, ",");
		struct gs_sort *s = &l->sort[l->sorts];
		int sign = *sort == '-' || *sort == '+';

		if (l->sorts == GS_LAYOUT_SORTS)
			return gs_fail(err, "more than %d columns to sort by", GS_LAYOUT_SORTS);
		s->falling = *sort == '-';
		s->column = gs_column_find(columns, sort + sign, (unsigned)(n - (size_t)sign));
		if (!s->column)
			return no_such(columns, sort + sign, err);
		l->sorts++;
		sort += n + (sort[n] == ',');
	}
	return 0;
}

int gs_layout_make(struct gs_layout *l, const struct gs_column *columns, const char *format,
		   const char *sort, struct gs_error *err)
{
	int rc = 0;

	memset(l, 0, sizeof(*l));
	if (format) {
		l->chosen = 1;
		rc = parse_format(l, columns, format, err);
	} else {
		pick_all(l, columns);
	}
	if (rc == 0 && sort)
		rc = parse_sort(l, columns, sort, err);
	if (rc < 0)
		gs_layout_free(l);
	return rc;
}

void gs_layout_free(struct gs_layout *l)
{
	free(l->format);
	l->format = NULL;
}

/* What there is none of comes first, then figures by value, then texts. */
static int compare(json_t *a, json_t *b)
{
	if (json_is_string(a) && json_is_string(b))
		return strcmp(json_string_value(a), json_string_value(b));
	if (json_is_number(a) && json_is_number(b)) {
		double x = json_number_value(a), y = json_number_value(b);

		return (x > y) - (x < y);
	}
	if (json_is_boolean(a) && json_is_boolean(b))
		return json_is_true(a) - json_is_true(b);
	return (json_is_number(a) + 2 * json_is_string(a)) -
	       (json_is_number(b) + 2 * json_is_string(b));
}

struct sorting {
	const struct gs_layout *layout;
	json_t *rows;
};

static int by_layout(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	for (size_t i = 0; i < s->layout->sorts; i++) {
		const struct gs_sort *by = &s->layout->sort[i];
		int rc = compare(json_object_get(json_array_get(s->rows, x), by->column->key),
				 json_object_get(json_array_get(s->rows, y), by->column->key));

		if (rc)
			return by->falling ? -rc : rc;
	}
	return (x > y) - (x < y);
}

size_t *gs_layout_order(const struct gs_layout *layout, json_t *rows)
{
	struct sorting sorting = { layout, rows };
	size_t n = json_array_size(rows), *order = calloc(n + 1, sizeof(*order));

	for (size_t i = 0; order && i < n; i++)
		order[i] = i;
	if (order)
		qsort_r(order, n, sizeof(*order), by_layout, &sorting);
	return order;
}
