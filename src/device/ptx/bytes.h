/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashing and comparing names, which are short: no loop and no call for up to eight bytes. */
#ifndef GPUSHARE_PTX_BYTES_H
#define GPUSHARE_PTX_BYTES_H

#include <stdint.h>
#include <string.h>

/* At most eight bytes as a number that differs for different bytes of one length. */
static inline uint64_t ptx_few_bytes(const char *s, uint32_t n)
{
	uint64_t all;
	uint32_t low, high;

	if (n >= 8) {
		memcpy(&all, s, 8);
		return all;
	}
	if (n >= 4) {
		memcpy(&low, s, 4);
		memcpy(&high, s + n - 4, 4);
		return low | (uint64_t)high << 32;
	}
	if (!n)
		return 0;
	return (unsigned char)s[0] | (uint64_t)(unsigned char)s[n / 2] << 8 |
	       (uint64_t)(unsigned char)s[n - 1] << 16;
}

static inline int ptx_same_bytes(const char *a, const char *b, uint32_t n)
{
	return n > 8 ? memcmp(a, b, n) == 0 : ptx_few_bytes(a, n) == ptx_few_bytes(b, n);
}

static inline uint32_t ptx_hash_bytes(const char *s, uint32_t n, uint32_t seed)
{
	const uint64_t odd =
		0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio: spreads low bits upwards */
	uint64_t h = (seed + 1ull) * odd ^ n;

	for (; n > 8; n -= 8, s += 8) {
		h = (h ^ ptx_few_bytes(s, 8)) * odd;
		h ^= h >> 32;
	}
	h = (h ^ ptx_few_bytes(s, n)) * odd;
	return (uint32_t)(h ^ h >> 32);
}

#endif
