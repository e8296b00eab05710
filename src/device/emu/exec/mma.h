/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the decoder tells the handlers of matrix instructions (PTX ISA, "Warp-Level Matrix
 * Instructions"). */
#ifndef GPUSHARE_EMU_MMA_H
#define GPUSHARE_EMU_MMA_H

#include <stdint.h>

enum emu_element {
	EMU_E_NONE,
	EMU_E_F16,
	EMU_E_BF16,
	EMU_E_TF32,
	EMU_E_F32,
	EMU_E_F64,
	EMU_E_S32,
	EMU_E_S8,
	EMU_E_U8,
	EMU_E_S4,
	EMU_E_U4,
	EMU_E_B1,
	EMU_E_E4M3,
	EMU_E_E5M2,
};

/* d = a * b + c over m x n x k.  The rows of d, a, b, c follow each other in the program's list. */
struct emu_mma {
	uint16_t m, n, k;
	uint8_t a, b, c, d;     /* enum emu_element */
	uint8_t na, nb, nc, nd; /* registers of each */
	uint8_t wmma;           /* fragments as this device lays them out, not as mma.sync does */
	uint8_t saturate;
	uint8_t bits; /* of b1: 1 xor, 2 and */
	/* wmma.load, wmma.store: which matrix, and how it lies in memory */
	uint8_t operand; /* 'a', 'b', 'c', 'd' */
	uint8_t column;  /* column by column */
};

/* Bits of an element. */
static inline uint32_t emu_element_bits(enum emu_element e)
{
	switch (e) {
	case EMU_E_F64:
		return 64;
	case EMU_E_F16:
	case EMU_E_BF16:
		return 16;
	case EMU_E_S8:
	case EMU_E_U8:
	case EMU_E_E4M3:
	case EMU_E_E5M2:
		return 8;
	case EMU_E_S4:
	case EMU_E_U4:
		return 4;
	case EMU_E_B1:
		return 1;
	default:
		return 32;
	}
}

#endif
