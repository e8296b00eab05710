/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Macros become their bodies; see macro.h. */
#define _GNU_SOURCE
#include "gpushare/mem/macro.h"

#include <stdlib.h>
#include <string.h>

#define ARGS_MAX 16
#define DEPTH_MAX 8           /* of macros in macros */
#define TOKENS_MAX (4u << 20) /* macros that double each other end here */

struct range {
	const struct mem_token *at, *end;
};

struct list {
	struct mem_token *token;
	size_t n, room;
};

static int put(struct list *l, struct mem_token t)
{
	return l->n >= TOKENS_MAX ? -1 : mem_push(&l->token, &l->n, &l->room, t);
}

/* ---- arguments --------------------------------------------------------------- */

static int same_word(const struct mem_token *a, const struct mem_token *b)
{
	return a->kind == MEM_WORD && b->kind == MEM_WORD && a->len == b->len &&
	       strncmp(a->at, b->at, a->len) == 0;
}

static int is_last(const struct mem_token *param, size_t i)
{
	return mem_is(&param[i], "__VA_ARGS__") && param[i + 1].kind == MEM_END;
}

static size_t count(const struct mem_token *param)
{
	size_t n = 0;

	while (param[n].kind != MEM_END)
		n++;
	return n;
}

/* The arguments in the bracket at `open`, as many as there are parameters; the token behind it, or
 * NULL. */
static const struct mem_token *arguments(const struct mem_token *param,
					 const struct mem_token *open, const struct mem_token *end,
					 struct range arg[ARGS_MAX])
{
	size_t want = count(param), n = 0;
	const struct mem_token *at = open, *begin = open + 1;
	int depth = 0;

	if (want > ARGS_MAX || at >= end || !mem_is(at, "("))
		return NULL;
	for (; at < end && at->kind != MEM_END; at++) {
		depth += mem_is(at, "(") - mem_is(at, ")");
		if (depth && !(depth == 1 && mem_is(at, ",") && !is_last(param, n < want ? n : 0)))
			continue;
		if (n < want)
			arg[n] = (struct range) { begin, at };
		/* () is one empty argument, or none. */
		n += want || at > begin;
		begin = at + 1;
		if (!depth)
			break;
	}
	if (n + 1 == want && is_last(param, n))
		arg[n++] = (struct range) { at, at };
	return depth == 0 && at < end && n == want ? at + 1 : NULL;
}

static int put_body(struct list *l, const struct mem_macro *m, const struct range *arg)
{
	int rc = 0;

	for (const struct mem_token *t = m->body; rc == 0 && t->kind != MEM_END; t++) {
		size_t i = 0;

		while (m->param && m->param[i].kind != MEM_END && !same_word(t, &m->param[i]))
			i++;
		if (!m->param || m->param[i].kind == MEM_END) {
			rc = put(l, *t);
			continue;
		}
		for (const struct mem_token *a = arg[i].at; rc == 0 && a < arg[i].end; a++)
			rc = put(l, *a);
	}
	return rc;
}

struct mem_token *mem_macro_use(const struct mem_macro *m, const struct mem_token *open,
				const struct mem_token *end, const struct mem_token **behind)
{
	struct range arg[ARGS_MAX];
	struct list l = { NULL, 0, 0 };
	struct mem_token last = { MEM_END, "", 0, 0, 0, 0 };

	*behind = m->param ? arguments(m->param, open, end, arg) : open;
	if (*behind && put_body(&l, m, arg) == 0 && put(&l, last) == 0)
		return l.token;
	free(l.token);
	return NULL;
}

/* ---- calls in macros ------------------------------------------------------------ */

static int allocates(const struct mem_token *t)
{
#define CALL(name, kind, first) \
	if (mem_is(t, #name)) \
		return 1;
#include "gpushare/mem/calls.def"
#undef CALL
	return 0;
}

/* The macros whose bodies allocate, by themselves or by such a macro in them. */
struct expansion {
	const struct mem_source *source;
	const struct mem_macro **macro;
	size_t macros;
	struct list out;
};

static const struct mem_macro *caller(const struct expansion *e, const struct mem_token *name)
{
	for (size_t i = 0; i < e->macros; i++)
		if (mem_is(name, e->macro[i]->name))
			return e->macro[i];
	return NULL;
}

static int has_call(const struct expansion *e, const struct mem_macro *m)
{
	for (const struct mem_token *t = m->body; t->kind != MEM_END; t++)
		if (t->kind == MEM_WORD && (allocates(t) || caller(e, t)))
			return 1;
	return 0;
}

static int find_callers(struct expansion *e)
{
	const struct mem_source *s = e->source;
	size_t before;

	e->macro = calloc(s->macros + 1, sizeof(*e->macro));
	if (!e->macro)
		return -1;
	do {
		before = e->macros;
		for (size_t i = 0; i < s->macros; i++) {
			struct mem_token name = { MEM_WORD,
						  s->macro[i].name,
						  (uint32_t)strlen(s->macro[i].name),
						  0,
						  0,
						  0 };

			if (!caller(e, &name) && has_call(e, &s->macro[i]))
				e->macro[e->macros++] = &s->macro[i];
		}
	} while (e->macros > before);
	return 0;
}

static int expand(struct expansion *e, const struct mem_token *at, const struct mem_token *end,
		  const struct mem_token *use, int depth);

/* The use at `at` of a macro that allocates: its body, as of the line of the use.  The token behind
 * it, NULL: none. */
static const struct mem_token *expand_use(struct expansion *e, const struct mem_token *at,
					  const struct mem_token *end, const struct mem_token *use,
					  int depth, int *rc)
{
	const struct mem_macro *m = caller(e, at);
	const struct mem_token *behind;
	struct mem_token *body, place = use ? *use : *at;
	size_t n = 0;

	if (!m || depth > DEPTH_MAX)
		return NULL;
	body = mem_macro_use(m, at + 1, end, &behind);
	if (!body)
		return NULL;
	while (body[n].kind != MEM_END)
		n++;
	/* Which of several bodies it is nobody knows. */
	place.maybe |= m->maybe || m->ambiguous;
	*rc = expand(e, body, body + n, &place, depth + 1);
	free(body);
	return behind;
}

static int expand(struct expansion *e, const struct mem_token *at, const struct mem_token *end,
		  const struct mem_token *use, int depth)
{
	int rc = 0;

	while (rc == 0 && at < end) {
		const struct mem_token *behind = NULL;
		struct mem_token t = *at;

		if (t.kind == MEM_WORD && e->macros)
			behind = expand_use(e, at, end, use, depth, &rc);
		if (behind) {
			at = behind;
			continue;
		}
		if (use) {
			t.line = use->line;
			t.file = use->file;
			t.maybe |= use->maybe;
		}
		rc = put(&e->out, t);
		at++;
	}
	return rc;
}

struct mem_token *mem_macro_calls(const struct mem_source *s)
{
	struct expansion e = { .source = s };
	struct mem_token last = { MEM_END, "", 0, 0, 0, 0 };
	int rc = find_callers(&e);

	if (rc == 0)
		rc = expand(&e, s->token, s->token + s->tokens, NULL, 0);
	if (rc == 0)
		rc = put(&e.out, last);
	free(e.macro);
	if (rc == 0)
		return e.out.token;
	free(e.out.token);
	return NULL;
}
