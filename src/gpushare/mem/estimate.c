/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One pass over the tokens: declarations and assignments give the names their
 * values, calls that allocate are written down with what is known there.
 */
#define _GNU_SOURCE
#include "gpushare/mem/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpushare/mem/pass.h"

/* ---- what is found ---------------------------------------------------------- */

static struct mem_allocation *new_allocation(struct pass *p, const struct mem_token *call)
{
	struct mem_estimate *e = p->estimate;
	struct mem_allocation *grown = realloc(e->allocation, (e->n + 1) * sizeof(*grown)), *a;

	if (!grown)
		return NULL;
	e->allocation = grown;
	a = &grown[e->n++];
	memset(a, 0, sizeof(*a));
	a->file = p->source->file[call->file];
	a->line = call->line;
	a->times = 1;
	a->maybe = call->maybe;
	snprintf(a->call, sizeof(a->call), "%.*s", (int)call->len, call->at);
	return a;
}

/* Tokens as a text, a blank where the source had some. */
static void as_text(const struct mem_token *at, const struct mem_token *end, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (; at < end && n < size; at++)
		n += (size_t)snprintf(buf + n, size - n, "%s%.*s",
				      n && at->at > (at - 1)->at + (at - 1)->len ? " " : "",
				      (int)at->len, at->at);
}

/* Loops around the call: times their counts, or not known. */
static void apply_loops(const struct pass *p, struct mem_allocation *a)
{
	for (size_t i = 0; i < p->loops; i++) {
		const struct mem_value *count = &p->loop[i].count;

		if (!count->known) {
			a->known = 0;
			snprintf(a->why, sizeof(a->why), "in a loop: %.80s", count->why);
			return;
		}
		a->times *= (uint64_t)count->i;
	}
}

static void finish(struct pass *p, struct mem_allocation *a, struct mem_value *v)
{
	uint64_t all, total;

	a->known = mem_value_bytes(v, &a->bytes) == 0;
	if (!a->known)
		snprintf(a->why, sizeof(a->why), "%s", v->why);
	else
		apply_loops(p, a);
	if (a->known && a->maybe) {
		a->known = 0;
		snprintf(a->why, sizeof(a->why), "in a macro or an #if that is not known");
	}
	if (a->known && (__builtin_mul_overflow(a->bytes, a->times, &all) ||
			 __builtin_add_overflow(p->estimate->total, all, &total))) {
		a->known = 0;
		snprintf(a->why, sizeof(a->why), "more than any device has");
	} else if (a->known) {
		p->estimate->total = total;
	}
	p->estimate->unknown += !a->known;
}

/* ---- arguments ---------------------------------------------------------------- */

#define ARGS_MAX 12

struct argument {
	const struct mem_token *at, *end;
};

/* The arguments of the call whose bracket is at `at`; their number, -1: none closes it. */
static int arguments(const struct mem_token *at, struct argument *arg,
		     const struct mem_token **behind)
{
	int depth = 0, n = 0;
	const struct mem_token *begin = at + 1;

	for (; at->kind != MEM_END; at++) {
		if (mem_is(at, "(") || mem_is(at, "[") || mem_is(at, "{"))
			depth++;
		if (mem_is(at, ")") || mem_is(at, "]") || mem_is(at, "}"))
			depth--;
		if ((depth == 1 && mem_is(at, ",")) || depth == 0) {
			if (n < ARGS_MAX && at > begin)
				arg[n++] = (struct argument) { begin, at };
			begin = at + 1;
		}
		if (depth == 0) {
			*behind = at + 1;
			return n;
		}
	}
	return -1;
}

static struct mem_value product(struct mem_value a, struct mem_value b)
{
	if (!a.known)
		return a;
	if (!b.known)
		return b;
	if (a.real || b.real)
		a.known = 0, strcpy(a.why, "a fraction");
	else if (__builtin_mul_overflow(a.i, b.i, &a.i))
		a.known = 0, strcpy(a.why, "a number that is too large");
	return a;
}

static struct mem_value of(__int128 i)
{
	return (struct mem_value) { .known = 1, .i = i };
}

/* Rows are padded to 512 bytes, as the driver does. */
static struct mem_value pitched(struct mem_value width, struct mem_value height)
{
	if (width.known && !width.real)
		width.i = (width.i + 511) / 512 * 512;
	return product(width, height);
}

/* make_cudaExtent(w, h, d), or the variable that holds one. */
int pass_dims(struct pass *p, const struct mem_token *at, const struct mem_token *end,
	      struct mem_dims *dims)
{
	struct argument arg[ARGS_MAX];
	const struct mem_token *behind;
	const struct mem_variable *v;
	struct mem_type type;

	memset(dims, 0, sizeof(*dims));
	while (at < end && mem_is(at, "&"))
		at++;
	if (at + 1 < end && mem_is(at, "make_cudaExtent") && arguments(at + 1, arg, &behind) == 3) {
		dims->extent = 1;
		for (int i = 0; i < 3; i++)
			dims->part[i] = mem_eval(&p->names, arg[i].at, arg[i].end);
		return 1;
	}
	if (at + 1 < end && mem_is(at, "cudaCreateChannelDesc")) {
		if (mem_is(at + 1, "<") && mem_type_at(&p->names, at + 2, end, &type)) {
			dims->element = type.bytes;
			return 1;
		}
		if (mem_is(at + 1, "(") && arguments(at + 1, arg, &behind) == 5) {
			struct mem_value bits = of(0), one;

			for (int i = 0; i < 4; i++) {
				one = mem_eval(&p->names, arg[i].at, arg[i].end);
				if (!one.known || one.real)
					return 0;
				bits.i += one.i;
			}
			dims->element = (uint64_t)bits.i / 8;
			return 1;
		}
	}
	v = at + 1 == end ? mem_find(&p->scope, at) : NULL;
	if (!v || (!v->dims.extent && !v->dims.element))
		return 0;
	*dims = v->dims;
	return 1;
}

static struct mem_value not_known(const char *what)
{
	struct mem_value v = { 0 };

	snprintf(v.why, sizeof(v.why), "%s", what);
	return v;
}

static struct mem_value extent_of(struct pass *p, const struct argument *arg, int in_elements)
{
	struct mem_dims s;

	if (!pass_dims(p, arg->at, arg->end, &s) || !s.extent)
		return not_known("its extent is not known");
	/* Of an array 0 means that there is no such dimension. */
	for (int i = 1; in_elements && i < 3; i++)
		if (s.part[i].known && !s.part[i].real && s.part[i].i == 0)
			s.part[i].i = 1;
	if (in_elements)
		return product(s.part[0], product(s.part[1], s.part[2]));
	return product(pitched(s.part[0], s.part[1]), s.part[2]);
}

static struct mem_value element_of(struct pass *p, const struct argument *arg)
{
	struct mem_dims s;

	if (!pass_dims(p, arg->at, arg->end, &s) || !s.element)
		return not_known("its channel descriptor is not known");
	return of(s.element);
}

enum call_kind { BYTES, PITCH, EXTENT, ARRAY, ARRAY3D, FIELDS };

static struct mem_value size_of_call(struct pass *p, enum call_kind kind, struct argument *arg,
				     int n)
{
	struct mem_value height = of(1);

	switch (kind) {
	case BYTES:
		return mem_eval(&p->names, arg[0].at, arg[0].end);
	case PITCH:
		if (n < 2)
			break;
		return pitched(mem_eval(&p->names, arg[0].at, arg[0].end),
			       mem_eval(&p->names, arg[1].at, arg[1].end));
	case EXTENT:
		return extent_of(p, &arg[0], 0);
	case ARRAY:
		if (n < 2)
			break;
		if (n > 2)
			height = mem_eval(&p->names, arg[2].at, arg[2].end);
		if (height.known && !height.real && height.i == 0)
			height.i = 1;
		return product(element_of(p, &arg[0]),
			       product(mem_eval(&p->names, arg[1].at, arg[1].end), height));
	case ARRAY3D:
		if (n < 2)
			break;
		return product(element_of(p, &arg[0]), extent_of(p, &arg[1], 1));
	case FIELDS:
		return not_known("the fields of its descriptor are not evaluated");
	}
	return not_known("too few arguments");
}

static const struct {
	const char *name;
	enum call_kind kind;
	int first;
} calls[] = {
#define CALL(name, kind, first) { #name, kind, first },
#include "gpushare/mem/calls.def"
#undef CALL
};

/* Past template arguments, if any. */
static const struct mem_token *bracket_behind(const struct mem_token *name)
{
	const struct mem_token *t = name + 1;

	if (mem_is(t, "<"))
		while (t->kind != MEM_END && !mem_is(t++, ">"))
			;
	return mem_is(t, "(") ? t : NULL;
}

int pass_call(struct pass *p, const struct mem_token *t)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct argument arg[ARGS_MAX];
		const struct mem_token *open, *behind;
		struct mem_allocation *a;
		struct mem_value v;
		int n;

		if (!mem_is(t, calls[i].name))
			continue;
		open = bracket_behind(t);
		n = open ? arguments(open, arg, &behind) : -1;
		if (n <= calls[i].first)
			return 0; /* a declaration, or not called */
		a = new_allocation(p, t);
		if (!a)
			return -1;
		as_text(arg[calls[i].first].at, arg[n - 1].end, a->text, sizeof(a->text));
		if (calls[i].kind == BYTES)
			as_text(arg[calls[i].first].at, arg[calls[i].first].end, a->text,
				sizeof(a->text));
		v = size_of_call(p, calls[i].kind, arg + calls[i].first, n - calls[i].first);
		finish(p, a, &v);
		return 0;
	}
	return 0;
}

/* __device__ float table[N][M]; */
int pass_device_variable(struct pass *p, const struct mem_token *t)
{
	const struct mem_token *name, *at, *end = t;
	struct mem_allocation *a;
	struct mem_value bytes;
	struct mem_type type;

	while (end->kind != MEM_END && !mem_is(end, ";") && !mem_is(end, "(") && !mem_is(end, "{"))
		end++;
	for (at = t; at < end &&
		     (mem_is(at, "__device__") || mem_is(at, "__constant__") ||
		      mem_is(at, "__managed__") || mem_is(at, "static") || mem_is(at, "volatile"));
	     at++)
		;
	if (!mem_is(end, ";") && !mem_is(end, "{"))
		return 0; /* a function */
	name = mem_type_at(&p->names, at, end, &type);
	if (!name || name->kind != MEM_WORD)
		return 0;
	bytes = of(type.bytes);
	for (at = name + 1; mem_is(at, "[");) {
		const struct mem_token *close = at;

		while (close->kind != MEM_END && !mem_is(close, "]"))
			close++;
		bytes = product(bytes, mem_eval(&p->names, at + 1, close));
		at = close + 1;
	}
	a = new_allocation(p, t);
	if (!a)
		return -1;
	as_text(name, at, a->text, sizeof(a->text));
	finish(p, a, &bytes);
	return 0;
}

void mem_estimate_free(struct mem_estimate *e)
{
	free(e->allocation);
	memset(e, 0, sizeof(*e));
}
