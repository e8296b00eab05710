/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cvt (PTX ISA, "Data Movement and Conversion Instructions: cvt"): every
 * source value is held exactly as an integer or a double, and rounded once.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>

#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

static int is_float(uint8_t t)
{
	return t == PTX_T_F16 || t == PTX_T_BF16 || t == PTX_T_F32 || t == PTX_T_F64;
}

static uint32_t bits_of(uint8_t t)
{
	switch (t) {
	case PTX_T_U8:
	case PTX_T_S8:
	case PTX_T_B8:
		return 8;
	case PTX_T_U16:
	case PTX_T_S16:
	case PTX_T_B16:
		return 16;
	case PTX_T_U64:
	case PTX_T_S64:
	case PTX_T_B64:
		return 64;
	default:
		return 32;
	}
}

static double load_float(struct emu_warp *w, int32_t row, uint8_t t, uint32_t i, int ftz)
{
	float f;

	switch (t) {
	case PTX_T_F64:
		return ((double *)emu_row(w, row))[i];
	case PTX_T_F16:
		return (double)emu_float_of_half((uint16_t)ROW32(w, row)[i]);
	case PTX_T_BF16:
		return (double)emu_float_of_bf16((uint16_t)ROW32(w, row)[i]);
	default:
		break;
	}
	f = ((float *)emu_row(w, row))[i];
	if (ftz && fpclassify(f) == FP_SUBNORMAL)
		f = copysignf(0.0f, f);
	return (double)f;
}

static uint64_t load_int(struct emu_warp *w, int32_t row, uint8_t t, uint32_t i)
{
	uint64_t v = bits_of(t) == 64 ? ROW64(w, row)[i] : ROW32(w, row)[i];

	switch (t) {
	case PTX_T_U8:
	case PTX_T_B8:
		return (uint8_t)v;
	case PTX_T_S8:
		return (uint64_t)(int8_t)v;
	case PTX_T_U16:
	case PTX_T_B16:
		return (uint16_t)v;
	case PTX_T_S16:
		return (uint64_t)(int16_t)v;
	case PTX_T_S32:
		return (uint64_t)(int32_t)v;
	default:
		return v;
	}
}

static double integral(double v, uint8_t rounding)
{
	switch (rounding) {
	case EMU_RZ:
		return trunc(v);
	case EMU_RM:
		return floor(v);
	case EMU_RP:
		return ceil(v);
	default:
		return nearbyint(v);
	}
}

/* Float to integer clamps to the range; NaN gives 0 (for 64 bits the most negative or all ones' top
 * bit). */
static uint64_t float_to_int(double v, const struct emu_op *op)
{
	uint32_t bits = bits_of(op->wide);

	if (isnan(v))
		return bits == 64 ? 0x8000000000000000ull : 0;
	v = integral(v, op->mode.rounding);
	if (ptx_is_signed((enum ptx_type)op->wide)) {
		double hi = ldexp(1.0, (int)bits - 1);

		if (v >= hi)
			return bits == 64 ? INT64_MAX : (1ull << (bits - 1)) - 1;
		if (v < -hi)
			return (uint64_t)(bits == 64 ? INT64_MIN : -(int64_t)(1ull << (bits - 1)));
		return (uint64_t)(int64_t)v;
	}
	if (v <= 0)
		return 0;
	if (v >= ldexp(1.0, (int)bits))
		return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	return (uint64_t)v;
}

static uint64_t saturate_int(uint64_t v, const struct emu_op *op)
{
	uint32_t bits = bits_of(op->wide);
	int src_signed = ptx_is_signed((enum ptx_type)op->type);
	int64_t lo, hi;

	if (ptx_is_signed((enum ptx_type)op->wide)) {
		hi = bits == 64 ? INT64_MAX : (int64_t)(1ull << (bits - 1)) - 1;
		lo = -hi - 1;
		if (!src_signed)
			return v > (uint64_t)hi ? (uint64_t)hi : v;
		return (int64_t)v > hi ? (uint64_t)hi : (int64_t)v < lo ? (uint64_t)lo : v;
	}
	if (src_signed && (int64_t)v < 0)
		return 0;
	if (bits < 64 && v > (1ull << bits) - 1)
		return (1ull << bits) - 1;
	return v;
}

/* .satfinite: the largest finite value instead of an infinity. */
static double to_finite(double v, uint8_t type)
{
	double most = type == PTX_T_F16 || type == PTX_T_F16X2 ? 65504.0 : 0x1.fep127;

	return v > most ? most : v < -most ? -most : v;
}

static void store_float(struct emu_warp *w, const struct emu_op *op, uint32_t i, double v,
			float f32)
{
	int sat = op->mode.flags & EMU_F_SAT;

	if (sat) {
		v = v > 0 ? (v < 1 ? v : 1) : 0;
		f32 = f32 > 0 ? (f32 < 1 ? f32 : 1) : 0;
	}
	if (op->boolop) { /* .relu */
		v = v > 0 || isnan(v) ? v : 0;
		f32 = f32 > 0 || isnan(f32) ? f32 : 0;
	}
	if (op->mode.flags & EMU_F_FINITE)
		v = to_finite(v, op->wide);
	switch (op->wide) {
	case PTX_T_F64:
		((double *)emu_row(w, op->d))[i] = v;
		break;
	case PTX_T_F16:
		ROW32(w, op->d)[i] = emu_half_round(v, op->mode.rounding);
		break;
	case PTX_T_BF16:
		ROW32(w, op->d)[i] = emu_bf16_round(v, op->mode.rounding);
		break;
	default:
		if ((op->mode.flags & EMU_F_FTZ) && fpclassify(f32) == FP_SUBNORMAL)
			f32 = copysignf(0.0f, f32);
		((float *)emu_row(w, op->d))[i] = f32;
	}
}

static void store_int(struct emu_warp *w, const struct emu_op *op, uint32_t i, uint64_t v)
{
	switch (bits_of(op->wide)) {
	case 64:
		ROW64(w, op->d)[i] = v;
		break;
	/* 8 bits live in a 16 or 32 bit register: extended as the type says */
	case 8:
		ROW32(w, op->d)
		[i] = op->wide == PTX_T_S8 ? (uint32_t)(int8_t)v & (op->vec == 16 ? 0xffff : ~0u) :
					     (uint8_t)v;
		break;
	case 16:
		ROW32(w, op->d)
		[i] = op->wide == PTX_T_S16 && op->vec != 16 ? (uint32_t)(int16_t)v : (uint16_t)v;
		break;
	default:
		ROW32(w, op->d)[i] = (uint32_t)v;
	}
}

/* sub: 1 rounds to an integral value, float to float; vec: bits of the destination register. */
int emu_h_cvt(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	static const int mode[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD,
				    FE_TONEAREST };
	int from_float = is_float(op->type), to_float = is_float(op->wide);

	if (to_float && op->mode.rounding != EMU_RN)
		fesetround(mode[op->mode.rounding]);
	EACH (i) {
		if (from_float) {
			double v = load_float(w, op->s[0], op->type, i, op->mode.flags & EMU_F_FTZ);

			if (!to_float) {
				store_int(w, op, i, float_to_int(v, op));
				continue;
			}
			if (op->sub)
				v = integral(v, op->mode.rounding);
			store_float(w, op, i, v, (float)v);
		} else {
			uint64_t v = load_int(w, op->s[0], op->type, i);

			if (to_float && ptx_is_signed((enum ptx_type)op->type))
				store_float(w, op, i, (double)(int64_t)v, (float)(int64_t)v);
			else if (to_float)
				store_float(w, op, i, (double)v, (float)v);
			else
				store_int(w, op, i,
					  op->mode.flags & EMU_F_SAT ? saturate_int(v, op) : v);
		}
	}
	if (to_float && op->mode.rounding != EMU_RN)
		fesetround(FE_TONEAREST);
	return 0;
}

/* cvt.rn.f16x2.f32 d, a, b: a to the upper half. */
int emu_h_cvt_pack2(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		float a = ((float *)emu_row(w, op->s[0]))[i],
		      b = ((float *)emu_row(w, op->s[1]))[i];

		if (op->mode.flags & EMU_F_FINITE) {
			a = (float)to_finite((double)a, op->wide);
			b = (float)to_finite((double)b, op->wide);
		}
		if (op->boolop) {
			a = a > 0 || isnan(a) ? a : 0;
			b = b > 0 || isnan(b) ? b : 0;
		}
		ROW32(w, op->d)
		[i] = op->wide == PTX_T_F16X2 ?
			      (uint32_t)emu_half_round((double)a, op->mode.rounding) << 16 |
				      emu_half_round((double)b, op->mode.rounding) :
			      (uint32_t)emu_bf16_round((double)a, op->mode.rounding) << 16 |
				      emu_bf16_round((double)b, op->mode.rounding);
	}
	return 0;
}
