/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens and macros; see token.h. */
#include "gpushare/mem/token.h"

#include <stdlib.h>
#include <string.h>

int mem_is(const struct mem_token *t, const char *text)
{
	return t->kind != MEM_END && t->kind != MEM_TEXT && strlen(text) == t->len &&
	       strncmp(t->at, text, t->len) == 0;
}

const struct mem_macro *mem_source_macro(const struct mem_source *s, const struct mem_token *name)
{
	for (size_t i = 0; i < s->macros; i++)
		if (mem_is(name, s->macro[i].name))
			return &s->macro[i];
	return NULL;
}

int mem_push(struct mem_token **list, size_t *n, size_t *room, struct mem_token t)
{
	if (*n == *room) {
		size_t more = *room ? 2 * *room : 256;
		struct mem_token *grown = realloc(*list, more * sizeof(*grown));

		if (!grown)
			return -1;
		*list = grown;
		*room = more;
	}
	(*list)[(*n)++] = t;
	return 0;
}
