/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conversions to and from formats that are no type of a register: tf32, e4m3, e5m2; packed integers
 * (PTX ISA, cvt, cvt.pack). */
#define _GNU_SOURCE
#include <math.h>

#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

/* cvt.{rn,rna,rz}.tf32.f32: 10 bits of mantissa stay; boolop .relu, sub .satfinite. */
int emu_h_cvt_tf32(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint32_t *a = ROW32(w, op->s[0]);
	uint32_t *d = ROW32(w, op->d);

	EACH (i) {
		uint32_t sign = a[i] & 0x80000000u, u = a[i] & 0x7fffffffu;

		if (u > 0x7f800000u) {
			d[i] = 0x7fffffff;
			continue;
		}
		if (op->mode.rounding == EMU_RNA)
			u += 0x1000;
		else if (op->mode.rounding == EMU_RN)
			u += 0xfff + (u >> 13 & 1);
		u = u > 0x7f800000u ? 0x7f800000u : u & ~0x1fffu;
		if (op->sub && u == 0x7f800000u)
			u = 0x7f7fe000u;
		d[i] = op->boolop && sign ? 0 : sign | u;
	}
	return 0;
}

/* To 8 bits: to the nearest even, never beyond the largest finite value (.satfinite is part of the
 * instruction). */
static uint32_t small_of_double(double v, int mant, int emin, uint32_t largest, int relu)
{
	uint32_t sign = signbit(v) ? 0x80 : 0, code;
	double a = fabs(v), q;
	int e;

	if (isnan(v))
		return 0x7f;
	if (relu && sign)
		return 0;
	if (isinf(v))
		return sign | largest;
	e = a > 0 ? ilogb(a) : emin;
	e = e < emin ? emin : e;
	q = nearbyint(ldexp(a, mant - e));
	if (q >= ldexp(1.0, mant + 1)) {
		q /= 2;
		e++;
	}
	if (e - emin + 1 > 31)
		return sign | largest;
	code = q < ldexp(1.0, mant) ?
		       (uint32_t)q :
		       ((uint32_t)(e - emin + 1) << mant) + ((uint32_t)q - (1u << mant));
	return sign | (code > largest ? largest : code);
}

static uint32_t to_small(double v, const struct emu_op *op)
{
	return op->size == 4 ? small_of_double(v, 3, -6, 0x7e, op->boolop) :
			       small_of_double(v, 2, -14, 0x7b, op->boolop);
}

/* cvt.rn.satfinite.e4m3x2.f32 d, a, b: a to the upper half; size: bits of the exponent. */
int emu_h_cvt_small_f32(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint32_t *a = ROW32(w, op->s[0]), *b = ROW32(w, op->s[1]);
	uint32_t *d = ROW32(w, op->d);

	EACH (i)
		d[i] = to_small((double)emu_float_of_bits(a[i]), op) << 8 |
		       to_small((double)emu_float_of_bits(b[i]), op);
	return 0;
}

/* cvt.rn.satfinite.e4m3x2.f16x2 d, a */
int emu_h_cvt_small_half(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint32_t *a = ROW32(w, op->s[0]);
	uint32_t *d = ROW32(w, op->d);

	EACH (i)
		d[i] = to_small((double)emu_float_of_half((uint16_t)(a[i] >> 16)), op) << 8 |
		       to_small((double)emu_float_of_half((uint16_t)a[i]), op);
	return 0;
}

static uint32_t half_of_small(uint8_t v, const struct emu_op *op)
{
	uint16_t h = op->size == 4 ? emu_half_of_float(emu_float_of_e4m3(v)) :
				     (uint16_t)((v & 0x7f) > 0x7c ? 0x7fff : v << 8);

	return op->boolop && (h & 0x8000) && (h & 0x7fff) <= 0x7c00 ? 0 : h;
}

/* cvt.rn.f16x2.e4m3x2 d, a: exact */
int emu_h_cvt_half_small(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint32_t *a = ROW32(w, op->s[0]);
	uint32_t *d = ROW32(w, op->d);

	EACH (i)
		d[i] = half_of_small((uint8_t)(a[i] >> 8), op) << 16 |
		       half_of_small((uint8_t)a[i], op);
	return 0;
}

/* cvt.pack.sat.type.s32{.b32} d, a, b{, c}: vec bits each, a above b, above them what c has below.
 */
int emu_h_cvt_pack_int(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const int32_t *a = emu_row(w, op->s[0]), *b = emu_row(w, op->s[1]);
	uint32_t *d = ROW32(w, op->d), field = (1u << op->vec) - 1;
	int64_t high = op->is_signed ? field >> 1 : field, low = op->is_signed ? -high - 1 : 0;

	EACH (i) {
		uint32_t x = (uint32_t)(a[i] > high ? high : a[i] < low ? low : a[i]) & field;
		uint32_t y = (uint32_t)(b[i] > high ? high : b[i] < low ? low : b[i]) & field;
		uint64_t rest =
			op->s[2] == EMU_NO_ROW ? 0 : (uint64_t)ROW32(w, op->s[2])[i] << 2 * op->vec;

		d[i] = (uint32_t)rest | x << op->vec | y;
	}
	return 0;
}
