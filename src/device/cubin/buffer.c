/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See buffer.h. */
#define _GNU_SOURCE
#include "device/cubin/buffer.h"

#include <stdlib.h>
#include <string.h>

void cubin_buffer_free(struct cubin_buffer *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

static int grow(struct cubin_buffer *b, size_t n)
{
	size_t room = b->room ? b->room : 256;
	uint8_t *grown;

	if (b->failed || n > SIZE_MAX / 4 - b->size) {
		b->failed = 1;
		return -1;
	}
	while (room < b->size + n)
		room *= 2;
	if (room == b->room)
		return 0;
	grown = realloc(b->data, room);
	if (!grown) {
		b->failed = 1;
		return -1;
	}
	b->data = grown;
	b->room = room;
	return 0;
}

void cubin_buffer_add(struct cubin_buffer *b, const void *from, size_t n)
{
	if (!n || grow(b, n) < 0)
		return;
	if (from)
		memcpy(b->data + b->size, from, n);
	else
		memset(b->data + b->size, 0, n);
	b->size += n;
}

void cubin_buffer_add16(struct cubin_buffer *b, uint16_t v)
{
	cubin_buffer_add(b, &v, sizeof(v));
}

void cubin_buffer_add32(struct cubin_buffer *b, uint32_t v)
{
	cubin_buffer_add(b, &v, sizeof(v));
}

void cubin_buffer_align(struct cubin_buffer *b, uint64_t align)
{
	if (align > 1)
		cubin_buffer_add(b, NULL, (size_t)(-(uint64_t)b->size & (align - 1)));
}
