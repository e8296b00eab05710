/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recursive descent over C's operators; see eval.h. */
#define _GNU_SOURCE
#include "gpushare/mem/eval.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/mem/macro.h"

#define DEPTH_MAX 64 /* of brackets and macros */

struct parse {
	const struct mem_names *names;
	const struct mem_token *at, *end;
	int depth;
};

static struct mem_value expression(struct parse *p, int level);

static int at_sign(const struct parse *p, const char *sign)
{
	return p->at < p->end && mem_is(p->at, sign);
}

static int take(struct parse *p, const char *sign)
{
	if (!at_sign(p, sign))
		return 0;
	p->at++;
	return 1;
}

/* ---- types ------------------------------------------------------------------ */

static uint64_t builtin_type(const struct mem_token *t)
{
#define TYPE(name, size) \
	if (mem_is(t, #name)) \
		return size;
#include "gpushare/mem/types.def"
#undef TYPE
	return 0;
}

static int qualifier(const struct mem_token *t)
{
	return mem_is(t, "const") || mem_is(t, "volatile") || mem_is(t, "struct") ||
	       mem_is(t, "typename") || mem_is(t, "__restrict__");
}

const struct mem_token *mem_type_at(const struct mem_names *names, const struct mem_token *at,
				    const struct mem_token *end, struct mem_type *type)
{
	uint64_t bytes = 0, one;
	int sign_only = 0, longs = 0;

	*type = (struct mem_type) { 0, 0 };
	for (; at < end && at->kind == MEM_WORD; at++) {
		if (qualifier(at))
			continue;
		if (mem_is(at, "unsigned") || mem_is(at, "signed")) {
			sign_only = 1;
			continue;
		}
		if (mem_is(at, "std") && at + 1 < end && mem_is(at + 1, "::")) {
			at++;
			continue;
		}
		if (mem_is(at, "void")) {
			bytes = 1;
			continue;
		}
		one = builtin_type(at);
		if (!one && !bytes && !sign_only)
			one = names->type(names->arg, at);
		if (!one)
			break;
		longs += mem_is(at, "long");
		/* "long double" is 16, "short int" 2, "long int" 8. */
		if (mem_is(at, "double") && longs)
			bytes = 16;
		else if (!bytes || !mem_is(at, "int"))
			bytes = one;
	}
	if (!bytes && sign_only)
		bytes = 4;
	if (!bytes)
		return NULL;
	type->bytes = bytes;
	for (; at < end && (mem_is(at, "*") || qualifier(at)); at++)
		if (mem_is(at, "*")) {
			type->target = type->bytes;
			type->bytes = 8;
		}
	return at;
}

static const struct mem_token *closing(const struct mem_token *at, const struct mem_token *end)
{
	int depth = 0;

	for (; at < end; at++) {
		if (mem_is(at, "("))
			depth++;
		if (mem_is(at, ")") && --depth == 0)
			return at;
	}
	return NULL;
}

/* sizeof(type), sizeof(name), sizeof(*name), sizeof name. */
static struct mem_value size_of(struct parse *p)
{
	const struct mem_token *inner = p->at, *end, *behind;
	int stars = 0;
	struct mem_type type;

	if (at_sign(p, "(")) {
		end = closing(p->at, p->end);
		if (!end)
			return mem_unknown("sizeof without its bracket");
		inner = p->at + 1;
		p->at = end + 1;
	} else {
		end = p->at + 1;
		p->at++;
	}
	behind = mem_type_at(p->names, inner, end, &type);
	if (behind == end)
		return mem_whole(type.bytes);
	while (inner < end && mem_is(inner, "*")) {
		stars++;
		inner++;
	}
	if (inner + 1 == end && inner->kind == MEM_WORD &&
	    p->names->variable_type(p->names->arg, inner, &type)) {
		uint64_t bytes = stars == 0 ? type.bytes : stars == 1 ? type.target : 0;

		if (bytes)
			return mem_whole(bytes);
	}
	return mem_unknown("the size of '%.*s' is not known", (int)inner->len, inner->at);
}

/* ---- primaries ---------------------------------------------------------------- */

static struct mem_value number(const struct mem_token *t)
{
	char text[64], *end, *to = text;
	unsigned long long i;

	for (uint32_t k = 0; k < t->len && to < text + sizeof(text) - 1; k++)
		if (t->at[k] != '\'')
			*to++ = t->at[k];
	*to = '\0';
	i = strtoull(text, &end, 0);
	if (*end == '.' || ((*end == 'e' || *end == 'E') && strncasecmp(text, "0x", 2) != 0))
		return mem_real(strtod(text, NULL));
	if (end[strspn(end, "uUlLzZ")] != '\0')
		return mem_unknown("'%.40s' is no number", text);
	return mem_whole(i);
}

/* name(a, b) of those that compilers know. */
static int known_call(const struct mem_token *t)
{
	return mem_is(t, "max") || mem_is(t, "min") || mem_is(t, "fmax") || mem_is(t, "fmin");
}

static struct mem_value min_max(struct parse *p, int most)
{
	struct mem_value best = { 0 }, v;
	int n = 0;

	do {
		v = expression(p, 0);
		if (!v.known)
			return v;
		if (n++ == 0 || (mem_as_real(&v) > mem_as_real(&best)) == most)
			best = v;
	} while (take(p, ","));
	return take(p, ")") ? best : mem_unknown("a call that is not understood");
}

/* What keeps a macro's value from being known, but its body. */
static const char *disbelieved(const struct parse *p, const struct mem_macro *m)
{
	if (m->ambiguous)
		return "is defined more than once";
	if (m->maybe)
		return "is defined in an #if that is not known";
	return p->depth > DEPTH_MAX ? "is defined by itself" : NULL;
}

/* The macro whose name was before p->at. */
static struct mem_value macro_value(struct parse *p, const struct mem_token *t,
				    const struct mem_macro *m)
{
	const char *why = disbelieved(p, m);
	const struct mem_token *behind;
	struct mem_token *list;
	struct mem_value v;

	if (why)
		return mem_unknown("'%.*s' %s", (int)t->len, t->at, why);
	list = mem_macro_use(m, p->at, p->end, &behind);
	if (!list)
		return mem_unknown("'%.*s' wants other arguments", (int)t->len, t->at);
	p->at = behind;
	{
		struct parse body = { p->names, list, list, p->depth + 4 };

		while (body.end->kind != MEM_END)
			body.end++;
		v = expression(&body, 0);
		if (v.known && body.at != body.end)
			v = mem_unknown("'%.*s' is no number", (int)t->len, t->at);
	}
	free(list);
	return v;
}

static struct mem_value named(struct parse *p)
{
	const struct mem_token *t = p->at++;
	const struct mem_macro *m;
	struct mem_value v;

	if (mem_is(t, "sizeof"))
		return size_of(p);
	if (mem_is(t, "true") || mem_is(t, "false"))
		return mem_whole(mem_is(t, "true"));
	if (mem_is(t, "std") && take(p, "::"))
		return p->at < p->end ? named(p) : mem_unknown("nothing behind std::");
	m = mem_source_macro(p->names->source, t);
	if (m && m->param && at_sign(p, "("))
		return macro_value(p, t, m);
	if (known_call(t) && take(p, "("))
		return min_max(p, mem_is(t, "max") || mem_is(t, "fmax"));
	if (mem_is(t, "static_cast") && take(p, "<")) {
		while (p->at < p->end && !take(p, ">"))
			p->at++;
		return expression(p, 14);
	}
	if (at_sign(p, "(") || at_sign(p, "<"))
		if (at_sign(p, "("))
			return mem_unknown("%.*s() is called", (int)t->len, t->at);
	if (at_sign(p, "[") || at_sign(p, ".") || at_sign(p, "->"))
		return mem_unknown("'%.*s' is no simple variable", (int)t->len, t->at);
	if (p->names->variable(p->names->arg, t, &v))
		return v;
	return m && !m->param ? macro_value(p, t, m) :
				mem_unknown("'%.*s' is not known", (int)t->len, t->at);
}

/* A bracket: a cast or an expression. */
static struct mem_value bracket(struct parse *p)
{
	const struct mem_token *end = closing(p->at, p->end), *behind;
	struct mem_type type;
	struct mem_value v;

	if (!end)
		return mem_unknown("a bracket is not closed");
	behind = mem_type_at(p->names, p->at + 1, end, &type);
	if (behind == end && end > p->at + 1) {
		int to_real = mem_is(end - 1, "float") || mem_is(end - 1, "double");

		p->at = end + 1;
		v = expression(p, 14);
		if (v.known && v.real && !to_real)
			return mem_whole((__int128)v.d);
		return v.known && to_real ? mem_real(mem_as_real(&v)) : v;
	}
	p->at++;
	v = expression(p, 0);
	if (!v.known)
		return v;
	return take(p, ")") ? v : mem_unknown("an expression that is not understood");
}

static struct mem_value primary(struct parse *p)
{
	struct mem_value v;

	if (++p->depth > DEPTH_MAX)
		return mem_unknown("too deep");
	if (p->at >= p->end)
		v = mem_unknown("nothing there");
	else if (p->at->kind == MEM_NUMBER)
		v = number(p->at++);
	else if (p->at->kind == MEM_WORD)
		v = named(p);
	else if (at_sign(p, "("))
		v = bracket(p);
	else if (take(p, "-")) {
		v = expression(p, 14);
		if (v.known && v.real)
			v.d = -v.d;
		else if (v.known)
			v.i = -v.i;
	} else if (take(p, "+"))
		v = expression(p, 14);
	else if (take(p, "~")) {
		v = expression(p, 14);
		if (v.known)
			v = v.real ? mem_unknown("~ of a fraction") : mem_whole(~v.i);
	} else if (take(p, "!")) {
		v = expression(p, 14);
		if (v.known)
			v = mem_whole(mem_as_real(&v) == 0);
	} else
		v = mem_unknown("'%.*s' is not understood", (int)p->at->len, p->at->at);
	p->depth--;
	return v;
}

/* ---- operators ------------------------------------------------------------------ */

static const struct {
	const char *sign;
	int level; /* larger binds closer */
} operators[] = {
	{ "||", 2 }, { "&&", 3 }, { "|", 4 },  { "^", 5 },  { "&", 6 },  { "==", 7 },
	{ "!=", 7 }, { "<", 8 },  { ">", 8 },  { "<=", 8 }, { ">=", 8 }, { "<<", 9 },
	{ ">>", 9 }, { "+", 10 }, { "-", 10 }, { "*", 11 }, { "/", 11 }, { "%", 11 },
};

#define OPERATORS (sizeof(operators) / sizeof(operators[0]))

static int operator_at(const struct parse *p, int level)
{
	for (size_t k = 0; p->at < p->end && k < OPERATORS; k++)
		if (operators[k].level >= level && mem_is(p->at, operators[k].sign))
			return (int)k;
	return -1;
}

static struct mem_value choice(struct parse *p, struct mem_value condition)
{
	struct mem_value yes = expression(p, 0), no;

	if (!take(p, ":"))
		return mem_unknown("a ? without its :");
	no = expression(p, 1);
	if (!condition.known)
		return condition;
	return mem_as_real(&condition) != 0 ? yes : no;
}

/* Operators of this level and closer; 0: all, 14: none. */
static struct mem_value expression(struct parse *p, int level)
{
	struct mem_value a = primary(p), b;
	int k;

	while (level < 14 && (k = operator_at(p, level)) >= 0) {
		p->at++;
		b = expression(p, operators[k].level + 1);
		a = mem_value_apply(operators[k].sign, &a, &b);
	}
	if (level <= 1 && take(p, "?"))
		return choice(p, a);
	return a;
}

struct mem_value mem_eval(const struct mem_names *names, const struct mem_token *at,
			  const struct mem_token *end)
{
	struct parse p = { names, at, end, 0 };
	struct mem_value v = expression(&p, 0);

	if (v.known && p.at != end)
		return mem_unknown("'%.*s' is not understood", (int)p.at->len, p.at->at);
	return v;
}
