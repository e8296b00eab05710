/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constants and constant expressions (PTX ISA, "Constants"). */
#define _GNU_SOURCE
#include "device/ptx/parse.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static double double_of(struct ptx_constant c)
{
	double d;

	if (!c.is_float)
		return (double)(int64_t)c.bits;
	if (c.single) {
		uint32_t bits = (uint32_t)c.bits;
		float f;

		memcpy(&f, &bits, sizeof(f));
		return f;
	}
	memcpy(&d, &c.bits, sizeof(d));
	return d;
}

static struct ptx_constant of_double(double d)
{
	struct ptx_constant c = { .is_float = 1 };

	memcpy(&c.bits, &d, sizeof(d));
	return c;
}

static struct ptx_constant of_int(uint64_t bits)
{
	return (struct ptx_constant) { .bits = bits };
}

static unsigned digit_of(char ch)
{
	if (ch >= '0' && ch <= '9')
		return (unsigned)(ch - '0');
	if (ch >= 'a' && ch <= 'f')
		return (unsigned)(ch - 'a') + 10;
	if (ch >= 'A' && ch <= 'F')
		return (unsigned)(ch - 'A') + 10;
	return 99;
}

static uint64_t parse_digits(struct ptx_parser *p, struct ptx_slice s, unsigned base)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < s.len; i++) {
		unsigned digit = digit_of(s.s[i]);

		if (digit >= base || v > (UINT64_MAX - digit) / base) {
			ptx_fail(p, "a number that is none: %.*s", (int)(s.len > 40 ? 40 : s.len),
				 s.s);
			return 0;
		}
		v = v * base + digit;
	}
	return v;
}

static struct ptx_constant parse_decimal_float(struct ptx_parser *p, struct ptx_slice s)
{
	char copy[128], *end;
	locale_t c_locale; /* the program's locale may write a comma */
	double d;

	if (s.len >= sizeof(copy)) {
		ptx_fail(p, "a number with too many digits");
		return of_int(0);
	}
	memcpy(copy, s.s, s.len);
	copy[s.len] = 0;
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale) {
		ptx_fail(p, "no memory");
		return of_int(0);
	}
	d = strtod_l(copy, &end, c_locale);
	freelocale(c_locale);
	if (*end)
		ptx_fail(p, "a number that is none: %s", copy);
	return of_double(d);
}

static int is_decimal_float(struct ptx_slice s)
{
	for (uint32_t i = 0; i < s.len; i++)
		if (s.s[i] == '.' || s.s[i] == 'e' || s.s[i] == 'E')
			return 1;
	return 0;
}

static struct ptx_constant parse_number(struct ptx_parser *p)
{
	struct ptx_slice s = ptx_token_slice(p);
	char mark = s.len > 1 && s.s[0] == '0' ? (char)(s.s[1] | 0x20) : 0;
	struct ptx_slice digits = { s.s + 2, s.len - 2 };
	unsigned base = 10;

	if (mark == 'f' || mark == 'd') {
		struct ptx_constant c = { .is_float = 1, .single = mark == 'f' };

		c.bits = parse_digits(p, digits, 16);
		if (digits.len != (c.single ? 8 : 16))
			ptx_fail(p, "a floating-point constant of the wrong length");
		ptx_next(p);
		return c;
	}
	if (mark != 'x' && is_decimal_float(s)) {
		struct ptx_constant c = parse_decimal_float(p, s);

		ptx_next(p);
		return c;
	}
	if (mark == 'x' || mark == 'b') {
		base = mark == 'x' ? 16 : 2;
		s = digits;
	} else if (s.s[0] == '0' && s.len > 1) {
		base = 8;
	}
	if (s.len > 1 && (s.s[s.len - 1] == 'U' || s.s[s.len - 1] == 'u'))
		s.len--;
	if (s.len == 0)
		ptx_fail(p, "a number without digits");
	ptx_next(p);
	if (base == 8 && s.len == 1)
		base = 10; /* 0U */
	return of_int(parse_digits(p, s, base));
}

int ptx_at_constant(const struct ptx_parser *p)
{
	return p->tok.kind == PTX_TOK_NUMBER ||
	       (p->tok.kind == PTX_TOK_PUNCT && strchr("+-~!(", p->tok.ch)) ||
	       (p->tok.kind == PTX_TOK_DOT && p->lex.text[p->tok.begin + 1] >= '0' &&
		p->lex.text[p->tok.begin + 1] <= '9') ||
	       ptx_at_word(p, "WARP_SZ");
}

static struct ptx_constant parse_binary(struct ptx_parser *p, int floor);

static struct ptx_constant parse_conditional(struct ptx_parser *p)
{
	struct ptx_constant c = parse_binary(p, 0), yes, no;

	if (!ptx_at(p, '?') || !ptx_enter(p))
		return c;
	ptx_next(p);
	yes = parse_conditional(p);
	ptx_expect(p, ':');
	no = parse_conditional(p);
	p->depth--;
	return double_of(c) != 0 ? yes : no;
}

static struct ptx_constant negate(char op, struct ptx_constant c)
{
	if (op == '-' && c.is_float) {
		c.bits ^= 1ull << (c.single ? 31 : 63);
		return c;
	}
	switch (op) {
	case '-':
		return of_int(-c.bits);
	case '~':
		return of_int(~c.bits);
	case '!':
		return of_int(double_of(c) == 0);
	}
	return c;
}

static struct ptx_constant parse_unary(struct ptx_parser *p)
{
	struct ptx_constant c = { 0 };
	char op = p->tok.kind == PTX_TOK_PUNCT ? p->tok.ch : 0;

	if (p->tok.kind == PTX_TOK_NUMBER)
		return parse_number(p);
	if (p->tok.kind == PTX_TOK_DOT) {
		c = parse_decimal_float(p, ptx_token_slice(p));
		ptx_next(p);
		return c;
	}
	if (ptx_at_word(p, "WARP_SZ")) {
		ptx_next(p);
		return of_int(32);
	}
	if (!op || !strchr("+-~!(", op)) {
		ptx_fail(p, "a constant was expected");
		return c;
	}
	if (!ptx_enter(p))
		return c;
	ptx_next(p);
	if (op != '(') {
		c = negate(op, parse_unary(p));
	} else if (ptx_at_word(p, ".s64") || ptx_at_word(p, ".u64")) {
		ptx_next(p); /* a cast changes no bit here */
		ptx_expect(p, ')');
		c = parse_unary(p);
	} else {
		c = parse_conditional(p);
		ptx_expect(p, ')');
	}
	p->depth--;
	return c;
}

/* The operators of C, strongest last; two-character ones by their first and second character. */
static const struct operator
{
	char first, second;
	int strength;
}
operators[] = {
	{ '|', '|', 1 }, { '&', '&', 2 }, { '|', 0, 3 },   { '^', 0, 4 },   { '&', 0, 5 },
	{ '=', '=', 6 }, { '!', '=', 6 }, { '<', '=', 7 }, { '>', '=', 7 }, { '<', '<', 8 },
	{ '>', '>', 8 }, { '<', 0, 7 },   { '>', 0, 7 },   { '+', 0, 9 },   { '-', 0, 9 },
	{ '*', 0, 10 },  { '/', 0, 10 },  { '%', 0, 10 },
};

static const struct operator* operator_here(const struct ptx_parser *p)
{
	char second = p->lex.pos < p->lex.end ? p->lex.text[p->lex.pos] : 0;

	if (p->tok.kind != PTX_TOK_PUNCT)
		return NULL;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (p->tok.ch == operators[i].first &&
		    (!operators[i].second || operators[i].second == second))
			return &operators[i];
	return NULL;
}

static uint64_t integer_result(struct ptx_parser *p, const struct operator* op, uint64_t a,
			       uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op->first) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '^':
		return a ^ b;
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '|':
		return op->second ? a || b : a | b;
	case '&':
		return op->second ? a && b : a & b;
	case '<':
		return op->second == '<' ? a << (b & 63) : op->second ? sa <= sb : sa < sb;
	case '>':
		return op->second == '>' ? a >> (b & 63) : op->second ? sa >= sb : sa > sb;
	}
	if (b == 0 || (sa == INT64_MIN && sb == -1)) {
		ptx_fail(p, "a division by zero");
		return 0;
	}
	return op->first == '/' ? (uint64_t)(sa / sb) : (uint64_t)(sa % sb);
}

static struct ptx_constant float_result(struct ptx_parser *p, const struct operator* op, double a,
					double b)
{
	switch (op->first) {
	case '+':
		return of_double(a + b);
	case '-':
		return of_double(a - b);
	case '*':
		return of_double(a * b);
	case '/':
		return of_double(b != 0 ? a / b : 0);
	}
	ptx_fail(p, "an operator that floating-point constants do not have");
	return of_int(0);
}

static struct ptx_constant parse_binary(struct ptx_parser *p, int floor)
{
	struct ptx_constant a = parse_unary(p);
	const struct operator* op;

	while ((op = operator_here(p)) && op->strength > floor && ptx_enter(p)) {
		struct ptx_constant b;

		ptx_next(p);
		if (op->second)
			ptx_next(p);
		b = parse_binary(p, op->strength);
		p->depth--;
		a = a.is_float || b.is_float ? float_result(p, op, double_of(a), double_of(b)) :
					       of_int(integer_result(p, op, a.bits, b.bits));
	}
	return a;
}

struct ptx_constant ptx_parse_constant(struct ptx_parser *p)
{
	return parse_conditional(p);
}

uint64_t ptx_parse_integer(struct ptx_parser *p)
{
	struct ptx_constant c = parse_conditional(p);

	if (c.is_float)
		ptx_fail(p, "an integer was expected");
	return c.bits;
}

uint32_t ptx_parse_uint32(struct ptx_parser *p)
{
	uint64_t v = p->tok.kind == PTX_TOK_NUMBER ? parse_number(p).bits : UINT64_MAX;

	if (v > UINT32_MAX) {
		ptx_fail(p, "a number below 2^32 was expected");
		return 0;
	}
	return (uint32_t)v;
}
