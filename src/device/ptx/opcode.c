/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opcodes by their first word; see opcode.h. */
#define _GNU_SOURCE
#include "device/ptx/opcode.h"

#include <string.h>

static const struct {
	const char *word;
	uint8_t len, op;
} opcodes[] = {
/* sorted */
#define OPCODE(word, class) { #word, sizeof(#word) - 1, PTX_OP_##class },
#include "device/ptx/opcode.def"
#undef OPCODE
};

#define NOPCODE (sizeof(opcodes) / sizeof(opcodes[0]))

static int compare(struct ptx_slice a, const char *b, uint32_t blen)
{
	int c = a.len ? (unsigned char)a.s[0] - (unsigned char)b[0] : 0;

	if (!c)
		c = memcmp(a.s, b, a.len < blen ? a.len : blen);
	return c ? c : (a.len > blen) - (a.len < blen);
}

enum ptx_op ptx_opcode(struct ptx_slice opcode)
{
	const char *dot = memchr(opcode.s, '.', opcode.len);
	size_t low = 0, high = NOPCODE;

	if (dot)
		opcode.len = (uint32_t)(dot - opcode.s);
	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = compare(opcode, opcodes[mid].word, opcodes[mid].len);

		if (c == 0)
			return (enum ptx_op)opcodes[mid].op;
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return PTX_OP_UNKNOWN;
}

int ptx_has_word(struct ptx_slice opcode, const char *modifier, size_t n)
{
	const char *at = opcode.s, *end = opcode.s + opcode.len;

	for (; (size_t)(end - at) >= n; at++)
		if (*at == '.' && at[1] == modifier[1] && memcmp(at, modifier, n) == 0 &&
		    (at + n == end || at[n] == '.' || at[n] == ':'))
			return 1;
	return 0;
}
