/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes that grow; once memory has run out, what is added is dropped and `failed` says so. */
#ifndef GPUSHARE_CUBIN_BUFFER_H
#define GPUSHARE_CUBIN_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct cubin_buffer {
	uint8_t *data; /* malloc'd; whoever takes it sets it to NULL */
	size_t size, room;
	int failed;
};

void cubin_buffer_free(struct cubin_buffer *b);
/* n bytes of `from`, or zeros where that is NULL. */
void cubin_buffer_add(struct cubin_buffer *b, const void *from, size_t n);
void cubin_buffer_add16(struct cubin_buffer *b, uint16_t v);
void cubin_buffer_add32(struct cubin_buffer *b, uint32_t v);
/* Zeros up to a multiple of `align`, which is a power of two. */
void cubin_buffer_align(struct cubin_buffer *b, uint64_t align);

#endif
