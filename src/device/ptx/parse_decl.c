/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variable and parameter declarations (PTX ISA, "Variables"). */
#define _GNU_SOURCE
#include "device/ptx/parse.h"

#include <string.h>

#define DIMS_MAX 16

static const struct {
	const char *text;
	enum ptx_space space;
} spaces[] = {
	{ ".reg", PTX_SPACE_REG },       { ".param", PTX_SPACE_PARAM },
	{ ".local", PTX_SPACE_LOCAL },   { ".shared", PTX_SPACE_SHARED },
	{ ".global", PTX_SPACE_GLOBAL }, { ".const", PTX_SPACE_CONST },
	{ ".tex", PTX_SPACE_TEX },       { ".sreg", PTX_SPACE_SREG },
};

static int space_here(const struct ptx_parser *p, enum ptx_space *space)
{
	struct ptx_slice s = ptx_token_slice(p);

	if (p->tok.kind != PTX_TOK_DOT)
		return 0;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		if (ptx_is(s, spaces[i].text)) {
			*space = spaces[i].space;
			return 1;
		}
	return 0;
}

int ptx_at_space(const struct ptx_parser *p)
{
	enum ptx_space space;

	return space_here(p, &space);
}

static uint32_t parse_align(struct ptx_parser *p)
{
	uint32_t align = ptx_parse_uint32(p);

	if (!p->failed && (align == 0 || align & (align - 1) || align > 1u << 20))
		ptx_fail(p, "an alignment that is no power of two");
	return align;
}

/* .ptr [.space] [.align N]: of the object pointed to, not of the parameter. */
static void parse_ptr(struct ptx_parser *p)
{
	ptx_next(p);
	if (ptx_at_space(p))
		ptx_next(p);
	if (ptx_at_word(p, ".align")) {
		ptx_next(p);
		parse_align(p);
	}
}

/* What stands between the space and the first name. */
static void parse_attributes(struct ptx_parser *p, struct ptx_var *var)
{
	while (p->tok.kind == PTX_TOK_DOT) {
		struct ptx_slice s = ptx_token_slice(p);
		enum ptx_type type = ptx_type_of(s);

		if (type != PTX_T_NONE && var->type == PTX_T_NONE) {
			var->type = type;
			ptx_next(p);
		} else if (ptx_is(s, ".align")) {
			ptx_next(p);
			var->align = parse_align(p);
		} else if (ptx_is(s, ".v2") || ptx_is(s, ".v4")) {
			var->vec = (uint8_t)(s.s[2] - '0');
			ptx_next(p);
		} else if (ptx_is(s, ".ptr")) {
			var->ptr_param = 1;
			parse_ptr(p);
		} else if (ptx_is(s, ".attribute")) { /* .attribute(.managed) */
			ptx_next(p);
			while (p->tok.kind != PTX_TOK_END && !ptx_at(p, ')'))
				ptx_next(p);
			ptx_expect(p, ')');
		} else {
			ptx_fail(p, "%.*s is nothing a declaration has",
				 (int)(s.len > 40 ? 40 : s.len), s.s);
		}
	}
	if (var->type == PTX_T_NONE)
		ptx_fail(p, "a declaration without a type");
	if (!var->align) {
		var->align = ptx_type_size(var->type) * var->vec;
		if (var->type >= PTX_T_TEXREF)
			var->align = 8;
	}
}

static unsigned parse_dimensions(struct ptx_parser *p, struct ptx_var *var, uint64_t *dim)
{
	unsigned n = 0;
	uint64_t bytes = ptx_type_size(var->type) * (uint64_t)var->vec;

	while (ptx_accept(p, '[')) {
		var->is_array = 1;
		if (n == DIMS_MAX) {
			ptx_fail(p, "an array of too many dimensions");
			return 0;
		}
		dim[n] = 0;
		if (!ptx_at(p, ']')) {
			dim[n] = ptx_parse_integer(p);
			if (dim[n] == 0 && n > 0)
				ptx_fail(p, "an array dimension of 0");
		}
		ptx_expect(p, ']');
		if (__builtin_mul_overflow(var->elements, dim[n], &var->elements) ||
		    var->elements > INT64_MAX / (bytes ? bytes : 1))
			ptx_fail(p, "an array larger than any memory");
		n++;
	}
	return n;
}

/* One name with its range, dimensions and initialiser. */
static void parse_declarator(struct ptx_parser *p, const struct ptx_var *common)
{
	struct ptx_var var = *common, *slot;
	uint64_t dim[DIMS_MAX];
	unsigned ndim;

	var.name = ptx_take_name(p);
	if (ptx_accept(p, '<')) {
		var.range = ptx_parse_uint32(p);
		if (var.range == 0)
			ptx_fail(p, "a range of no registers");
		ptx_expect(p, '>');
	}
	ndim = parse_dimensions(p, &var, dim);
	if (ptx_accept(p, '='))
		ptx_parse_init(p, &var, dim, ndim);
	if (ptx_names_add(&p->names, var.name, var.range, var.space == PTX_SPACE_REG) < 0)
		ptx_fail(p, "no memory");
	slot = ptx_list_push(p, &p->locals);
	if (slot)
		*slot = var;
}

static void parse_common(struct ptx_parser *p, struct ptx_var *var)
{
	if (!space_here(p, &var->space))
		ptx_fail(p, "a state space was expected");
	ptx_next(p);
	if (var->space == PTX_SPACE_CONST && ptx_accept(p, '[')) { /* the banks of old ISAs */
		ptx_parse_uint32(p);
		ptx_expect(p, ']');
	}
	parse_attributes(p, var);
}

void ptx_parse_decl(struct ptx_parser *p, enum ptx_linkage linkage, uint32_t begin, uint32_t line,
		    struct ptx_list *list)
{
	struct ptx_var common = { .linkage = linkage, .vec = 1, .elements = 1 };
	size_t from = p->locals.n;

	parse_common(p, &common);
	do {
		parse_declarator(p, &common);
	} while (ptx_accept(p, ','));
	if (!ptx_at(p, ';'))
		ptx_expect(p, ';');
	common.span = (struct ptx_span) { begin, p->tok.end, line };
	ptx_next(p);
	for (size_t i = from; i < p->locals.n && !p->failed; i++) {
		struct ptx_var *to = ptx_list_push(p, list);

		if (to) {
			*to = ((struct ptx_var *)p->locals.data)[i];
			to->span = common.span;
		}
	}
	p->locals.n = from;
}

const struct ptx_var *ptx_parse_params(struct ptx_parser *p, uint32_t *n)
{
	size_t from = p->locals.n;

	while (!ptx_at(p, ')') && p->tok.kind != PTX_TOK_END) {
		struct ptx_var common = { .vec = 1, .elements = 1 };
		uint32_t begin = p->tok.begin, line = p->tok.line;

		parse_common(p, &common);
		parse_declarator(p, &common);
		if (!p->failed)
			((struct ptx_var *)p->locals.data)[p->locals.n - 1].span =
				(struct ptx_span) { begin, p->prev_end, line };
		if (!ptx_accept(p, ','))
			break;
	}
	ptx_expect(p, ')');
	return ptx_list_take(p, &p->locals, from, n);
}
