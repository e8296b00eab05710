/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parser's files share.  The parser looks one token ahead and fails
 * once: after ptx_fail() every token is the end of the text, so loops end and
 * callers need not ask after each step.
 */
#ifndef GPUSHARE_PTX_PARSE_H
#define GPUSHARE_PTX_PARSE_H

#include <stddef.h>
#include <stdint.h>

#include "device/ptx/arena.h"
#include "device/ptx/ast.h"
#include "device/ptx/lex.h"
#include "device/ptx/names.h"

/* Nesting of braces, brackets and parentheses: more is no program's text. */
#define PTX_DEPTH_MAX 64

/* A list that grows while its end is unknown; then it moves to the arena. */
struct ptx_list {
	char *data;
	size_t n, cap, item;
};

struct ptx_parser {
	struct ptx_lexer lex;
	struct ptx_token tok; /* the token looked at */
	uint32_t prev_end;    /* where the one before it ended */
	int failed;
	unsigned depth;
	struct gs_error *err;
	struct ptx_arena *arena;
	struct ptx_names names; /* of the function being parsed */
	uint32_t scopes;        /* opened in it so far */
	uint8_t sreg;           /* the instruction has named a special register */
	struct ptx_list vars, funcs, stmts, operands, slices, relocs, bytes;
	struct ptx_list locals; /* variables of the declaration being parsed */
};

/* The parsed module together with what owns its memory. */
struct ptx_holder {
	struct ptx_module module;
	struct ptx_arena arena;
};

/* Tokens. */
void ptx_next(struct ptx_parser *p);

/* Is it this punctuation? */
static inline int ptx_at(const struct ptx_parser *p, char ch)
{
	return p->tok.kind == PTX_TOK_PUNCT && p->tok.ch == ch;
}

/* Take it if it is. */
static inline int ptx_accept(struct ptx_parser *p, char ch)
{
	if (!ptx_at(p, ch))
		return 0;
	ptx_next(p);
	return 1;
}

static inline struct ptx_slice ptx_token_slice(const struct ptx_parser *p)
{
	return (struct ptx_slice) { p->lex.text + p->tok.begin, p->tok.end - p->tok.begin };
}

void ptx_expect(struct ptx_parser *p, char ch);
int ptx_at_word(const struct ptx_parser *p, const char *text); /* a word or .directive */
struct ptx_slice ptx_take_name(struct ptx_parser *p);          /* a word, or failure */
void ptx_fail(struct ptx_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int ptx_enter(struct ptx_parser *p);           /* one level deeper; 0: too deep */
void ptx_skip_braces(struct ptx_parser *p);    /* { ... }, balanced */
void ptx_skip_statement(struct ptx_parser *p); /* up to ';', or over one { ... } */

/* Lists: a pointer to a new item of the list (not zeroed), NULL after failure. */
void *ptx_list_push(struct ptx_parser *p, struct ptx_list *list);
/* Items [from, n) move to the arena. */
void *ptx_list_take(struct ptx_parser *p, struct ptx_list *list, size_t from, uint32_t *n);

/* Constants (PTX ISA, "Constants"): the token is a number, a sign or '('. */
struct ptx_constant {
	uint64_t bits; /* integer, or pattern of the float */
	uint8_t is_float, single;
};
struct ptx_constant ptx_parse_constant(struct ptx_parser *p);
int ptx_at_constant(const struct ptx_parser *p);
uint64_t ptx_parse_integer(struct ptx_parser *p);
uint32_t ptx_parse_uint32(struct ptx_parser *p);

/* Declarations. */
int ptx_at_space(const struct ptx_parser *p); /* .reg, .shared, ...: a declaration begins */
enum ptx_type ptx_type_of(struct ptx_slice text);
/* One declaration with all its names, up to and with ';'; appended to `list`. */
void ptx_parse_decl(struct ptx_parser *p, enum ptx_linkage linkage, uint32_t begin, uint32_t line,
		    struct ptx_list *list);
/* ( param, ... ) from behind '(' to behind ')'; the copies in the arena. */
const struct ptx_var *ptx_parse_params(struct ptx_parser *p, uint32_t *n);
void ptx_parse_init(struct ptx_parser *p, struct ptx_var *var, const uint64_t *dim, unsigned ndim);

/* Functions. */
void ptx_parse_func(struct ptx_parser *p, enum ptx_linkage linkage, uint32_t begin, uint32_t line);
void ptx_parse_body(struct ptx_parser *p, struct ptx_func *func);
/* Operands up to and with ';'. */
const struct ptx_operand *ptx_parse_operands(struct ptx_parser *p, struct ptx_slice opcode,
					     uint32_t *n);

#endif
