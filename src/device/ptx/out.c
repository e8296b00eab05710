/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing text; see out.h. */
#define _GNU_SOURCE
#include "device/ptx/out.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Like the arena's: fresh pages cost more than the text that is put there. */
void ptx_out_reserve(struct ptx_out *out, size_t size)
{
	void *text = NULL;

	if (size < 2 * HUGE_PAGE)
		text = malloc(size);
	else if (posix_memalign(&text, HUGE_PAGE, size) == 0)
		madvise(text, size, MADV_HUGEPAGE);
	else
		text = NULL;
	out->text = text;
	if (text)
		out->cap = size;
}

void ptx_out_put(struct ptx_out *out, const char *text, size_t len)
{
	if (out->failed || len == 0)
		return;
	if (len >= out->cap - out->len) { /* room for a NUL as well */
		size_t cap = out->cap ? out->cap : 4096;
		char *grown;

		while (cap - out->len <= len) {
			if (cap > SIZE_MAX / 2) {
				out->failed = 1;
				return;
			}
			cap *= 2;
		}
		grown = realloc(out->text, cap);
		if (!grown) {
			out->failed = 1;
			return;
		}
		out->text = grown;
		out->cap = cap;
	}
	memcpy(out->text + out->len, text, len);
	out->len += len;
	out->text[out->len] = 0;
}

void ptx_out_str(struct ptx_out *out, const char *text)
{
	ptx_out_put(out, text, strlen(text));
}

void ptx_out_slice(struct ptx_out *out, struct ptx_slice s)
{
	ptx_out_put(out, s.s, s.len);
}

void ptx_out_fmt(struct ptx_out *out, const char *fmt, ...)
{
	char line[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		out->failed = 1;
	else
		ptx_out_put(out, line, (size_t)n);
}
