/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See text.h. */
#include "common/text.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 character that begins here; 0: none does. */
static size_t length_of(const unsigned char *c)
{
	size_t n = *c < 0x80 ? 1 :
		   *c < 0xc2 ? 0 :
		   *c < 0xe0 ? 2 :
		   *c < 0xf0 ? 3 :
		   *c < 0xf5 ? 4 :
			       0;

	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* The number of the character of n bytes. */
static uint32_t code_of(const unsigned char *c, size_t n)
{
	uint32_t code = n == 1 ? *c : *c & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (c[i] & 0x3f);
	return code;
}

/* Marks, embeddings, overrides and isolates: the text around them is shown in another order. */
static int reorders(uint32_t code)
{
	return code == 0x061c || code == 0x200e || code == 0x200f ||
	       (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void gs_text_disarm(char *text)
{
	unsigned char *c = (unsigned char *)text;

	while (*c) {
		size_t n = length_of(c);
		uint32_t code = n ? code_of(c, n) : 0;
		int steers = code < ' ' || (code >= 127 && code < 0xa0) || reorders(code);

		for (size_t i = 0; steers && i < n; i++)
			c[i] = '?';
		if (!n)
			*c = '?';
		c += n ? n : 1;
	}
}
