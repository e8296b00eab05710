/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking for instructions in sm_90 code: each has 16 bytes, the operation in the lowest 12 bits.
 */
#define _GNU_SOURCE
#include "device/cubin/image.h"

#include "device/fatbin/bytes.h"

#define OPERATION(word) ((word)&0xfff)
#define OPERANDS(word) ((word) >> 9 & 7) /* what kinds they are of */
#define OPERANDS_CONSTANT_LAST 3         /* the third one stands in a constant bank... */
#define OPERANDS_CONSTANT 5              /* ...or the second one, or it is a load from there */
#define BANK(word) ((word) >> 54 & 31)
#define BANK_OFFSET(word) (((word) >> 40 & 0x3fff) * 4)

#define BAR 0xb1d /* its operands look like a constant, but are a barrier's number */
#define ACQBULK 0x82e
#define PREEXIT 0x82d

/* LDC.64 and ULDC.64 of a fixed place in bank 4: all but the predicate, where it goes to, the
 * place... */
#define LOAD_MASK UINT64_C(0xffc000ffff000fff)
#define LDC_ADDRESS UINT64_C(0x01000000ff000b82)
#define ULDC_ADDRESS UINT64_C(0x0100000000000ab9)
/* ...and in the second word all but what it waits for. */
#define LOAD_MASK_2 UINT64_C(0x1ffffffffff)
#define LOAD_64 UINT64_C(0xa00)

/* Where the driver puts the words that a grid's barrier works with; 0 unless launched so. */
#define GRID_WORKSPACE_FIRST 0x40
#define GRID_WORKSPACE_END 0x4c

static int has_constant(uint64_t word)
{
	return OPERATION(word) != BAR &&
	       (OPERANDS(word) == OPERANDS_CONSTANT || OPERANDS(word) == OPERANDS_CONSTANT_LAST);
}

static int reads_variables(uint64_t word)
{
	return has_constant(word) && (BANK(word) == 3 || BANK(word) == 4);
}

static uint32_t uses(uint64_t word)
{
	if (OPERATION(word) == ACQBULK || OPERATION(word) == PREEXIT)
		return CUBIN_USES_PDL;
	if (reads_variables(word))
		return CUBIN_USES_VARIABLES;
	if (has_constant(word) && BANK(word) == 0 && BANK_OFFSET(word) >= GRID_WORKSPACE_FIRST &&
	    BANK_OFFSET(word) < GRID_WORKSPACE_END)
		return CUBIN_USES_COOPERATIVE;
	return 0;
}

uint32_t cubin_code_uses(const uint8_t *code, size_t size)
{
	uint32_t all = 0;

	for (size_t at = 0; at + 16 <= size; at += 16)
		all |= uses(get64(code + at));
	return all;
}

int cubin_code_next_address(const uint8_t *code, size_t size, size_t *at, uint32_t *place)
{
	for (; *at + 16 <= size; *at += 16) {
		uint64_t word = get64(code + *at), load = word & LOAD_MASK;

		if (!reads_variables(word))
			continue;
		if ((load != LDC_ADDRESS && load != ULDC_ADDRESS) || BANK_OFFSET(word) % 8 ||
		    (get64(code + *at + 8) & LOAD_MASK_2) != LOAD_64)
			return -1;
		*place = (uint32_t)BANK_OFFSET(word);
		*at += 16;
		return 1;
	}
	return 0;
}
