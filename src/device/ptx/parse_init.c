/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Initialisers (PTX ISA, "Initializers"): bytes, and the addresses among them. */
#define _GNU_SOURCE
#include "device/ptx/parse.h"

#include <string.h>

/* Zeroes between written elements may exceed the text by this; a hostile text could else ask for
 * any memory. */
#define SPARSE_MAX (1u << 20)

struct init {
	struct ptx_var *var;
	const uint64_t *dim;
	unsigned ndim;
	uint64_t at;          /* elements written or skipped; a vector counts as vec of them */
	uint32_t size;        /* of an element, bytes */
	size_t bytes, relocs; /* where this initialiser begins in the parser's lists */
	uint32_t text;        /* and in the text */
};

static void put_bytes(struct ptx_parser *p, struct init *in, uint64_t bits)
{
	struct ptx_list *list = &p->bytes;
	uint64_t end = (in->at + 1) * in->size;

	if (in->at >= UINT32_MAX || end > (uint64_t)(p->lex.pos - in->text) * 64 + SPARSE_MAX) {
		ptx_fail(p, "an initialiser too sparse");
		return;
	}
	while (list->n - in->bytes < end) {
		uint8_t *b = ptx_list_push(p, list);

		if (!b)
			return;
		*b = 0;
	}
	memcpy(list->data + in->bytes + in->at * in->size, &bits, in->size < 8 ? in->size : 8);
	in->at++;
}

static void put_reloc(struct ptx_parser *p, struct init *in, const struct ptx_reloc *reloc)
{
	struct ptx_reloc *slot = ptx_list_push(p, &p->relocs);

	if (!slot)
		return;
	*slot = *reloc;
	slot->offset = (uint32_t)(in->at * in->size);
	put_bytes(p, in, 0);
}

static uint64_t bits_for(enum ptx_type type, struct ptx_constant c)
{
	double d;
	float f;
	uint32_t single;

	if (c.is_float && c.single && type == PTX_T_F64) {
		single = (uint32_t)c.bits;
		memcpy(&f, &single, sizeof(f));
		d = f;
		memcpy(&c.bits, &d, sizeof(d));
		return c.bits;
	}
	if (type != PTX_T_F32 && type != PTX_T_F64)
		return c.bits;
	if (c.is_float && (c.single || type == PTX_T_F64))
		return c.bits;
	if (c.is_float)
		memcpy(&d, &c.bits, sizeof(d));
	else
		d = (double)(int64_t)c.bits;
	if (type == PTX_T_F64) {
		memcpy(&c.bits, &d, sizeof(d));
		return c.bits;
	}
	f = (float)d;
	memcpy(&single, &f, sizeof(f));
	return single;
}

/* sym, sym+8, sym[2] */
static void parse_symbol(struct ptx_parser *p, struct ptx_reloc *reloc)
{
	reloc->symbol = ptx_take_name(p);
	if (ptx_at(p, '+') || ptx_at(p, '-'))
		reloc->addend = ptx_parse_integer(p);
}

/* generic(sym)+addend, or the plain form */
static void parse_address(struct ptx_parser *p, struct ptx_reloc *reloc)
{
	if (!ptx_at_word(p, "generic")) {
		parse_symbol(p, reloc);
		return;
	}
	ptx_next(p);
	reloc->generic = 1;
	ptx_expect(p, '(');
	parse_symbol(p, reloc);
	ptx_expect(p, ')');
	if (ptx_at(p, '+') || ptx_at(p, '-'))
		reloc->addend += ptx_parse_integer(p);
}

static void parse_string(struct ptx_parser *p, struct init *in)
{
	struct ptx_slice s = ptx_token_slice(p);

	for (uint32_t i = 1; i + 1 < s.len && !p->failed; i++) {
		char ch = s.s[i];

		if (ch == '\\' && i + 2 < s.len) {
			ch = s.s[++i];
			ch = ch == 'n' ? '\n' : ch == 't' ? '\t' : ch == '0' ? 0 : ch;
		}
		put_bytes(p, in, (unsigned char)ch);
	}
	ptx_next(p);
}

static void parse_scalar(struct ptx_parser *p, struct init *in)
{
	struct ptx_reloc reloc = { 0 };

	if (p->tok.kind == PTX_TOK_STRING) {
		parse_string(p, in);
	} else if (ptx_at_constant(p)) {
		struct ptx_constant c = ptx_parse_constant(p);

		if (!ptx_accept(p, '(')) {
			put_bytes(p, in, bits_for(in->var->type, c));
			return;
		}
		reloc.mask = c.bits; /* 0xFF00(sym): one byte of the address */
		parse_address(p, &reloc);
		ptx_expect(p, ')');
		put_reloc(p, in, &reloc);
	} else {
		parse_address(p, &reloc);
		put_reloc(p, in, &reloc);
	}
}

/* Elements of one sub-array below dimension `depth`. */
static uint64_t stride(const struct init *in, unsigned depth)
{
	uint64_t n = in->var->vec;

	for (unsigned i = depth; i < in->ndim; i++)
		n *= in->dim[i];
	return n;
}

/* { a, { b, c }, ... } at nesting `depth`; an inner list fills its sub-array, zeroes behind. */
static void parse_braces(struct ptx_parser *p, struct init *in, unsigned depth)
{
	if (!ptx_enter(p))
		return;
	ptx_expect(p, '{');
	while (!ptx_at(p, '}') && p->tok.kind != PTX_TOK_END) {
		uint64_t from = in->at;

		if (ptx_at(p, '{')) {
			uint64_t n = stride(in, depth + 1);

			parse_braces(p, in, depth + 1);
			if (in->at - from < n)
				in->at = from + n;
		} else {
			parse_scalar(p, in);
		}
		if (!ptx_accept(p, ','))
			break;
	}
	ptx_expect(p, '}');
	p->depth--;
}

void ptx_parse_init(struct ptx_parser *p, struct ptx_var *var, const uint64_t *dim, unsigned ndim)
{
	struct init in = {
		.var = var,
		.dim = dim,
		.ndim = ndim,
		.size = ptx_type_size(var->type),
		.bytes = p->bytes.n,
		.relocs = p->relocs.n,
		.text = p->tok.begin,
	};
	uint32_t n;
	uint64_t units;

	if (in.size == 0) { /* a sampler's named fields */
		if (ptx_at(p, '{'))
			ptx_skip_braces(p);
		else
			ptx_next(p);
		return;
	}
	if (ptx_at(p, '{'))
		parse_braces(p, &in, 0);
	else
		parse_scalar(p, &in);
	units = in.at / var->vec + (in.at % var->vec != 0);
	if (var->is_array && var->elements == 0 && ndim > 0) {
		uint64_t row = stride(&in, 1) / var->vec;

		var->elements = units;
		if (row > 1 && units % row)
			var->elements += row - units % row;
	}
	if (units > var->elements)
		ptx_fail(p, "more initial values than the variable holds");
	var->init = ptx_list_take(p, &p->bytes, in.bytes, &n);
	var->init_len = n;
	var->relocs = ptx_list_take(p, &p->relocs, in.relocs, &var->nrelocs);
}
