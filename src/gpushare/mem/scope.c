/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables and types in nested blocks; see scope.h. */
#include "gpushare/mem/scope.h"

#include <stdlib.h>
#include <string.h>

static int same(const struct mem_token *a, const struct mem_token *b)
{
	return a->len == b->len && strncmp(a->at, b->at, a->len) == 0;
}

struct mem_variable *mem_declare(struct mem_scope *s, const struct mem_token *name,
				 struct mem_type type)
{
	struct mem_variable *v;

	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		void *grown = realloc(s->variable, room * sizeof(*s->variable));

		if (!grown)
			return NULL;
		s->variable = grown;
		s->room = room;
	}
	v = &s->variable[s->n++];
	memset(v, 0, sizeof(*v));
	v->name = *name;
	v->depth = s->depth;
	v->type = type;
	strcpy(v->value.why, "a variable without a value");
	return v;
}

struct mem_variable *mem_find(const struct mem_scope *s, const struct mem_token *name)
{
	for (size_t i = s->n; i--;)
		if (same(&s->variable[i].name, name))
			return &s->variable[i];
	return NULL;
}

int mem_declare_type(struct mem_scope *s, const struct mem_token *name, uint64_t bytes)
{
	if (s->types == s->type_room) {
		size_t room = s->type_room ? 2 * s->type_room : 16;
		void *grown = realloc(s->type, room * sizeof(*s->type));

		if (!grown)
			return -1;
		s->type = grown;
		s->type_room = room;
	}
	s->type[s->types].name = *name;
	s->type[s->types++].bytes = bytes;
	return 0;
}

uint64_t mem_find_type(const struct mem_scope *s, const struct mem_token *name)
{
	for (size_t i = s->types; i--;)
		if (same(&s->type[i].name, name))
			return s->type[i].bytes;
	return 0;
}

void mem_leave(struct mem_scope *s)
{
	while (s->n && s->variable[s->n - 1].depth >= s->depth)
		s->n--;
	if (s->depth)
		s->depth--;
}

void mem_scope_free(struct mem_scope *s)
{
	free(s->variable);
	free(s->type);
}
