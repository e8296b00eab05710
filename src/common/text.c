/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See text.h. */
#include "common/text.h"

#include <stddef.h>

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

void gs_text_disarm(char *text)
{
	unsigned char *c = (unsigned char *)text;

	while (*c) {
		size_t n = length_of(c);
		int steers = *c < ' ' || *c == 127 || (*c == 0xc2 && n == 2 && c[1] < 0xa0);

		for (size_t i = 0; steers && i < n; i++)
			c[i] = '?';
		if (!n)
			*c = '?';
		c += n ? n : 1;
	}
}
