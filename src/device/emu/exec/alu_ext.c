/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Integer operations that do not fit a row of alu.def: carries, four sources, packing,
 * and what wraps floating-point operations. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <string.h>
#include <xmmintrin.h>

#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

static uint32_t flush_half(uint32_t v, int packed)
{
	for (int h = 0; h <= 16 * packed; h += 16)
		if (!(v >> h & 0x7c00))
			v &= ~(0x3ffu << h);
	return v;
}

/* PTX ISA, add.ftz.f16: subnormal inputs and results are zeros.  Inputs are put back; literals are
 * what they are. */
static void with_flushed_halves(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	int packed = op->type == PTX_T_F16X2;
	uint32_t saved[3][EMU_LANES], *row;

	for (int k = 0; k < 3 && op->s[k] >= 0; k++) {
		row = ROW32(w, op->s[k]);
		memcpy(saved[k], row, sizeof(saved[k]));
		EACH (i)
			row[i] = flush_half(row[i], packed);
	}
	op->inner(w, op, mask);
	for (int k = 2; k >= 0; k--)
		if (op->s[k] >= 0 && op->s[k] != op->d)
			memcpy(ROW32(w, op->s[k]), saved[k], sizeof(saved[k]));
	row = ROW32(w, op->d);
	EACH (i)
		row[i] = flush_half(row[i], packed);
}

/* PTX ISA: .sat clamps to [0, 1]; NaN becomes 0. */
static float saturate(float f)
{
	return f > 0.0f ? (f < 1.0f ? f : 1.0f) : 0.0f;
}

static void saturate_row(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t *d = ROW32(w, op->d);
	double *wide = emu_row(w, op->d);

	switch (op->type) {
	case PTX_T_F32:
		EACH (i)
			d[i] = emu_bits_of_float(saturate(emu_float_of_bits(d[i])));
		break;
	case PTX_T_F64:
		EACH (i)
			wide[i] = wide[i] > 0.0 ? (wide[i] < 1.0 ? wide[i] : 1.0) : 0.0;
		break;
	case PTX_T_BF16:
	case PTX_T_BF16X2:
		EACH (i)
			d[i] = (op->type == PTX_T_BF16X2 ?
					(uint32_t)emu_bf16_of_float(
						saturate(emu_float_of_bf16((uint16_t)(d[i] >> 16))))
						<< 16 :
					0) |
			       emu_bf16_of_float(saturate(emu_float_of_bf16((uint16_t)d[i])));
		break;
	default:
		EACH (i)
			d[i] = (op->type == PTX_T_F16X2 ?
					(uint32_t)emu_half_of_float(
						saturate(emu_float_of_half((uint16_t)(d[i] >> 16))))
						<< 16 :
					0) |
			       emu_half_of_float(saturate(emu_float_of_half((uint16_t)d[i])));
		break;
	}
}

/* The rounding mode is the thread's while the lanes are computed. */
int emu_h_env(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	static const int mode[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD,
				    FE_TONEAREST };
	unsigned int csr = _mm_getcsr();

	if (op->mode.rounding != EMU_RN)
		fesetround(mode[op->mode.rounding]);
	if ((op->mode.flags & EMU_F_FTZ) && op->type != PTX_T_F16 && op->type != PTX_T_F16X2) {
		_mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, denormals are zero */
		op->inner(w, op, mask);
	} else if (op->mode.flags & EMU_F_FTZ) {
		with_flushed_halves(w, op, mask);
	} else {
		op->inner(w, op, mask);
	}
	if (op->mode.rounding != EMU_RN)
		fesetround(FE_TONEAREST);
	_mm_setcsr(csr);
	if ((op->mode.flags & EMU_F_FTZ) && op->type == PTX_T_F32) {
		uint32_t *d = ROW32(w, op->d);

		/* moved, not computed: neg, abs, min, max */
		EACH (i)
			if (!(d[i] & 0x7f800000u))
				d[i] &= 0x80000000u;
	}
	if (op->mode.flags & EMU_F_SAT)
		saturate_row(w, op, mask);
	return 0;
}

/* Carry arithmetic ("Extended-Precision Integer Arithmetic"): CC.CF is a predicate row of its own.
 */
#define CARRY(name, type, wide_t, combine) \
	int name(struct emu_warp *w, const struct emu_op *op, uint32_t mask) \
	{ \
		type *d = emu_row(w, op->d); \
		const type *a = emu_row(w, op->s[0]), *b = emu_row(w, op->s[1]); \
		const type *c = op->s[2] != EMU_NO_ROW ? emu_row(w, op->s[2]) : a; \
		uint32_t *cf = ROW32(w, op->extra[0]), out = *cf; \
		(void)c; \
		EACH (i) { \
			type carry = op->sub & 1 ? (*cf >> i & 1) : 0; \
			wide_t r = combine; \
			out = (out & ~(1u << i)) | (uint32_t)((r >> (8 * sizeof(type))) & 1) << i; \
			d[i] = (type)r; \
		} \
		if (op->sub & 2) \
			*cf = out; \
		return 0; \
	}
typedef unsigned __int128 u128;
CARRY(emu_h_addc32, uint32_t, uint64_t, (uint64_t)a[i] + b[i] + carry)
CARRY(emu_h_addc64, uint64_t, u128, (u128)a[i] + b[i] + carry)
CARRY(emu_h_subc32, uint32_t, uint64_t, (uint64_t)a[i] - b[i] - carry)
CARRY(emu_h_subc64, uint64_t, u128, (u128)a[i] - b[i] - carry)
#define HI32(x, y) \
	(op->is_signed ? (uint32_t)(((int64_t)(int32_t)(x) * (int32_t)(y)) >> 32) : \
			 (uint32_t)(((uint64_t)(x) * (y)) >> 32))
CARRY(emu_h_madc_lo32, uint32_t, uint64_t, (uint64_t)(a[i] * b[i]) + c[i] + carry)
CARRY(emu_h_madc_hi32, uint32_t, uint64_t, (uint64_t)HI32(a[i], b[i]) + c[i] + carry)
CARRY(emu_h_madc_lo64, uint64_t, u128, (u128)(a[i] * b[i]) + c[i] + carry)
#define HI64(x, y) \
	(op->is_signed ? (uint64_t)(((__int128)(int64_t)(x) * (int64_t)(y)) >> 64) : \
			 (uint64_t)(((u128)(x) * (y)) >> 64))
CARRY(emu_h_madc_hi64, uint64_t, u128, (u128)HI64(a[i], b[i]) + c[i] + carry)

#define BFI(name, type, bits) \
	int name(struct emu_warp *w, const struct emu_op *op, uint32_t mask) \
	{ \
		type *d = emu_row(w, op->d); \
		const type *a = emu_row(w, op->s[0]), *b = emu_row(w, op->s[1]); \
		const uint32_t *c = ROW32(w, op->s[2]), *e = ROW32(w, op->s[3]); \
		EACH (i) { \
			uint32_t pos = c[i] & 0xff, len = e[i] & 0xff; \
			type field = len >= bits ? (type) ~(type)0 : (((type)1 << len) - 1); \
			d[i] = pos >= bits || !len ? \
				       b[i] : \
				       (b[i] & ~(type)(field << pos)) | ((a[i] & field) << pos); \
		} \
		return 0; \
	}
BFI(emu_h_bfi32, uint32_t, 32)
BFI(emu_h_bfi64, uint64_t, 64)

int emu_h_lop3(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t *d = ROW32(w, op->d), lut = (uint32_t)op->imm;
	const uint32_t *a = ROW32(w, op->s[0]), *b = ROW32(w, op->s[1]), *c = ROW32(w, op->s[2]);

	EACH (i) {
		uint32_t r = 0;

		for (uint32_t k = 0; k < 8; k++)
			if (lut >> k & 1)
				r |= (k & 4 ? a[i] : ~a[i]) & (k & 2 ? b[i] : ~b[i]) &
				     (k & 1 ? c[i] : ~c[i]);
		d[i] = r;
	}
	return 0;
}

/* sub: finite, infinite, number, notanumber, normal, subnormal. */
int emu_h_testp(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t r = 0;

	EACH (i) {
		int c = op->type == PTX_T_F64 ? fpclassify(((double *)emu_row(w, op->s[0]))[i]) :
						fpclassify(((float *)emu_row(w, op->s[0]))[i]);
		int yes = op->sub == 0 ? c != FP_NAN && c != FP_INFINITE :
			  op->sub == 1 ? c == FP_INFINITE :
			  op->sub == 2 ? c != FP_NAN :
			  op->sub == 3 ? c == FP_NAN :
			  op->sub == 4 ? c == FP_NORMAL || c == FP_ZERO :
					 c == FP_SUBNORMAL;

		r |= (uint32_t)yes << i;
	}
	PRED(w, op->d) = (PRED(w, op->d) & ~mask) | r;
	return 0;
}

/* 4 bytes a lane to 8; sub: sign-extend from type. */
int emu_h_widen(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint32_t *a = ROW32(w, op->s[0]);
	uint64_t *d = ROW64(w, op->d);

	EACH (i)
		d[i] = op->sub ? (uint64_t)(int64_t)(int32_t)a[i] : a[i];
	return 0;
}

/* 8 bytes a lane to 4; the type's bits are kept. */
int emu_h_narrow(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint64_t *a = ROW64(w, op->s[0]);
	uint32_t *d = ROW32(w, op->d);

	EACH (i)
		d[i] = (uint32_t)a[i];
	return 0;
}

/* mov.bN d, {elements}: each of imm bits; wide: d is 8 bytes a lane; is_signed: elements are. */
int emu_h_pack(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t v = 0;

		for (int k = 0; k < op->vec; k++) {
			uint64_t e = op->is_signed ? ROW64(w, op->extra[k])[i] :
						     ROW32(w, op->extra[k])[i];

			v |= (e & (op->imm == 64 ? ~0ull : (1ull << op->imm) - 1)) << (k * op->imm);
		}
		if (op->wide)
			ROW64(w, op->d)[i] = v;
		else
			ROW32(w, op->d)[i] = (uint32_t)v;
	}
	return 0;
}

int emu_h_unpack(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t v = op->wide ? ROW64(w, op->s[0])[i] : ROW32(w, op->s[0])[i];

		for (int k = 0; k < op->vec; k++) {
			uint64_t e = v >> (k * op->imm) &
				     (op->imm == 64 ? ~0ull : (1ull << op->imm) - 1);

			if (op->extra[k] == EMU_NO_ROW)
				continue;
			if (op->is_signed)
				ROW64(w, op->extra[k])[i] = e;
			else
				ROW32(w, op->extra[k])[i] = (uint32_t)e;
		}
	}
	return 0;
}

int emu_h_not_mask(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	(void)mask;
	PRED(w, op->d) = ~PRED(w, op->s[0]);
	return 0;
}

int emu_h_nop(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	(void)w;
	(void)op;
	(void)mask;
	return 0;
}
