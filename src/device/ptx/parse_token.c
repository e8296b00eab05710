/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser's view of the tokens, its failure and its lists; see parse.h. */
#define _GNU_SOURCE
#include "device/ptx/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ptx_fail(struct ptx_parser *p, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	if (p->failed)
		return;
	p->failed = 1;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	gs_fail(p->err, "line %u: %s", p->tok.line ? p->tok.line : 1, why);
	p->lex.pos = p->lex.end;
	p->tok.kind = PTX_TOK_END;
	p->tok.ch = 0;
}

void ptx_next(struct ptx_parser *p)
{
	p->prev_end = p->tok.end;
	p->tok = ptx_lex(&p->lex);
	if (p->tok.kind == PTX_TOK_BAD)
		ptx_fail(p, "a comment, string or character that PTX does not know");
}

void ptx_expect(struct ptx_parser *p, char ch)
{
	struct ptx_slice found;

	if (ptx_accept(p, ch))
		return;
	found = ptx_token_slice(p);
	if (p->tok.kind == PTX_TOK_END)
		ptx_fail(p, "'%c' expected, the text ends", ch);
	else
		ptx_fail(p, "'%c' expected before '%.*s'", ch,
			 (int)(found.len > 40 ? 40 : found.len), found.s);
}

int ptx_at_word(const struct ptx_parser *p, const char *text)
{
	return (p->tok.kind == PTX_TOK_WORD || p->tok.kind == PTX_TOK_DOT) &&
	       ptx_is(ptx_token_slice(p), text);
}

struct ptx_slice ptx_take_name(struct ptx_parser *p)
{
	struct ptx_slice name = ptx_token_slice(p);

	if (p->tok.kind != PTX_TOK_WORD)
		ptx_fail(p, "a name was expected");
	else
		ptx_next(p);
	return name;
}

int ptx_enter(struct ptx_parser *p)
{
	if (p->depth < PTX_DEPTH_MAX) {
		p->depth++;
		return 1;
	}
	ptx_fail(p, "nested too deeply");
	return 0;
}

void ptx_skip_braces(struct ptx_parser *p)
{
	uint64_t open = 0;

	do {
		if (ptx_at(p, '{'))
			open++;
		else if (ptx_at(p, '}'))
			open--;
		else if (open == 0 || p->tok.kind == PTX_TOK_END)
			ptx_fail(p, "'{' or '}' expected");
		ptx_next(p);
	} while (open && !p->failed);
}

void ptx_skip_statement(struct ptx_parser *p)
{
	while (p->tok.kind != PTX_TOK_END) {
		if (ptx_accept(p, ';'))
			return;
		if (ptx_at(p, '{')) {
			ptx_skip_braces(p);
			return;
		}
		if (ptx_at(p, '}'))
			break;
		ptx_next(p);
	}
	ptx_fail(p, "';' expected");
}

void *ptx_list_push(struct ptx_parser *p, struct ptx_list *list)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 64;
		char *data = realloc(list->data, cap * list->item);

		if (!data) {
			ptx_fail(p, "no memory");
			return NULL;
		}
		list->data = data;
		list->cap = cap;
	}
	return list->data + list->item * list->n++;
}

void *ptx_list_take(struct ptx_parser *p, struct ptx_list *list, size_t from, uint32_t *n)
{
	size_t count = list->n - from;
	void *copy = NULL;

	if (count) {
		copy = ptx_arena_copy(p->arena, list->data + from * list->item, count * list->item);
		if (!copy) {
			ptx_fail(p, "no memory");
			count = 0;
		}
	}
	list->n = from;
	*n = (uint32_t)count;
	return copy;
}
