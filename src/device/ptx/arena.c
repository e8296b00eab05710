/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bump allocator; see arena.h. */
#define _GNU_SOURCE
#include "device/ptx/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_CHUNK (16u << 10)
#define LARGEST_CHUNK ((8u << 20) - 4096)
#define ALIGN 8u
#define HUGE_PAGE (2u << 20)

struct ptx_chunk {
	struct ptx_chunk *older;
	max_align_t data[];
};

/* Large chunks on huge pages: touching fresh pages is half of the time a large module takes. */
static void *allocate(size_t size)
{
	void *p = NULL;

	if (size < HUGE_PAGE)
		return malloc(size);
	if (posix_memalign(&p, HUGE_PAGE, size) != 0)
		return NULL;
	madvise(p, size, MADV_HUGEPAGE);
	return p;
}

static int grow(struct ptx_arena *arena, size_t size)
{
	struct ptx_chunk *chunk;
	size_t room = arena->next_size ? arena->next_size : FIRST_CHUNK;

	if (room > LARGEST_CHUNK)
		room = LARGEST_CHUNK;
	if (room < size)
		room = size;
	if (room > SIZE_MAX - sizeof(*chunk))
		return -1;
	chunk = allocate(sizeof(*chunk) + room);
	if (!chunk)
		return -1;
	chunk->older = arena->chunk;
	arena->chunk = chunk;
	arena->at = (char *)chunk->data;
	arena->end = arena->at + room;
	arena->next_size = room < LARGEST_CHUNK ? room * 2 : LARGEST_CHUNK;
	return 0;
}

/* size bytes, aligned for any node, not zeroed; NULL when memory is short. */
static void *take(struct ptx_arena *arena, size_t size)
{
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (size > (size_t)(arena->end - arena->at) && grow(arena, size) < 0)
		return NULL;
	p = arena->at;
	arena->at += size;
	return p;
}

void *ptx_arena_copy(struct ptx_arena *arena, const void *data, size_t size)
{
	void *p = size ? take(arena, size) : NULL;

	if (p)
		memcpy(p, data, size);
	return p;
}

void ptx_arena_free(struct ptx_arena *arena)
{
	while (arena->chunk) {
		struct ptx_chunk *older = arena->chunk->older;

		free(arena->chunk);
		arena->chunk = older;
	}
	memset(arena, 0, sizeof(*arena));
}
