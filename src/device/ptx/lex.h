/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PTX text to tokens (PTX ISA, "Syntax"); never reads past the end. */
#ifndef GPUSHARE_PTX_LEX_H
#define GPUSHARE_PTX_LEX_H

#include <stdint.h>

enum ptx_token_kind {
	PTX_TOK_END,
	PTX_TOK_WORD,   /* identifier: foo, $L1, %r1, _ */
	PTX_TOK_DOT,    /* directive, type or component: .reg, .u32, .x */
	PTX_TOK_NUMBER, /* 7, 0x1fU, 0f3f800000, 1.5e-3 */
	PTX_TOK_STRING, /* with its quotes */
	PTX_TOK_PUNCT,  /* one character: ch */
	PTX_TOK_BAD,    /* an unterminated string or comment, or a character PTX has no use for */
};

struct ptx_token {
	enum ptx_token_kind kind;
	char ch;
	uint32_t begin, end, line;
};

struct ptx_lexer {
	const char *text;
	uint32_t pos, end, line;
};

/* The next token; at the end of the text PTX_TOK_END, again and again. */
struct ptx_token ptx_lex(struct ptx_lexer *lexer);

/* Extend an opcode's first word by its modifiers: ld -> ld.global.L2::128B.f32 */
void ptx_lex_opcode(struct ptx_lexer *lexer, struct ptx_token *word);

/* Go behind the end of the line: directives like .loc have no other end. */
void ptx_lex_skip_line(struct ptx_lexer *lexer);

/* Is the next character (spaces skipped) a single ':'?  If so, go behind it. */
int ptx_lex_colon(struct ptx_lexer *lexer);

#endif
