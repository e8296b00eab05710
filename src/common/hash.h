/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FNV-1a, for what no secret depends on. */
#ifndef GPUSHARE_HASH_H
#define GPUSHARE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Of nothing; gs_hash() goes on from it. */
#define GS_HASH_EMPTY UINT64_C(0xcbf29ce484222325)

/* The hash of what `hash` is of, and n bytes behind it. */
static inline uint64_t gs_hash(uint64_t hash, const void *data, size_t n)
{
	const unsigned char *p = data;

	while (n--)
		hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
	return hash;
}

#endif
