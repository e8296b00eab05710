/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See template.h. */
#define _GNU_SOURCE
#include "device/cubin/template.h"

#include <string.h>

#define LDC 0xb82u
#define ULDC 0xab9u
#define OPERATION_BITS 0xfffu
#define OFFSET_SHIFT 40 /* of a place in a constant bank, in words */
#define OFFSET_BITS UINT64_C(0x3fff)
#define BANK_SHIFT 54
#define BANK_BITS 31u
#define PARAMS_AT 0x210u /* in bank 0; below stands what the driver fills in */

const struct cubin_template *cubin_template_find(enum cubin_guard kind, int clusters)
{
	for (size_t i = 0; i < cubin_template_count; i++)
		if (cubin_templates[i].kind == kind && cubin_templates[i].clusters == !!clusters)
			return &cubin_templates[i];
	return NULL;
}

static uint64_t moved(uint64_t word, uint32_t at)
{
	uint64_t operation = word & OPERATION_BITS,
		 offset = (word >> OFFSET_SHIFT & OFFSET_BITS) * 4;

	if ((operation != LDC && operation != ULDC) || (word >> BANK_SHIFT & BANK_BITS) != 0 ||
	    offset < PARAMS_AT)
		return word;
	return (word & ~(OFFSET_BITS << OFFSET_SHIFT)) | (offset + at) / 4 << OFFSET_SHIFT;
}

void cubin_template_copy(const struct cubin_template *t, uint32_t at, uint8_t *to)
{
	for (size_t i = 0; i < t->code_size / sizeof(uint64_t); i += 2) {
		uint64_t pair[2] = { moved(t->code[i], at), t->code[i + 1] };

		memcpy(to + i * sizeof(uint64_t), pair, sizeof(pair));
	}
}
