/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The module's directives (PTX ISA, "Directives"), and the parser's entry. */
#define _GNU_SOURCE
#include "device/ptx/parse.h"

#include <stdlib.h>
#include <string.h>

/* "9.0" of .version */
static void parse_version(struct ptx_parser *p, struct ptx_module *m)
{
	struct ptx_slice s;
	uint32_t part[2] = { 0, 0 };
	unsigned n = 0;

	ptx_next(p);
	s = ptx_token_slice(p);
	if (p->tok.kind != PTX_TOK_NUMBER) {
		ptx_fail(p, "no version behind .version");
		return;
	}
	for (uint32_t i = 0; i < s.len; i++) {
		if (s.s[i] == '.' && n == 0)
			n = 1;
		else if (s.s[i] >= '0' && s.s[i] <= '9' && part[n] < 1000)
			part[n] = part[n] * 10 + (uint32_t)(s.s[i] - '0');
		else
			ptx_fail(p, "a version that is none: %.*s", (int)(s.len > 20 ? 20 : s.len),
				 s.s);
	}
	m->version_major = part[0];
	m->version_minor = part[1];
	ptx_next(p);
}

/* .target sm_90a, texmode_independent, debug: the slice runs from first to last. */
static void parse_target(struct ptx_parser *p, struct ptx_module *m)
{
	uint32_t begin, end;

	ptx_next(p);
	begin = p->tok.begin;
	do {
		ptx_take_name(p);
		end = p->prev_end;
	} while (ptx_accept(p, ','));
	m->target.s = m->text + begin;
	m->target.len = end > begin ? end - begin : 0;
}

static enum ptx_linkage parse_linkage(struct ptx_parser *p)
{
	static const struct {
		const char *text;
		enum ptx_linkage linkage;
	} words[] = {
		{ ".visible", PTX_LINK_VISIBLE },
		{ ".extern", PTX_LINK_EXTERN },
		{ ".weak", PTX_LINK_WEAK },
		{ ".common", PTX_LINK_COMMON },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ptx_at_word(p, words[i].text)) {
			ptx_next(p);
			return words[i].linkage;
		}
	return PTX_LINK_NONE;
}

static void parse_directive(struct ptx_parser *p, struct ptx_module *m)
{
	uint32_t begin = p->tok.begin, line = p->tok.line;
	enum ptx_linkage linkage = parse_linkage(p);

	if (ptx_at_word(p, ".entry") || ptx_at_word(p, ".func")) {
		ptx_parse_func(p, linkage, begin, line);
	} else if (ptx_at_space(p)) {
		ptx_parse_decl(p, linkage, begin, line, &p->vars);
	} else if (linkage != PTX_LINK_NONE) {
		ptx_fail(p, "a linkage directive before nothing that can be linked");
	} else if (ptx_at_word(p, ".version")) {
		parse_version(p, m);
	} else if (ptx_at_word(p, ".target")) {
		parse_target(p, m);
	} else if (ptx_at_word(p, ".address_size")) {
		ptx_next(p);
		m->address_size = ptx_parse_uint32(p);
	} else if (ptx_at_word(p, ".file") || ptx_at_word(p, ".loc")) {
		ptx_lex_skip_line(&p->lex);
		ptx_next(p);
	} else if (ptx_at_word(p, ".section")) {
		while (!ptx_at(p, '{') && p->tok.kind != PTX_TOK_END)
			ptx_next(p);
		ptx_skip_braces(p);
	} else {
		ptx_skip_statement(p); /* .pragma, .alias, what a later ISA adds */
	}
}

static void parse_module(struct ptx_parser *p, struct ptx_module *m)
{
	ptx_next(p);
	while (p->tok.kind != PTX_TOK_END) {
		if (p->tok.kind == PTX_TOK_DOT) {
			parse_directive(p, m);
		} else if (ptx_at(p, '@')) { /* @@DWARF: debug data of old compilers */
			ptx_lex_skip_line(&p->lex);
			ptx_next(p);
		} else if (!ptx_accept(p, ';')) {
			ptx_fail(p, "a directive was expected");
		}
	}
	m->var = ptx_list_take(p, &p->vars, 0, &m->nvar);
	m->func = ptx_list_take(p, &p->funcs, 0, &m->nfunc);
}

static void free_lists(struct ptx_parser *p)
{
	free(p->vars.data);
	free(p->funcs.data);
	free(p->stmts.data);
	free(p->operands.data);
	free(p->slices.data);
	free(p->relocs.data);
	free(p->bytes.data);
	free(p->locals.data);
	ptx_names_free(&p->names);
}

struct ptx_module *ptx_parse(const char *text, size_t len, struct gs_error *err)
{
	struct ptx_holder *holder;
	struct ptx_parser p = {
		.err = err,
		.vars.item = sizeof(struct ptx_var),
		.funcs.item = sizeof(struct ptx_func),
		.stmts.item = sizeof(struct ptx_stmt),
		.operands.item = sizeof(struct ptx_operand),
		.slices.item = sizeof(struct ptx_slice),
		.relocs.item = sizeof(struct ptx_reloc),
		.bytes.item = 1,
		.locals.item = sizeof(struct ptx_var),
	};

	len = strnlen(text, len);
	if (len >= 1u << 31) {
		gs_fail(err, "line 1: more than 2 GiB of text");
		return NULL;
	}
	holder = calloc(1, sizeof(*holder));
	if (!holder) {
		gs_fail(err, "line 1: no memory");
		return NULL;
	}
	holder->module.text = text;
	holder->module.len = (uint32_t)len;
	holder->module.address_size = 32; /* the default (PTX ISA, ".address_size") */
	p.arena = &holder->arena;
	p.lex = (struct ptx_lexer) { .text = text, .end = (uint32_t)len, .line = 1 };
	parse_module(&p, &holder->module);
	free_lists(&p);
	if (p.failed) {
		ptx_module_free(&holder->module);
		return NULL;
	}
	return &holder->module;
}

void ptx_module_free(struct ptx_module *module)
{
	struct ptx_holder *holder = (struct ptx_holder *)module; /* its first member */

	if (!holder)
		return;
	ptx_arena_free(&holder->arena);
	free(holder);
}
