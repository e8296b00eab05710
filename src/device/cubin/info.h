/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The attributes in .nv.info and .nv.info.KERNEL, and what attributes.def says of them. */
#ifndef GPUSHARE_CUBIN_INFO_H
#define GPUSHARE_CUBIN_INFO_H

#include "common/error.h"
#include "device/cubin/buffer.h"

enum cubin_attribute {
#define CUBIN_ATTRIBUTE(number, name, layout) CUBIN_ATTRIBUTE_##name = number,
#include "device/cubin/attributes.def"
#undef CUBIN_ATTRIBUTE
};

enum cubin_attribute_layout {
	CUBIN_UNKNOWN,
	CUBIN_PLAIN,
	CUBIN_OFFSETS4,
	CUBIN_OFFSETS8,
	CUBIN_OFFSETS16,
	CUBIN_BRANCHES,
	CUBIN_SPILLS,
	CUBIN_SYMBOLS,
	CUBIN_SYMBOL,
	CUBIN_PARAMETER,
	CUBIN_BANK,
	CUBIN_SIZE
};

enum cubin_attribute_layout cubin_attribute_layout(uint8_t number);

/* How an attribute's value is stored: its first byte in the file. */
#define CUBIN_STORED_NONE 1u  /* two bytes that say nothing */
#define CUBIN_STORED_BYTE 2u  /* in the first of two bytes */
#define CUBIN_STORED_HALF 3u  /* in two bytes */
#define CUBIN_STORED_BYTES 4u /* as many as the two bytes say, behind them */

struct cubin_info {
	uint8_t stored, number;
	uint16_t size; /* of the value: 2, unless stored as bytes */
	const uint8_t *value;
};

/* The next one at *at, which is 0 at first.  1: *i is filled; 0: no more; -1: broken. */
int cubin_info_next(const uint8_t *data, size_t size, size_t *at, struct cubin_info *i,
		    struct gs_error *err);
void cubin_info_add(struct cubin_buffer *to, const struct cubin_info *i);

#endif
