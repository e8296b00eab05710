/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and C's operators on them; see value.h. */
#define _GNU_SOURCE
#include "gpushare/mem/value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct mem_value mem_unknown(const char *fmt, ...)
{
	struct mem_value v = { .known = 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v.why, sizeof(v.why), fmt, ap);
	va_end(ap);
	return v;
}

struct mem_value mem_whole(__int128 i)
{
	return (struct mem_value) { .known = 1, .i = i };
}

struct mem_value mem_real(double d)
{
	return (struct mem_value) { .known = 1, .real = 1, .d = d };
}

double mem_as_real(const struct mem_value *v)
{
	return v->real ? v->d : (double)v->i;
}

static struct mem_value apply_real(const char *op, double a, double b)
{
	switch (op[0]) {
	case '+':
		return mem_real(a + b);
	case '-':
		return mem_real(a - b);
	case '*':
		return mem_real(a * b);
	case '/':
		return b == 0 ? mem_unknown("a division by zero") : mem_real(a / b);
	case '<':
		return op[1] == '<' ? mem_unknown("a shift of a fraction") :
				      mem_whole(op[1] ? a <= b : a < b);
	case '>':
		return op[1] == '>' ? mem_unknown("a shift of a fraction") :
				      mem_whole(op[1] ? a >= b : a > b);
	case '=':
		return mem_whole(a == b);
	case '!':
		return mem_whole(a != b);
	default:
		return mem_unknown("'%s' of a fraction", op);
	}
}

static struct mem_value shift(__int128 a, __int128 b, int left)
{
	__int128 r;

	if (b < 0 || b > 64 || a < 0)
		return mem_unknown("a shift beyond the number");
	if (!left)
		return mem_whole(a >> (int)b);
	if (__builtin_mul_overflow(a, (__int128)1 << (int)b, &r))
		return mem_unknown("a number that is too large");
	return mem_whole(r);
}

static struct mem_value apply_whole(const char *op, __int128 a, __int128 b)
{
	__int128 r;
	int over = 0;

	if (strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0)
		return shift(a, b, op[0] == '<');
	if ((op[0] == '/' || op[0] == '%') && b == 0)
		return mem_unknown("a division by zero");
	switch (op[0]) {
	case '+':
		over = __builtin_add_overflow(a, b, &r);
		break;
	case '-':
		over = __builtin_sub_overflow(a, b, &r);
		break;
	case '*':
		over = __builtin_mul_overflow(a, b, &r);
		break;
	case '/':
		r = a / b;
		break;
	case '%':
		r = a % b;
		break;
	case '|':
		r = op[1] ? a || b : (a | b);
		break;
	case '&':
		r = op[1] ? a && b : (a & b);
		break;
	case '^':
		r = a ^ b;
		break;
	case '<':
		r = op[1] ? a <= b : a < b;
		break;
	case '>':
		r = op[1] ? a >= b : a > b;
		break;
	case '=':
		r = a == b;
		break;
	default:
		r = a != b;
		break;
	}
	return over ? mem_unknown("a number that is too large") : mem_whole(r);
}

struct mem_value mem_value_apply(const char *op, const struct mem_value *a,
				 const struct mem_value *b)
{
	if (!a->known || !b->known)
		return a->known ? *b : *a;
	if (a->real || b->real)
		return apply_real(op, mem_as_real(a), mem_as_real(b));
	return apply_whole(op, a->i, b->i);
}

int mem_value_bytes(struct mem_value *v, uint64_t *bytes)
{
	const char *why = NULL;

	if (!v->known)
		return -1;
	if (v->real ? v->d < 0 : v->i < 0)
		why = "a negative number";
	else if (v->real ? v->d > 1e15 : v->i > ((__int128)1 << 50))
		why = "more than any device has";
	if (why) {
		*v = mem_unknown("%s", why);
		return -1;
	}
	*bytes = v->real ? (uint64_t)v->d : (uint64_t)v->i;
	return 0;
}
