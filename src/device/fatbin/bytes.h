/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Little-endian fields of unaligned, untrusted bytes.  The caller has checked the bounds. */
#ifndef GPUSHARE_FATBIN_BYTES_H
#define GPUSHARE_FATBIN_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Does [off, off + len) lie within `size` bytes? */
static inline int within(uint64_t off, uint64_t len, uint64_t size)
{
	return off <= size && len <= size - off;
}

#endif
