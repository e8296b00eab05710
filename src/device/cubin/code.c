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

/* LDC.64 from bank 4 at the offset in a register, and the MOV that sets that register. */
#define INDEXED_MASK UINT64_C(0xffffffff00000fff)
#define LDC_INDEXED UINT64_C(0x0100000000000b82)
#define INDEX(word) ((uint32_t)((word) >> 24 & 0xff))
#define NO_REGISTER 0xffu /* RZ, which is 0: the place is fixed */
#define MOV_MASK UINT64_C(0x00000000ffffffff)
#define MOV_NUMBER UINT64_C(0x7802) /* always, not under a predicate */
#define MOV_LANES UINT64_C(0xf00)
#define INDEX_BEFORE 16u /* instructions; the compiler leaves no more than six between the two */

/* Operations whatever their operands are. */
#define OPERATION_ONLY 0x1ffu
#define MOV 0x002u
#define CS2R 0x005u
#define SEL 0x007u
#define ISETP 0x00cu
#define IADD3 0x010u
#define LEA 0x011u
#define LOP3 0x012u
#define PRMT 0x016u
#define SHF 0x019u
#define IMAD 0x024u
#define IMAD_WIDE 0x025u
#define HFMA2_MMA 0x035u
#define VIADD 0x036u
#define ULDC 0x0b9u
#define S2R 0x119u
#define LDC 0x182u
#define STORE_GLOBAL 0x186u
#define STORE_LOCAL 0x187u
#define STORE_SHARED 0x188u
#define WRITTEN_MAX 256u /* by what is not one of these */
/* Jumps, calls and exits. */
#define CONTROL_MASK 0x1e0u
#define CONTROL 0x140u
#define BSSY 0x145u
#define BRA 0x147u
#define BRX 0x149u
#define JMP 0x14au
#define JMX 0x14cu
#define LEPC 0x14eu
#define BRXU 0x158u
#define JMXU 0x159u

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

/* How many registers, from the first one that it names on, an instruction may write. */
static unsigned registers_written(uint64_t word)
{
	switch (word & OPERATION_ONLY) {
	case BSSY:
	case ISETP:
	case ULDC:
	case STORE_LOCAL:
	case STORE_GLOBAL:
	case STORE_SHARED:
		return 0;
	case MOV:
	case SEL:
	case IADD3:
	case LEA:
	case LOP3:
	case PRMT:
	case SHF:
	case IMAD:
	case HFMA2_MMA:
	case VIADD:
	case S2R:
		return 1;
	case CS2R:
	case IMAD_WIDE:
	case LDC:
	case LEPC:
		return 2;
	default:
		return WRITTEN_MAX;
	}
}

/* Is it a jump, a call, an exit or the like? */
static int is_control(uint64_t word)
{
	return (word & CONTROL_MASK) == CONTROL && (word & OPERATION_ONLY) != BSSY &&
	       (word & OPERATION_ONLY) != LEPC;
}

/* A load of 64 bits from a place in bank 4 that a register says, with nothing added? */
static int is_indexed(const uint8_t *at)
{
	return (get64(at) & INDEXED_MASK) == LDC_INDEXED && INDEX(get64(at)) != NO_REGISTER &&
	       (get64(at + 8) & LOAD_MASK_2) == LOAD_64;
}

/*
 * From which place does the indexed load at `at` read?  The compiler puts the number into the
 * register with a MOV a few instructions before it.  `from` is where the code that leads there
 * begins.  0: not known.
 */
static int find_index(const uint8_t *code, size_t from, size_t at, uint32_t *place)
{
	uint32_t index = INDEX(get64(code + at));

	for (unsigned n = 0; n < INDEX_BEFORE && at >= from + 16; n++) {
		uint64_t word;
		uint32_t first;

		at -= 16;
		word = get64(code + at);
		first = word >> 16 & 0xff;
		if ((word & MOV_MASK) == (MOV_NUMBER | (uint64_t)index << 16) &&
		    (get64(code + at + 8) & LOAD_MASK_2) == MOV_LANES) {
			*place = (uint32_t)(word >> 32);
			return 1;
		}
		if (is_control(word) || (index >= first && index - first < registers_written(word)))
			return 0;
	}
	return 0;
}

int cubin_code_next_address(const uint8_t *code, size_t size, size_t *at, uint32_t *place)
{
	for (; *at + 16 <= size; *at += 16) {
		uint64_t word = get64(code + *at), load = word & LOAD_MASK;

		if (!reads_variables(word))
			continue;
		if (is_indexed(code + *at)) {
			if (!find_index(code, 0, *at, place))
				return -1;
		} else if ((load == LDC_ADDRESS || load == ULDC_ADDRESS) &&
			   (get64(code + *at + 8) & LOAD_MASK_2) == LOAD_64) {
			*place = (uint32_t)BANK_OFFSET(word);
		} else {
			return -1;
		}
		*at += 16;
		return *place % 8 ? -1 : 1;
	}
	return 0;
}

/* Where the instruction at `at` jumps to, or lets a later one jump to; SIZE_MAX: it does not. */
static size_t jumps_to(const uint8_t *code, size_t at)
{
	uint64_t word = get64(code + at), by;

	if ((word & OPERATION_ONLY) == BSSY)
		return at + 16 + (size_t)(int32_t)(word >> 32);
	if ((word & OPERATION_ONLY) != BRA)
		return SIZE_MAX;
	by = (word >> 16 & 0xff) | word >> 34 << 8 | (get64(code + at + 8) & 0x3ffff) << 38;
	if (by >> 55)
		by |= UINT64_C(0xff) << 56;
	return at + 16 + (size_t)(by * 4);
}

/* Does a jump to `to` skip the MOV that sets the index of a load behind it? */
static int misses_index(const uint8_t *code, size_t size, size_t to)
{
	uint32_t place;

	for (size_t at = to; at + 16 <= size && at < to + INDEX_BEFORE * 16; at += 16)
		if (is_indexed(code + at) && !find_index(code, to, at, &place) &&
		    find_index(code, 0, at, &place))
			return 1;
	return 0;
}

int cubin_code_jumps_between(const uint8_t *code, size_t size)
{
	int indexed = 0, unseen = 0;

	for (size_t at = 0; at + 16 <= size; at += 16) {
		uint64_t operation = get64(code + at) & OPERATION_ONLY;
		size_t to = jumps_to(code, at);

		indexed |= is_indexed(code + at);
		unseen |= operation == BRX || operation == JMP || operation == JMX ||
			  operation == BRXU || operation == JMXU;
		if (to == SIZE_MAX)
			continue;
		if (to % 16 || to >= size)
			unseen = 1;
		else if (misses_index(code, size, to))
			return 1;
	}
	return indexed && unseen;
}
