/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instruction operands (PTX ISA, "Instruction Operands"). */
#define _GNU_SOURCE
#include "device/ptx/parse.h"

#include <string.h>

static struct ptx_operand parse_operand(struct ptx_parser *p);

static void take_list(struct ptx_parser *p, struct ptx_operand *o, size_t from)
{
	o->sub = ptx_list_take(p, &p->operands, from, &o->nsub);
}

static void push(struct ptx_parser *p, const struct ptx_operand *o)
{
	struct ptx_operand *slot = ptx_list_push(p, &p->operands);

	if (slot)
		*slot = *o;
}

/* a, b, c up to `close`, which is taken. */
static void parse_sequence(struct ptx_parser *p, struct ptx_operand *o, char close)
{
	size_t from = p->operands.n;

	if (!ptx_enter(p))
		return;
	while (!ptx_at(p, close) && p->tok.kind != PTX_TOK_END) {
		struct ptx_operand sub = parse_operand(p);

		push(p, &sub);
		if (!ptx_accept(p, ','))
			break;
	}
	ptx_expect(p, close);
	take_list(p, o, from);
	p->depth--;
}

/* A register, special register or symbol, with its component. */
static struct ptx_operand parse_named(struct ptx_parser *p)
{
	struct ptx_operand o = { .name = ptx_token_slice(p) };
	uint32_t end = p->tok.end;

	ptx_next(p);
	if (o.name.len == 1 && o.name.s[0] == '_') {
		o.kind = PTX_OPD_SINK;
		return o;
	}
	if (p->tok.kind == PTX_TOK_DOT && p->tok.begin == end) {
		if (p->tok.end - p->tok.begin > UINT16_MAX)
			ptx_fail(p, "a name is too long");
		o.ncomp = (uint16_t)(p->tok.end - p->tok.begin);
		ptx_next(p);
	}
	switch (ptx_names_find(&p->names, o.name, &o.scope)) {
	case PTX_NAMED_REG:
		o.kind = PTX_OPD_REG;
		break;
	case PTX_NAMED_OTHER:
		o.kind = PTX_OPD_SYM;
		break;
	case PTX_NAMED_NONE: /* predefined names, and only they, begin with % unless declared */
		o.kind = o.name.s[0] == '%' ? PTX_OPD_SREG : PTX_OPD_SYM;
		p->sreg |= o.kind == PTX_OPD_SREG;
		break;
	}
	return o;
}

/* [ base, base+off, tex, coordinates ] from behind '['. */
static void parse_address(struct ptx_parser *p, struct ptx_operand *o)
{
	size_t from = p->operands.n;

	o->kind = PTX_OPD_ADDR;
	if (!ptx_enter(p))
		return;
	do {
		struct ptx_operand sub = parse_operand(p);

		if (p->operands.n == from) { /* the base: its offset is the address's */
			o->bits = sub.kind == PTX_OPD_SYM ? sub.bits : 0;
			if (sub.kind == PTX_OPD_SYM)
				sub.bits = 0;
			if (ptx_at(p, '+') || ptx_at(p, '-'))
				o->bits += ptx_parse_integer(p);
		}
		push(p, &sub);
	} while (ptx_accept(p, ','));
	ptx_expect(p, ']');
	take_list(p, o, from);
	p->depth--;
}

/* arr[2] */
static void parse_index(struct ptx_parser *p, struct ptx_operand *o)
{
	struct ptx_operand base = *o, index = { .kind = PTX_OPD_INT };
	size_t from = p->operands.n;

	base.span = (struct ptx_span) { (uint32_t)(base.name.s - p->lex.text), p->prev_end,
					p->tok.line };
	index.span = (struct ptx_span) { p->tok.begin, p->tok.end, p->tok.line };
	index.bits = ptx_parse_integer(p);
	ptx_expect(p, ']');
	memset(o, 0, sizeof(*o));
	o->kind = PTX_OPD_ADDR;
	push(p, &base);
	push(p, &index);
	take_list(p, o, from);
}

static struct ptx_operand parse_literal(struct ptx_parser *p)
{
	struct ptx_operand o = { .kind = PTX_OPD_INT };
	struct ptx_constant c;

	if (ptx_at_word(p, "WARP_SZ"))
		o.name = ptx_token_slice(p);
	c = ptx_parse_constant(p);
	o.bits = c.bits;
	if (c.is_float) {
		o.kind = PTX_OPD_FLOAT;
		o.single = c.single;
	}
	return o;
}

/* Is the sign here one of a register rather than of a number? */
static int at_signed_name(const struct ptx_parser *p)
{
	uint32_t pos = p->lex.pos;

	if (!ptx_at(p, '!') && !ptx_at(p, '-') && !ptx_at(p, '~'))
		return 0;
	while (pos < p->lex.end && (p->lex.text[pos] == ' ' || p->lex.text[pos] == '\t'))
		pos++;
	return pos < p->lex.end &&
	       (p->lex.text[pos] == '%' || p->lex.text[pos] == '_' || p->lex.text[pos] == '$' ||
		(unsigned)((p->lex.text[pos] | 0x20) - 'a') < 26);
}

static struct ptx_operand parse_simple(struct ptx_parser *p)
{
	struct ptx_operand o = { .kind = PTX_OPD_SINK };

	if (at_signed_name(p)) {
		ptx_next(p);
		o = parse_named(p);
		o.negated = 1;
	} else if (ptx_accept(p, '[')) {
		parse_address(p, &o);
	} else if (ptx_accept(p, '{')) {
		o.kind = PTX_OPD_VEC;
		parse_sequence(p, &o, '}');
	} else if (ptx_at_constant(p)) {
		o = parse_literal(p);
	} else if (p->tok.kind == PTX_TOK_WORD) {
		o = parse_named(p);
		if (o.kind == PTX_OPD_SYM && (ptx_at(p, '+') || ptx_at(p, '-')))
			o.bits = ptx_parse_integer(p);
		else if (o.kind == PTX_OPD_SYM && ptx_accept(p, '['))
			parse_index(p, &o);
	} else {
		ptx_fail(p, "an operand was expected");
	}
	return o;
}

static struct ptx_operand parse_operand(struct ptx_parser *p)
{
	struct ptx_span span = { p->tok.begin, 0, p->tok.line };
	struct ptx_operand o = parse_simple(p);

	o.span = span;
	o.span.end = p->prev_end;
	if (ptx_at(p, '|')) {
		struct ptx_operand pair = { .kind = PTX_OPD_PAIR, .span = span }, second;
		size_t from = p->operands.n;

		ptx_next(p);
		push(p, &o);
		span = (struct ptx_span) { p->tok.begin, 0, p->tok.line };
		second = parse_simple(p);
		second.span = span;
		second.span.end = pair.span.end = p->prev_end;
		push(p, &second);
		take_list(p, &pair, from);
		return pair;
	}
	return o;
}

const struct ptx_operand *ptx_parse_operands(struct ptx_parser *p, struct ptx_slice opcode,
					     uint32_t *n)
{
	size_t from = p->operands.n;
	int is_call = ptx_starts(opcode, "call") && (opcode.len == 4 || opcode.s[4] == '.');

	while (!ptx_at(p, ';') && p->tok.kind != PTX_TOK_END) {
		struct ptx_operand o;

		if (is_call && ptx_at(p, '(')) {
			o = (struct ptx_operand) { .kind = PTX_OPD_LIST,
						   .span = { p->tok.begin, 0, p->tok.line } };
			ptx_next(p);
			parse_sequence(p, &o, ')');
			o.span.end = p->prev_end;
		} else {
			o = parse_operand(p);
		}
		push(p, &o);
		if (!ptx_accept(p, ','))
			break;
	}
	if (!ptx_at(p, ';'))
		ptx_expect(p, ';');
	return ptx_list_take(p, &p->operands, from, n);
}
