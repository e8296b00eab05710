/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statements of a body (PTX ISA, "Statements"). */
#define _GNU_SOURCE
#include "device/ptx/opcode.h"
#include "device/ptx/parse.h"

#include <string.h>

static struct ptx_stmt *new_stmt(struct ptx_parser *p, enum ptx_stmt_kind kind)
{
	struct ptx_stmt *s = ptx_list_push(p, &p->stmts);

	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->span = (struct ptx_span) { p->tok.begin, p->tok.end, p->tok.line };
	return s;
}

/* The statement's ';' ends it. */
static void end_stmt(struct ptx_parser *p, struct ptx_stmt *s)
{
	s->span.end = p->tok.end;
	ptx_expect(p, ';');
}

/* .branchtargets a, b; */
static void parse_targets(struct ptx_parser *p, struct ptx_stmt *s, struct ptx_slice label)
{
	size_t from = p->slices.n;

	s->kind = PTX_STMT_BRANCHTARGETS;
	s->targets.label = label;
	ptx_next(p);
	do {
		struct ptx_slice name = ptx_take_name(p), *slot = ptx_list_push(p, &p->slices);

		if (slot)
			*slot = name;
	} while (ptx_accept(p, ','));
	s->targets.target = ptx_list_take(p, &p->slices, from, &s->targets.n);
	end_stmt(p, s);
}

/* .callprototype (ret) _ (params) .noreturn; */
static void parse_prototype(struct ptx_parser *p, struct ptx_stmt *s, struct ptx_slice label)
{
	uint32_t names = p->names.n;

	s->kind = PTX_STMT_CALLPROTOTYPE;
	s->proto.label = label;
	ptx_next(p);
	if (ptx_accept(p, '('))
		s->proto.ret = ptx_parse_params(p, &s->proto.nret);
	ptx_take_name(p);
	if (ptx_accept(p, '('))
		s->proto.param = ptx_parse_params(p, &s->proto.nparam);
	while (p->tok.kind == PTX_TOK_DOT || p->tok.kind == PTX_TOK_NUMBER)
		ptx_next(p);
	ptx_names_leave(&p->names, names);
	end_stmt(p, s);
}

static void parse_label(struct ptx_parser *p, struct ptx_stmt *s, struct ptx_slice label)
{
	s->label = label;
	s->span.end = p->lex.pos;
	ptx_next(p);
	if (ptx_at_word(p, ".branchtargets") || ptx_at_word(p, ".calltargets"))
		parse_targets(p, s, label);
	else if (ptx_at_word(p, ".callprototype"))
		parse_prototype(p, s, label);
}

static void parse_insn(struct ptx_parser *p, struct ptx_stmt *s)
{
	struct ptx_insn insn = { 0 };
	const struct ptx_operand *opd;
	uint32_t n;

	s->kind = PTX_STMT_INSN;
	if (ptx_accept(p, '@')) {
		insn.guard_negated = ptx_accept(p, '!') != 0;
		insn.guard = ptx_take_name(p);
		ptx_names_find(&p->names, insn.guard, &insn.guard_scope);
	}
	if (p->tok.kind != PTX_TOK_WORD) {
		ptx_fail(p, "an instruction was expected");
		return;
	}
	ptx_lex_opcode(&p->lex, &p->tok);
	insn.opcode = ptx_token_slice(p);
	insn.op = (uint8_t)ptx_opcode(insn.opcode);
	ptx_next(p);
	p->sreg = 0;
	opd = ptx_parse_operands(p, insn.opcode, &n);
	insn.names_sreg = p->sreg;
	insn.opd = opd;
	insn.nopd = n;
	s->insn = insn;
	end_stmt(p, s);
}

static void parse_decl(struct ptx_parser *p, struct ptx_stmt *s)
{
	size_t from = p->vars.n;
	uint32_t begin = s->span.begin, n;

	s->kind = PTX_STMT_DECL;
	ptx_parse_decl(p, PTX_LINK_NONE, begin, s->span.line, &p->vars);
	s->decl.var = ptx_list_take(p, &p->vars, from, &n);
	s->decl.n = n;
	if (n)
		s->span = s->decl.var[0].span;
}

static void parse_directive(struct ptx_parser *p, struct ptx_stmt *s)
{
	struct ptx_slice word = ptx_token_slice(p);
	uint32_t begin = p->tok.begin;

	s->kind = PTX_STMT_DIRECTIVE;
	if (ptx_is(word, ".loc") || ptx_is(word, ".file")) {
		ptx_lex_skip_line(&p->lex);
		s->span.end = p->lex.pos;
		ptx_next(p);
	} else {
		ptx_skip_statement(p);
		s->span.end = p->prev_end;
	}
	s->directive = (struct ptx_slice) { p->lex.text + begin, s->span.end - begin };
}

static void parse_word(struct ptx_parser *p, struct ptx_stmt *s)
{
	struct ptx_slice word = ptx_token_slice(p);
	char after = p->lex.pos < p->lex.end ? p->lex.text[p->lex.pos] : 0;

	if (after != '.' && ptx_lex_colon(&p->lex))
		parse_label(p, s, word);
	else
		parse_insn(p, s);
}

/* At "@@": debug data of old compilers, a line long. */
static int at_dwarf(const struct ptx_parser *p)
{
	return ptx_at(p, '@') && p->lex.pos < p->lex.end && p->lex.text[p->lex.pos] == '@';
}

static void parse_stmt(struct ptx_parser *p)
{
	struct ptx_stmt *s = new_stmt(p, PTX_STMT_LABEL);

	if (!s)
		return;
	if (p->tok.kind == PTX_TOK_WORD) {
		parse_word(p, s);
	} else if (at_dwarf(p)) {
		s->kind = PTX_STMT_DIRECTIVE;
		ptx_lex_skip_line(&p->lex);
		s->span.end = p->lex.pos;
		s->directive = (struct ptx_slice) { p->lex.text + s->span.begin,
						    s->span.end - s->span.begin };
		ptx_next(p);
	} else if (ptx_at(p, '@')) {
		parse_insn(p, s);
	} else if (ptx_at_space(p)) {
		parse_decl(p, s);
	} else if (p->tok.kind == PTX_TOK_DOT) {
		parse_directive(p, s);
	} else {
		ptx_fail(p, "a statement was expected");
	}
}

/* Scopes remember where their names begin; deeper than the table is refused. */
static void parse_statements(struct ptx_parser *p, struct ptx_func *f)
{
	struct {
		uint32_t names;
		uint16_t outer;
	} scope[PTX_DEPTH_MAX];
	unsigned depth = 0;

	while (p->tok.kind != PTX_TOK_END) {
		if (ptx_at(p, '}') && depth == 0) {
			f->body_end = p->tok.begin;
			return;
		}
		if (ptx_at(p, '{')) {
			if (depth == PTX_DEPTH_MAX) {
				ptx_fail(p, "scopes nested too deeply");
				return;
			}
			scope[depth].names = p->names.n;
			scope[depth++].outer = p->names.scope;
			p->names.scope =
				++p->scopes < UINT16_MAX ? (uint16_t)p->scopes : UINT16_MAX;
			new_stmt(p, PTX_STMT_OPEN);
			ptx_next(p);
		} else if (ptx_at(p, '}')) {
			ptx_names_leave(&p->names, scope[--depth].names);
			p->names.scope = scope[depth].outer;
			new_stmt(p, PTX_STMT_CLOSE);
			ptx_next(p);
		} else if (!ptx_accept(p, ';')) {
			parse_stmt(p);
		}
	}
	ptx_fail(p, "'}' expected, the text ends");
}

void ptx_parse_body(struct ptx_parser *p, struct ptx_func *f)
{
	size_t from = p->stmts.n;

	f->body_begin = p->tok.end;
	ptx_expect(p, '{');
	parse_statements(p, f);
	f->span.end = p->tok.end;
	ptx_expect(p, '}');
	f->stmt = ptx_list_take(p, &p->stmts, from, &f->nstmt);
}
