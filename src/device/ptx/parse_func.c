/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries and functions: the head, its directives, and the body's statements. */
#define _GNU_SOURCE
#include "device/ptx/parse.h"

#include <string.h>

static void parse_triple(struct ptx_parser *p, uint32_t out[3])
{
	unsigned n = 0;

	out[0] = out[1] = out[2] = 1;
	do {
		uint32_t v = ptx_parse_uint32(p);

		if (n < 3)
			out[n] = v;
		n++;
	} while (ptx_accept(p, ','));
}

/* Directives between the head and the body (PTX ISA, "Performance-Tuning Directives"). */
static void parse_func_directive(struct ptx_parser *p, struct ptx_func *f)
{
	struct ptx_slice s = ptx_token_slice(p);

	ptx_next(p);
	if (ptx_is(s, ".maxntid"))
		parse_triple(p, f->bounds.maxntid);
	else if (ptx_is(s, ".reqntid"))
		parse_triple(p, f->bounds.reqntid);
	else if (ptx_is(s, ".minnctapersm"))
		f->bounds.minnctapersm = ptx_parse_uint32(p);
	else if (ptx_is(s, ".maxnreg"))
		f->bounds.maxnreg = ptx_parse_uint32(p);
	else if (ptx_is(s, ".noreturn"))
		f->noreturn = 1;
	else if (ptx_is(s, ".reqnctapercluster") || ptx_is(s, ".explicitcluster") ||
		 ptx_is(s, ".maxclusterrank") || ptx_is(s, ".blocksareclusters"))
		f->bounds.has_cluster = 1;
	/* the arguments of the others, and a .pragma's ';' */
	while (p->tok.kind == PTX_TOK_NUMBER || p->tok.kind == PTX_TOK_STRING ||
	       p->tok.kind == PTX_TOK_WORD || ptx_at(p, ','))
		ptx_next(p);
	if (ptx_is(s, ".pragma"))
		ptx_expect(p, ';');
}

void ptx_parse_func(struct ptx_parser *p, enum ptx_linkage linkage, uint32_t begin, uint32_t line)
{
	struct ptx_func f = { .linkage = linkage }, *slot;
	uint32_t names = p->names.n;

	p->scopes = 0;
	f.is_entry = (uint8_t)ptx_at_word(p, ".entry");
	ptx_next(p);
	if (ptx_at_word(p, ".attribute")) {
		while (p->tok.kind != PTX_TOK_END && !ptx_at(p, ')'))
			ptx_next(p);
		ptx_expect(p, ')');
	}
	if (!f.is_entry && ptx_accept(p, '('))
		f.ret = ptx_parse_params(p, &f.nret);
	f.name = ptx_take_name(p);
	f.params_begin = f.params_end = p->prev_end;
	if (ptx_at(p, '(')) {
		f.params_begin = p->tok.end;
		ptx_next(p);
		f.param = ptx_parse_params(p, &f.nparam);
		f.params_end = p->prev_end - 1;
	}
	while (p->tok.kind == PTX_TOK_DOT)
		parse_func_directive(p, &f);
	if (ptx_at(p, ';')) {
		f.is_decl = 1;
		f.span.end = p->tok.end;
		ptx_next(p);
	} else {
		ptx_parse_body(p, &f);
	}
	f.span.begin = begin;
	f.span.line = line;
	ptx_names_leave(&p->names, names);
	slot = ptx_list_push(p, &p->funcs);
	if (slot)
		*slot = f;
}
