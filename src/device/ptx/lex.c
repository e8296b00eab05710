/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lexer; see lex.h. */
#include "device/ptx/lex.h"

#include <string.h>

enum { BLANK = 1, WORD = 2, DIGIT = 4, START = 8 };

#define REP26(first, v) \
	[(first)] = v, [(first) + 1] = v, [(first) + 2] = v, [(first) + 3] = v, [(first) + 4] = v, \
	[(first) + 5] = v, [(first) + 6] = v, [(first) + 7] = v, [(first) + 8] = v, \
	[(first) + 9] = v, [(first) + 10] = v, [(first) + 11] = v, [(first) + 12] = v, \
	[(first) + 13] = v, [(first) + 14] = v, [(first) + 15] = v, [(first) + 16] = v, \
	[(first) + 17] = v, [(first) + 18] = v, [(first) + 19] = v, [(first) + 20] = v, \
	[(first) + 21] = v, [(first) + 22] = v, [(first) + 23] = v, [(first) + 24] = v, \
	[(first) + 25] = v

static const unsigned char class_of[256] = {
	[' '] = BLANK,
	['\t'] = BLANK,
	['\n'] = BLANK,
	['\r'] = BLANK,
	['\f'] = BLANK,
	['\v'] = BLANK,
	REP26('a', WORD | START),
	REP26('A', WORD | START),
	['_'] = WORD | START,
	['$'] = WORD | START,
	['%'] = START,
	['0'] = WORD | DIGIT,
	['1'] = WORD | DIGIT,
	['2'] = WORD | DIGIT,
	['3'] = WORD | DIGIT,
	['4'] = WORD | DIGIT,
	['5'] = WORD | DIGIT,
	['6'] = WORD | DIGIT,
	['7'] = WORD | DIGIT,
	['8'] = WORD | DIGIT,
	['9'] = WORD | DIGIT,
};

static inline unsigned class_at(const struct ptx_lexer *l, uint32_t pos)
{
	return pos < l->end ? class_of[(unsigned char)l->text[pos]] : 0;
}

static inline char char_at(const struct ptx_lexer *l, uint32_t pos)
{
	return pos < l->end ? l->text[pos] : 0;
}

/* Go behind a comment that starts here; 1 if there was one, -1 if it has no end. */
static int skip_comment(struct ptx_lexer *l)
{
	const char *s = l->text + l->pos;

	if (char_at(l, l->pos + 1) == '/') {
		const char *nl = memchr(s, '\n', l->end - l->pos);

		l->pos = nl ? (uint32_t)(nl - l->text) : l->end;
		return 1;
	}
	if (char_at(l, l->pos + 1) != '*')
		return 0;
	for (uint32_t pos = l->pos + 2; pos < l->end; pos++) {
		if (l->text[pos] == '\n')
			l->line++;
		if (l->text[pos] == '*' && char_at(l, pos + 1) == '/') {
			l->pos = pos + 2;
			return 1;
		}
	}
	return -1;
}

static int skip_blanks(struct ptx_lexer *l)
{
	for (;;) {
		while (class_at(l, l->pos) & BLANK) {
			if (l->text[l->pos] == '\n')
				l->line++;
			l->pos++;
		}
		if (char_at(l, l->pos) != '/')
			return 0;
		switch (skip_comment(l)) {
		case 0:
			return 0;
		case -1:
			return -1;
		}
	}
}

static uint32_t word_end(const struct ptx_lexer *l, uint32_t pos)
{
	while (class_at(l, pos) & WORD)
		pos++;
	return pos;
}

/* A decimal number may go on behind its digits: .5, e-3 (PTX ISA, "Floating-Point Constants"). */
static uint32_t number_end(const struct ptx_lexer *l, uint32_t pos)
{
	uint32_t first = pos, last;
	int decimal = char_at(l, pos) != '0' || !(class_at(l, pos + 1) & START);

	if (char_at(l, pos) == '0' && (char_at(l, pos + 1) == 'e' || char_at(l, pos + 1) == 'E'))
		decimal = 1;
	pos = word_end(l, pos);
	if (!decimal)
		return pos;
	if (char_at(l, pos) == '.' && class_at(l, pos + 1) & DIGIT)
		pos = word_end(l, pos + 1);
	else if (char_at(l, pos) == '.' && !(class_at(l, pos + 1) & (START | WORD)))
		pos++;
	last = pos > first ? pos - 1 : pos;
	if ((char_at(l, last) == 'e' || char_at(l, last) == 'E') &&
	    (char_at(l, pos) == '-' || char_at(l, pos) == '+') && class_at(l, pos + 1) & DIGIT)
		pos = word_end(l, pos + 1);
	return pos;
}

static enum ptx_token_kind lex_string(struct ptx_lexer *l)
{
	for (uint32_t pos = l->pos + 1; pos < l->end; pos++) {
		if (l->text[pos] == '\\')
			pos++;
		else if (l->text[pos] == '"') {
			l->pos = pos + 1;
			return PTX_TOK_STRING;
		}
		if (pos < l->end && l->text[pos] == '\n')
			break;
	}
	l->pos = l->end;
	return PTX_TOK_BAD;
}

struct ptx_token ptx_lex(struct ptx_lexer *l)
{
	struct ptx_token t = { .kind = PTX_TOK_END };
	unsigned class;

	if (skip_blanks(l) < 0) {
		t.kind = PTX_TOK_BAD;
		t.begin = l->pos;
		t.line = l->line;
		t.end = l->pos = l->end;
		return t;
	}
	t.begin = l->pos;
	t.line = l->line;
	class = class_at(l, l->pos);
	if (class & START) {
		t.kind = PTX_TOK_WORD;
		l->pos = word_end(l, l->pos + 1);
	} else if (class & DIGIT) {
		t.kind = PTX_TOK_NUMBER;
		l->pos = number_end(l, l->pos);
	} else if (l->pos < l->end) {
		t.ch = l->text[l->pos];
		t.kind = PTX_TOK_PUNCT;
		if (t.ch == '.' && class_at(l, l->pos + 1) & (WORD | START)) {
			t.kind = PTX_TOK_DOT;
			l->pos = word_end(l, l->pos + 1);
		} else if (t.ch == '"') {
			t.kind = lex_string(l);
		} else if ((unsigned char)t.ch < 0x20 || (unsigned char)t.ch > 0x7e) {
			t.kind = PTX_TOK_BAD;
			l->pos = l->end;
		} else {
			l->pos++;
		}
	}
	t.end = l->pos;
	return t;
}

void ptx_lex_opcode(struct ptx_lexer *l, struct ptx_token *word)
{
	uint32_t pos = word->end;

	for (;;) {
		if (char_at(l, pos) == '.' && class_at(l, pos + 1) & WORD)
			pos = word_end(l, pos + 1);
		else if (char_at(l, pos) == ':' && char_at(l, pos + 1) == ':' &&
			 class_at(l, pos + 2) & WORD)
			pos = word_end(l, pos + 2);
		else
			break;
	}
	word->end = l->pos = pos;
}

void ptx_lex_skip_line(struct ptx_lexer *l)
{
	const char *nl = memchr(l->text + l->pos, '\n', l->end - l->pos);

	l->pos = nl ? (uint32_t)(nl - l->text) : l->end;
}

int ptx_lex_colon(struct ptx_lexer *l)
{
	if (skip_blanks(l) < 0)
		return 0;
	if (char_at(l, l->pos) != ':' || char_at(l, l->pos + 1) == ':')
		return 0;
	l->pos++;
	return 1;
}
