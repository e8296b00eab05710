/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks, declarations, assignments and loops of a source; see pass.h. */
#define _GNU_SOURCE
#include "gpushare/mem/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/mem/macro.h"

static struct mem_value lost(const char *why)
{
	struct mem_value v = { 0 };

	snprintf(v.why, sizeof(v.why), "%s", why);
	return v;
}

/* ---- names, for the evaluation ------------------------------------------------- */

static int variable(void *arg, const struct mem_token *name, struct mem_value *value)
{
	const struct pass *p = arg;
	const struct mem_variable *v = mem_find(&p->scope, name);

	if (!v)
		return 0;
	*value = v->value;
	if (!v->value.known)
		snprintf(value->why, sizeof(value->why), "'%.*s': %.60s", (int)name->len, name->at,
			 v->value.why);
	return 1;
}

static int variable_type(void *arg, const struct mem_token *name, struct mem_type *type)
{
	const struct pass *p = arg;
	const struct mem_variable *v = mem_find(&p->scope, name);

	if (!v)
		return 0;
	*type = v->type;
	return 1;
}

static uint64_t type_name(void *arg, const struct mem_token *name)
{
	const struct pass *p = arg;

	return mem_find_type(&p->scope, name);
}

/* ---- expressions' ends ----------------------------------------------------------- */

/* The ',' or ';' or ')' that ends the expression at `at`. */
static const struct mem_token *expression_end(const struct mem_token *at)
{
	int depth = 0;

	for (; at->kind != MEM_END; at++) {
		if (mem_is(at, "(") || mem_is(at, "[") || mem_is(at, "{"))
			depth++;
		else if (mem_is(at, ")") || mem_is(at, "]") || mem_is(at, "}")) {
			if (depth-- == 0)
				return at;
		} else if (depth == 0 && (mem_is(at, ",") || mem_is(at, ";")))
			return at;
	}
	return at;
}

static const struct mem_token *matching(const struct mem_token *open)
{
	int depth = 0;

	for (; open->kind != MEM_END; open++) {
		if (mem_is(open, "(") || mem_is(open, "{"))
			depth++;
		if ((mem_is(open, ")") || mem_is(open, "}")) && --depth == 0)
			break;
	}
	return open;
}

/* ---- declarations ------------------------------------------------------------------ */

static int same_value(const struct mem_value *a, const struct mem_value *b)
{
	return a->known && b->known && a->real == b->real &&
	       (a->real ? a->d == b->d : a->i == b->i);
}

static void give(struct pass *p, struct mem_variable *v, const struct mem_token *at,
		 const struct mem_token *end)
{
	struct mem_dims dims;

	v->value = mem_eval(&p->names, at, end);
	if (pass_dims(p, at, end, &dims))
		v->dims = dims;
}

/* [N][M] behind a name: the size of the whole. */
static const struct mem_token *extents(struct pass *p, const struct mem_token *at,
				       struct mem_type *type)
{
	while (mem_is(at, "[")) {
		const struct mem_token *end = at + 1;
		struct mem_value n;

		while (end->kind != MEM_END && !mem_is(end, "]"))
			end++;
		n = mem_eval(&p->names, at + 1, end);
		type->target = type->bytes;
		if (!n.known || n.real || n.i <= 0 ||
		    __builtin_mul_overflow(type->bytes, (uint64_t)n.i, &type->bytes))
			type->bytes = 0;
		at = end + 1;
	}
	return at;
}

/* T a = 1, *b, c[4]; from the first name on.  NULL: it is no declaration. */
static const struct mem_token *declare(struct pass *p, const struct mem_token *at,
				       struct mem_type base)
{
	struct mem_type type = base;

	for (;;) {
		const struct mem_token *name = at, *end;
		struct mem_variable *v;

		if (name->kind != MEM_WORD)
			return NULL;
		at = extents(p, name + 1, &type);
		if (!mem_is(at, "=") && !mem_is(at, ",") && !mem_is(at, ";"))
			return NULL; /* a function, or a constructor's call */
		v = mem_declare(&p->scope, name, type);
		if (v && mem_is(at, "=")) {
			end = expression_end(at + 1);
			/* The name is known behind its value only. */
			p->scope.n--;
			give(p, v, at + 1, end);
			if (name->maybe) /* there may be another one */
				v->value = lost("given in an #if that is not known");
			p->scope.n++;
			at = end;
		}
		if (!mem_is(at, ","))
			return at;
		for (at++, type = base; mem_is(at, "*"); at++)
			type = (struct mem_type) { 8, type.bytes };
	}
}

/* A declaration at `at`: the token behind it, or NULL. */
static const struct mem_token *declaration(struct pass *p, const struct mem_token *at)
{
	const struct mem_token *end = at, *name;
	struct mem_type type;

	while (mem_is(at, "static") || mem_is(at, "constexpr") || mem_is(at, "register"))
		at++;
	if (mem_is(at, "auto") || mem_is(at, "cudaExtent") || mem_is(at, "cudaChannelFormatDesc")) {
		struct mem_type none = { 0, 0 };

		return declare(p, at + 1, none);
	}
	while (end->kind != MEM_END && !mem_is(end, ";"))
		end++;
	name = mem_type_at(&p->names, at, end, &type);
	return name && name > at ? declare(p, name, type) : NULL;
}

/* struct { ... }: its size with C's alignment; 0: not known. */
static uint64_t struct_bytes(struct pass *p, const struct mem_token *open,
			     const struct mem_token *close)
{
	uint64_t bytes = 0, align = 1;

	for (const struct mem_token *at = open + 1; at < close;) {
		struct mem_type type, member;
		uint64_t element;
		const struct mem_token *name = mem_type_at(&p->names, at, close, &type);

		if (!name || name->kind != MEM_WORD)
			return 0;
		element = type.bytes > 16 || (type.bytes & (type.bytes - 1)) ? 8 : type.bytes;
		for (;;) {
			member = type;
			at = extents(p, name + 1, &member);
			if (!member.bytes || (!mem_is(at, ",") && !mem_is(at, ";")))
				return 0;
			align = element > align ? element : align;
			bytes = (bytes + element - 1) / element * element + member.bytes;
			if (mem_is(at, ";"))
				break;
			name = at + 1;
		}
		at++;
	}
	return (bytes + align - 1) / align * align;
}

/* typedef T name;  struct name { ... };  using name = T;  The token behind it, or NULL. */
static const struct mem_token *type_definition(struct pass *p, const struct mem_token *at)
{
	int is_typedef = mem_is(at, "typedef");
	const struct mem_token *tag = NULL, *close, *end;
	struct mem_type type;
	uint64_t bytes;

	if (mem_is(at, "using") && at[1].kind == MEM_WORD && mem_is(at + 2, "=")) {
		end = expression_end(at + 3);
		if (mem_type_at(&p->names, at + 3, end, &type) == end)
			mem_declare_type(&p->scope, at + 1, type.bytes);
		return end;
	}
	at += is_typedef;
	if (mem_is(at, "struct")) {
		tag = at[1].kind == MEM_WORD ? at + 1 : NULL;
		at += tag ? 2 : 1;
		if (mem_is(at, "{")) {
			close = matching(at);
			bytes = struct_bytes(p, at, close);
			if (tag)
				mem_declare_type(&p->scope, tag, bytes);
			if (is_typedef && close->kind != MEM_END && close[1].kind == MEM_WORD)
				mem_declare_type(&p->scope, close + 1, bytes);
			return close->kind == MEM_END ? NULL : close + 1;
		}
		at -= tag ? 2 : 1;
	}
	if (!is_typedef)
		return NULL;
	end = expression_end(at);
	close = mem_type_at(&p->names, at, end, &type);
	if (close && close + 1 == end && close->kind == MEM_WORD)
		mem_declare_type(&p->scope, close, type.bytes);
	return end;
}

/* ---- assignments --------------------------------------------------------------------- */

/* In a deeper block than its own an assignment may not happen, or may happen often. */
static void assign(struct pass *p, struct mem_variable *v, const struct mem_token *at)
{
	const struct mem_token *end = expression_end(at);
	struct mem_value old = v->value;

	give(p, v, at, end);
	/* name = ...: what stands before the name? */
	if (v->depth == p->scope.depth && !p->loops && !mem_is(at - 3, ")") &&
	    !mem_is(at - 3, "else"))
		return;
	if (!same_value(&old, &v->value))
		v->value = lost(old.known ? "given another value under a condition or in a loop" :
					    "given its value under a condition or in a loop");
}

static int changes(const struct mem_token *t)
{
	static const char *const signs[] = { "++", "--", "+=", "-=", "*=",
					     "/=", "%=", "|=", "&=", "^=" };

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (mem_is(t, signs[i]))
			return 1;
	return 0;
}

/* A name that is no declaration: is its variable changed here? */
static void use(struct pass *p, const struct mem_token *name)
{
	struct mem_variable *v = mem_find(&p->scope, name);
	const struct mem_token *before = name - 1;

	if (!v)
		return;
	if (mem_is(name + 1, "=") && !mem_is(before, ".") && !mem_is(before, "->") &&
	    !mem_is(before, "*"))
		assign(p, v, name + 2);
	else if (changes(name + 1) || mem_is(before, "++") || mem_is(before, "--") ||
		 (mem_is(name + 1, "<<") && mem_is(name + 2, "=")))
		v->value = lost("changed");
	else if (mem_is(before, "&") &&
		 (mem_is(before - 1, "(") || mem_is(before - 1, ",") || mem_is(before - 1, ")")))
		v->value = lost("set through its address");
	else if (mem_is(before, ">>"))
		v->value = lost("read from a stream");
}

/* ---- loops ----------------------------------------------------------------------------- */

/* for (T i = A; i < B; i++) and <=, += C: how often. */
static struct mem_value loop_count(struct pass *p, const struct mem_token *open)
{
	const struct mem_token *at = open + 1, *i, *end, *less;
	struct mem_value from, to, step = { .known = 1, .i = 1 };
	struct mem_type type;
	__int128 n;

	end = expression_end(at);
	i = mem_type_at(&p->names, at, end, &type);
	i = i ? i : at;
	if (!mem_is(end, ";") || !mem_is(i + 1, "="))
		return lost("its count is not known");
	from = mem_eval(&p->names, i + 2, end);
	less = end + 2;
	end = expression_end(end + 1);
	if (!mem_is(end, ";") || (!mem_is(less, "<") && !mem_is(less, "<=")))
		return lost("its count is not known");
	to = mem_eval(&p->names, less + 1, end);
	at = end + 1;
	if (mem_is(at + 1, "+="))
		step = mem_eval(&p->names, at + 2, expression_end(at + 2));
	else if (!mem_is(at + 1, "++") && !mem_is(at, "++"))
		return lost("its step is not known");
	if (!from.known)
		return from;
	if (!to.known)
		return to;
	if (!step.known || step.real || from.real || to.real || step.i <= 0)
		return lost("its step is not known");
	n = (to.i + mem_is(less, "<=") - from.i + step.i - 1) / step.i;
	if (n < 0)
		n = 0;
	return n > 1 << 30 ? lost("its count is too large") :
			     (struct mem_value) { .known = 1, .i = n };
}

/* for, while or do at `at`; the token at which its body begins. */
static const struct mem_token *loop(struct pass *p, const struct mem_token *at)
{
	struct mem_value count = mem_is(at, "for") && mem_is(at + 1, "(") ?
					 loop_count(p, at + 1) :
					 lost("its count is not known");
	const struct mem_token *body = mem_is(at, "do") ? at + 1 : matching(at + 1);
	const struct mem_token *index = NULL;
	struct mem_type type;

	if (body->kind == MEM_END)
		return body;
	body += !mem_is(at, "do");
	if (p->loops == LOOPS_MAX || mem_is(body, ";"))
		return body;
	p->loop[p->loops].count = count;
	p->loop[p->loops].depth = p->scope.depth;
	p->loop[p->loops].ends = mem_is(body, "{") ? NULL : expression_end(body);
	p->loops++;
	/* Its own variable has no one value. */
	if (mem_is(at, "for"))
		index = mem_type_at(&p->names, at + 2, body, &type);
	if (index && index->kind == MEM_WORD) {
		struct mem_variable *v = mem_declare(&p->scope, index, type);

		if (v) {
			v->value = lost("a loop's variable");
			v->depth = p->scope.depth + 1; /* it goes with the next block that ends */
		}
	} else if (mem_is(at, "for") && mem_find(&p->scope, at + 2)) {
		mem_find(&p->scope, at + 2)->value = lost("a loop's variable");
	}
	return body;
}

static void end_loops(struct pass *p, const struct mem_token *at, int block)
{
	while (p->loops) {
		int over = p->loop[p->loops - 1].ends ?
				   at >= p->loop[p->loops - 1].ends :
				   block && p->loop[p->loops - 1].depth >= p->scope.depth;

		if (!over)
			break;
		p->loops--;
	}
}

/* ---- the pass ----------------------------------------------------------------------------- */

/* f(T a, T b) {: the parameters have no values; they belong to the block. */
static void parameters(struct pass *p, const struct mem_token *open, const struct mem_token *close)
{
	for (const struct mem_token *at = open + 1; at < close; at++) {
		struct mem_type none = { 0, 0 };
		const struct mem_token *end = expression_end(at), *name;
		struct mem_variable *v;

		for (name = end - 1; name > at && name->kind != MEM_WORD; name--)
			;
		v = name > at ? mem_declare(&p->scope, name, none) : NULL;
		if (v) {
			const struct mem_token *stop = mem_type_at(&p->names, at, name, &v->type);

			if (stop != name)
				v->type = none;
			v->value = lost("a parameter");
			v->depth = p->scope.depth + 1;
		}
		at = end;
	}
}

static int begins_statement(const struct mem_token *first, const struct mem_token *at)
{
	return at == first || mem_is(at - 1, ";") || mem_is(at - 1, "{") || mem_is(at - 1, "}") ||
	       mem_is(at - 1, ")") || mem_is(at - 1, "else") || mem_is(at - 1, "do") ||
	       mem_is(at - 1, ":") || mem_is(at - 1, "extern") || at[-1].file != at->file;
}

static int in_device_memory(const struct mem_token *t)
{
	return mem_is(t, "__device__") || mem_is(t, "__constant__") || mem_is(t, "__managed__");
}

/* One statement's or sign's worth at *at; moves it on.  -1: no memory. */
static int step(struct pass *p, const struct mem_token *first, const struct mem_token **at)
{
	const struct mem_token *t = *at, *behind;

	if (mem_is(t, "{")) {
		p->scope.depth++;
	} else if (mem_is(t, "}")) {
		mem_leave(&p->scope);
		end_loops(p, t, 1);
	} else if (mem_is(t, ";")) {
		end_loops(p, t, 0);
	} else if (t->kind == MEM_WORD) {
		if (mem_is(t, "for") || mem_is(t, "while") || mem_is(t, "do")) {
			*at = loop(p, t);
			return 0;
		}
		if (begins_statement(first, t)) {
			if (p->scope.depth == 0 && in_device_memory(t) &&
			    pass_device_variable(p, t) < 0)
				return -1;
			behind = type_definition(p, t);
			if (!behind && pass_call(p, t) < 0)
				return -1;
			if (!behind && !in_device_memory(t)) {
				const struct mem_token *inspect = t;

				behind = declaration(p, t);
				/* cudaError_t e = cudaMalloc(...): the calls in it count. */
				for (; behind && inspect < behind; inspect++)
					if (inspect > t && inspect->kind == MEM_WORD &&
					    pass_call(p, inspect) < 0)
						return -1;
			}
			if (behind) {
				*at = behind;
				return 0;
			}
			use(p, t);
		} else {
			if (pass_call(p, t) < 0)
				return -1;
			use(p, t);
		}
		if (p->scope.depth == 0 && mem_is(t + 1, "(")) {
			behind = matching(t + 1);
			if (behind->kind != MEM_END && mem_is(behind + 1, "{")) {
				parameters(p, t + 1, behind);
				*at = behind + 1;
				return 0;
			}
		}
	}
	++*at;
	return 0;
}

int mem_estimate(const struct mem_source *source, struct mem_estimate *estimate,
		 struct gs_error *err)
{
	struct pass p = { .source = source, .estimate = estimate };
	struct mem_token *first = mem_macro_calls(source);
	const struct mem_token *at = first;
	int rc = first ? 0 : -1;

	p.names = (struct mem_names) { &p, source, variable, variable_type, type_name };
	while (rc == 0 && at && at->kind != MEM_END)
		rc = step(&p, first, &at);
	mem_scope_free(&p.scope);
	free(first);
	return rc < 0 ? gs_fail(err, "no memory") : 0;
}
