/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bump allocator: what a parsed module is made of is freed in one go. */
#ifndef GPUSHARE_PTX_ARENA_H
#define GPUSHARE_PTX_ARENA_H

#include <stddef.h>

struct ptx_chunk;

struct ptx_arena {
	struct ptx_chunk *chunk; /* the newest first */
	char *at, *end;
	size_t next_size;
};

/* A zeroed struct ptx_arena is an empty arena. */

/* A copy of size bytes; NULL when memory is short (and for 0 bytes). */
void *ptx_arena_copy(struct ptx_arena *arena, const void *data, size_t size);

void ptx_arena_free(struct ptx_arena *arena);

#endif
