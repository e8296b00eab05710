/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Atomics: atom and red.  Their addresses are checked as those of loads are (mem_ops.c). */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"
#include "device/emu/exec/watch.h"

static float f_add(float a, float b)
{
	return a + b;
}

static uint32_t half_pair(uint32_t old, uint32_t v, const struct emu_op *op)
{
	uint32_t r = 0;

	for (int h = 0; h < 32; h += 16) {
		uint16_t x = (uint16_t)(old >> h), y = (uint16_t)(v >> h), z;

		if (op->type == PTX_T_F16X2 || op->type == PTX_T_F16)
			z = emu_half_of_float(f_add(emu_float_of_half(x), emu_float_of_half(y)));
		else
			z = emu_bf16_of_float(f_add(emu_float_of_bf16(x), emu_float_of_bf16(y)));
		r |= (uint32_t)z << h;
	}
	return r;
}

/* The value to store, from the old one, the operand and (cas) the new one. */
static uint64_t atom_result(uint64_t old, uint64_t b, uint64_t c, const struct emu_op *op)
{
	switch (op->sub) {
	case EMU_A_ADD:
		switch (op->type) {
		case PTX_T_F32:
			return emu_bits_of_float(emu_float_of_bits((uint32_t)old) +
						 emu_float_of_bits((uint32_t)b));
		case PTX_T_F64: {
			double x, y;

			memcpy(&x, &old, 8);
			memcpy(&y, &b, 8);
			x += y;
			memcpy(&old, &x, 8);
			return old;
		}
		case PTX_T_F16:
		case PTX_T_BF16:
			return half_pair((uint32_t)old, (uint32_t)b, op) & 0xffff;
		case PTX_T_F16X2:
		case PTX_T_BF16X2:
			return half_pair((uint32_t)old, (uint32_t)b, op);
		default:
			return old + b;
		}
	case EMU_A_AND:
		return old & b;
	case EMU_A_OR:
		return old | b;
	case EMU_A_XOR:
		return old ^ b;
	case EMU_A_EXCH:
		return b;
	case EMU_A_CAS:
		return old == b ? c : old;
	case EMU_A_INC:
		return (uint32_t)old >= (uint32_t)b ? 0 : old + 1;
	case EMU_A_DEC:
		return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)b ? b : old - 1;
	case EMU_A_MIN:
		switch (op->type) {
		case PTX_T_S32:
			return (int32_t)old < (int32_t)b ? old : b;
		case PTX_T_S64:
			return (int64_t)old < (int64_t)b ? old : b;
		case PTX_T_F32:
			return emu_float_of_bits((uint32_t)old) < emu_float_of_bits((uint32_t)b) ?
				       old :
				       b;
		default:
			return old < b ? old : b;
		}
	default:
		switch (op->type) {
		case PTX_T_S32:
			return (int32_t)old > (int32_t)b ? old : b;
		case PTX_T_S64:
			return (int64_t)old > (int64_t)b ? old : b;
		case PTX_T_F32:
			return emu_float_of_bits((uint32_t)old) > emu_float_of_bits((uint32_t)b) ?
				       old :
				       b;
		default:
			return old > b ? old : b;
		}
	}
}

#define ATOMIC_LOOP(type) \
	{ \
		type old = __atomic_load_n((type *)p, __ATOMIC_SEQ_CST); \
		while (!__atomic_compare_exchange_n((type *)p, &old, \
						    (type)atom_result(old, b, c, op), 0, \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) \
			; \
		return old; \
	}

static uint64_t atomic_apply(void *p, uint64_t b, uint64_t c, const struct emu_op *op)
{
	if (op->sub == EMU_A_ADD && op->type != PTX_T_F32 && op->type != PTX_T_F64 &&
	    op->type < PTX_T_F16) {
		if (op->size == 4)
			return __atomic_fetch_add((uint32_t *)p, (uint32_t)b, __ATOMIC_SEQ_CST);
		return __atomic_fetch_add((uint64_t *)p, b, __ATOMIC_SEQ_CST);
	}
	switch (op->size) {
	case 2:
		ATOMIC_LOOP(uint16_t)
	case 4:
		ATOMIC_LOOP(uint32_t)
	default:
		ATOMIC_LOOP(uint64_t)
	}
}

/* s[1] the operand, s[2] the new value of cas; vec elements in extra for vector atomics. */
int emu_h_atom(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		void *p = emu_translate(w, (int)i, op->space, emu_lane_address(w, op, i), op->size,
					op->size);
		uint64_t b, c = 0, old;

		if (!p)
			return -1;
		b = op->wide ? ROW64(w, op->s[1])[i] : ROW32(w, op->s[1])[i];
		if (op->s[2] != EMU_NO_ROW)
			c = op->wide ? ROW64(w, op->s[2])[i] : ROW32(w, op->s[2])[i];
		if (op->size == 2) {
			b = (uint16_t)b;
			c = (uint16_t)c;
		}
		old = atomic_apply(p, b, c, op);
		if (op->size == 8 && op->space != EMU_S_SHARED &&
		    (op->sub == EMU_A_ADD || (op->sub == EMU_A_MAX && old < b)))
			emu_watch_atomic((uintptr_t)p, op->sub == EMU_A_ADD ? old + b : b);
		if (op->d == EMU_NO_ROW)
			continue;
		if (op->wide)
			ROW64(w, op->d)[i] = old;
		else
			ROW32(w, op->d)[i] = (uint32_t)old;
	}
	return 0;
}

typedef unsigned __int128 u128;

/* The low halves of a .b128 register are in its row, the high ones in the next. */
static u128 load128(struct emu_warp *w, int32_t row, uint32_t i)
{
	return ROW64(w, row)[i] | (u128)ROW64(w, row + 256)[i] << 64;
}

__attribute__((target("cx16"))) int emu_h_atom128(struct emu_warp *w, const struct emu_op *op,
						  uint32_t mask)
{
	EACH (i) {
		u128 *p = emu_translate(w, (int)i, op->space, emu_lane_address(w, op, i), 16, 16);
		u128 b, old, want;

		if (!p)
			return -1;
		b = load128(w, op->s[1], i);
		if (op->sub == EMU_A_CAS) {
			old = __sync_val_compare_and_swap(p, b, load128(w, op->s[2], i));
		} else {
			old = 0;
			do {
				want = old;
				old = __sync_val_compare_and_swap(p, want, b);
			} while (old != want);
		}
		ROW64(w, op->d)[i] = (uint64_t)old;
		ROW64(w, op->d + 256)[i] = (uint64_t)(old >> 64);
	}
	return 0;
}
