/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons: setp and set. */
#define _GNU_SOURCE
#include <math.h>

#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

#define COMPARE(type, load) \
	do { \
		EACH (i) { \
			type a = load(A, i), b = load(B, i); \
			int r; \
			switch (sub) { \
			case EMU_EQ: \
				r = a == b; \
				break; \
			case EMU_NE: \
				r = a < b || a > b; \
				break; \
			case EMU_LT: \
				r = a < b; \
				break; \
			case EMU_LE: \
				r = a <= b; \
				break; \
			case EMU_GT: \
				r = a > b; \
				break; \
			case EMU_GE: \
				r = a >= b; \
				break; \
			case EMU_EQU: \
				r = !(a < b || a > b); \
				break; \
			case EMU_NEU: \
				r = a != b; \
				break; \
			case EMU_LTU: \
				r = !(a >= b); \
				break; \
			case EMU_LEU: \
				r = !(a > b); \
				break; \
			case EMU_GTU: \
				r = !(a <= b); \
				break; \
			case EMU_GEU: \
				r = !(a < b); \
				break; \
			case EMU_NUM: \
				r = a == a && b == b; \
				break; \
			default: \
				r = a != a || b != b; \
				break; \
			} \
			out |= (uint32_t)r << i; \
		} \
	} while (0)
#define C_U16(p, i) ((uint16_t)((const uint32_t *)(p))[i])
#define C_S16(p, i) ((int16_t)((const uint32_t *)(p))[i])
#define C_U32(p, i) (((const uint32_t *)(p))[i])
#define C_S32(p, i) (((const int32_t *)(p))[i])
#define C_U64(p, i) (((const uint64_t *)(p))[i])
#define C_S64(p, i) (((const int64_t *)(p))[i])
#define C_F32(p, i) (((const float *)(p))[i])
#define C_F32Z(p, i) flush(((const float *)(p))[i])
#define C_F64(p, i) (((const double *)(p))[i])
#define C_F16(p, i) emu_float_of_half((uint16_t)((const uint32_t *)(p))[i])
#define C_F16H(p, i) emu_float_of_half((uint16_t)(((const uint32_t *)(p))[i] >> 16))
#define C_BF16(p, i) emu_float_of_bf16((uint16_t)((const uint32_t *)(p))[i])
#define C_BF16H(p, i) emu_float_of_bf16((uint16_t)(((const uint32_t *)(p))[i] >> 16))

static inline float flush(float f)
{
	return fpclassify(f) == FP_SUBNORMAL ? copysignf(0.0f, f) : f;
}

static uint32_t compare(const void *A, const void *B, uint8_t type, enum emu_cmp sub, int ftz,
			int upper, uint32_t mask)
{
	uint32_t out = 0;

	switch (type) {
	case PTX_T_U16:
	case PTX_T_B16:
		COMPARE(uint16_t, C_U16);
		break;
	case PTX_T_S16:
		COMPARE(int16_t, C_S16);
		break;
	case PTX_T_U32:
	case PTX_T_B32:
		COMPARE(uint32_t, C_U32);
		break;
	case PTX_T_S32:
		COMPARE(int32_t, C_S32);
		break;
	case PTX_T_U64:
	case PTX_T_B64:
		COMPARE(uint64_t, C_U64);
		break;
	case PTX_T_S64:
		COMPARE(int64_t, C_S64);
		break;
	case PTX_T_F32:
		if (ftz)
			COMPARE(float, C_F32Z);
		else
			COMPARE(float, C_F32);
		break;
	case PTX_T_F64:
		COMPARE(double, C_F64);
		break;
	case PTX_T_F16:
		COMPARE(float, C_F16);
		break;
	case PTX_T_F16X2:
		if (upper)
			COMPARE(float, C_F16H);
		else
			COMPARE(float, C_F16);
		break;
	case PTX_T_BF16:
		COMPARE(float, C_BF16);
		break;
	case PTX_T_BF16X2:
		if (upper)
			COMPARE(float, C_BF16H);
		else
			COMPARE(float, C_BF16);
		break;
	default:
		break;
	}
	return out;
}

static uint32_t combine(struct emu_warp *w, const struct emu_op *op, uint32_t r)
{
	uint32_t c;

	if (!op->boolop)
		return r;
	c = PRED(w, op->s[2]);
	if (op->mode.flags & EMU_F_SAT) /* the predicate is negated */
		c = ~c;
	return op->boolop == 1 ? r & c : op->boolop == 2 ? r | c : r ^ c;
}

int emu_h_setp(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const void *a = emu_row(w, op->s[0]), *b = emu_row(w, op->s[1]);
	int ftz = op->mode.flags & EMU_F_FTZ,
	    packed = op->type == PTX_T_F16X2 || op->type == PTX_T_BF16X2;
	uint32_t r = compare(a, b, op->type, op->sub, ftz, 0, mask);
	uint32_t q = packed ? compare(a, b, op->type, op->sub, ftz, 1, mask) : ~r;

	r = combine(w, op, r);
	q = combine(w, op, q);
	if (op->d != EMU_NO_ROW)
		PRED(w, op->d) = (PRED(w, op->d) & ~mask) | (r & mask);
	if (op->extra[0] != EMU_NO_ROW)
		PRED(w, op->extra[0]) = (PRED(w, op->extra[0]) & ~mask) | (q & mask);
	return 0;
}

/* wide: the type of the result; all ones or 1.0. */
int emu_h_set(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const void *a = emu_row(w, op->s[0]), *b = emu_row(w, op->s[1]);
	uint32_t r = combine(w, op,
			     compare(a, b, op->type, op->sub, op->mode.flags & EMU_F_FTZ, 0, mask)),
		 hi = 0;
	uint32_t *d = ROW32(w, op->d), one = ~0u;
	int packed = op->wide == PTX_T_F16X2 || op->wide == PTX_T_BF16X2;

	switch (op->wide) {
	case PTX_T_F32:
		one = 0x3f800000u;
		break;
	case PTX_T_F16:
	case PTX_T_F16X2:
		one = 0x3c00;
		break;
	case PTX_T_BF16:
	case PTX_T_BF16X2:
		one = 0x3f80;
		break;
	case PTX_T_U16:
	case PTX_T_S16:
		one = 0xffff;
		break;
	default:
		break;
	}
	if (packed)
		hi = combine(w, op, compare(a, b, op->type, op->sub, 0, 1, mask));
	EACH (i)
		d[i] = (r >> i & 1 ? one : 0) | (hi >> i & 1 ? one << 16 : 0);
	return 0;
}
