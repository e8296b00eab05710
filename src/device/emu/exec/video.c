/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Video instructions: bytes and half words of registers, taken out, computed exactly, saturated,
 * put back. */
#define _GNU_SOURCE
#include "device/emu/exec/video.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

static int64_t take(uint32_t v, uint32_t shift, uint32_t bits, int is_signed)
{
	uint64_t field = (uint64_t)v >> shift & ((1ull << bits) - 1);

	return is_signed && field >> (bits - 1) & 1 ? (int64_t)field - (int64_t)(1ull << bits) :
						      (int64_t)field;
}

static int64_t clamp(int64_t v, uint32_t bits, int is_signed)
{
	int64_t low = is_signed ? -(int64_t)(1ull << (bits - 1)) : 0;
	int64_t high = is_signed ? (int64_t)(1ull << (bits - 1)) - 1 : (int64_t)(1ull << bits) - 1;

	return v < low ? low : v > high ? high : v;
}

static int64_t shift(int64_t a, int64_t b, int left, int wrap)
{
	uint32_t n = (uint32_t)(wrap ? b & 31 : b < 0 || b > 32 ? 32 : b);

	return left ? (int64_t)((uint64_t)a << n) : a >> n;
}

static int64_t compute(const struct emu_op *op, int64_t a, int64_t b)
{
	int wrap = op->extra[3] & EMU_VIDF_WRAP;

	switch (op->sub) {
	case EMU_VID_ADD:
		return a + b;
	case EMU_VID_SUB:
		return a - b;
	case EMU_VID_ABSDIFF:
		return a > b ? a - b : b - a;
	case EMU_VID_MIN:
		return a < b ? a : b;
	case EMU_VID_MAX:
		return a > b ? a : b;
	case EMU_VID_AVRG:
		return (a + b + (a + b >= 0)) >> 1;
	case EMU_VID_SHL:
		return shift(a, b, 1, wrap);
	case EMU_VID_SHR:
		return shift(a, b, 0, wrap);
	default:
		break;
	}
	switch (op->type) {
	case EMU_EQ:
		return a == b;
	case EMU_NE:
		return a != b;
	case EMU_LT:
		return a < b;
	case EMU_LE:
		return a <= b;
	case EMU_GT:
		return a > b;
	default:
		return a >= b;
	}
}

static uint32_t second(const struct emu_op *op, int64_t v, uint32_t c)
{
	int is_signed = op->extra[3] & EMU_VIDF_D_SIGNED;
	uint32_t t = (uint32_t)v, shift_by = (uint32_t)op->extra[2] >> 8 & 31,
		 width = (uint32_t)op->extra[2] >> 16;
	uint32_t field = width == 32 ? ~0u : (1u << width) - 1;

	switch (op->boolop) {
	case EMU_VID2_ADD:
		return t + c;
	case EMU_VID2_MIN:
		return is_signed ? ((int32_t)t < (int32_t)c ? t : c) : t < c ? t : c;
	case EMU_VID2_MAX:
		return is_signed ? ((int32_t)t > (int32_t)c ? t : c) : t > c ? t : c;
	case EMU_VID2_MERGE:
		return (c & ~(field << shift_by)) | (t & field) << shift_by;
	default:
		return t;
	}
}

/* One element; the merge, too, saturates to the element that it writes. */
int emu_h_video(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t *d = ROW32(w, op->d), flags = (uint32_t)op->extra[3];
	const uint32_t *a = ROW32(w, op->s[0]), *b = ROW32(w, op->s[1]),
		       *c = op->s[2] == EMU_NO_ROW ? a : ROW32(w, op->s[2]);
	uint32_t width = op->boolop == EMU_VID2_MERGE ? (uint32_t)op->extra[2] >> 16 : 32;

	EACH (i) {
		int64_t x = take(a[i], (uint32_t)op->extra[0], flags >> 8 & 63,
				 flags & EMU_VIDF_A_SIGNED);
		int64_t y = take(b[i], (uint32_t)op->extra[1], flags >> 16 & 63,
				 flags & EMU_VIDF_B_SIGNED);
		int64_t v = compute(op, x, y);

		if (flags & EMU_VIDF_SAT)
			v = clamp(v, width, flags & EMU_VIDF_D_SIGNED);
		d[i] = second(op, v, c[i]);
	}
	return 0;
}

/* (a * b) + c, exactly, shifted down by the scale: vmad. */
int emu_h_vmad(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t *d = ROW32(w, op->d), flags = (uint32_t)op->extra[3];
	const uint32_t *a = ROW32(w, op->s[0]), *b = ROW32(w, op->s[1]), *c = ROW32(w, op->s[2]);
	int is_signed = flags & EMU_VIDF_D_SIGNED;

	EACH (i) {
		__int128 x = take(a[i], (uint32_t)op->extra[0], flags >> 8 & 63,
				  flags & EMU_VIDF_A_SIGNED);
		__int128 y = take(b[i], (uint32_t)op->extra[1], flags >> 16 & 63,
				  flags & EMU_VIDF_B_SIGNED);
		__int128 z = is_signed ? (__int128)(int32_t)c[i] : (__int128)c[i];
		__int128 v = (flags & EMU_VIDF_NEG_PRODUCT ? -(x * y) : x * y) +
			     (flags & EMU_VIDF_NEG_C ? -z : z) +
			     (flags & EMU_VIDF_PLUS_ONE ? 1 : 0);

		v >>= op->imm;
		d[i] = (uint32_t)(flags & EMU_VIDF_SAT ? clamp((int64_t)v, 32, is_signed) :
							 (int64_t)v);
	}
	return 0;
}

/* vop2 and vop4: the selectors choose from the elements of a and, behind them, of b. */
int emu_h_video_simd(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t *d = ROW32(w, op->d), flags = (uint32_t)op->extra[3], bits = 32u / op->vec;
	const uint32_t *a = ROW32(w, op->s[0]), *b = ROW32(w, op->s[1]), *c = ROW32(w, op->s[2]);

	EACH (i) {
		uint32_t pool[2] = { a[i], b[i] }, out = 0, sum = c[i];

		for (uint32_t k = 0; k < op->vec; k++) {
			uint32_t sa = (uint32_t)op->extra[0] >> 4 * k & 15,
				 sb = (uint32_t)op->extra[1] >> 4 * k & 15;
			uint32_t field = (uint32_t)((1ull << bits) - 1) << k * bits;
			int64_t x = take(pool[sa / op->vec], sa % op->vec * bits, bits,
					 flags & EMU_VIDF_A_SIGNED);
			int64_t y = take(pool[sb / op->vec], sb % op->vec * bits, bits,
					 flags & EMU_VIDF_B_SIGNED);
			int64_t v = compute(op, x, y);

			if (flags & EMU_VIDF_SAT)
				v = clamp(v, bits, flags & EMU_VIDF_D_SIGNED);
			if (!(op->extra[2] >> k & 1)) {
				out |= c[i] & field;
				continue;
			}
			out |= (uint32_t)v << k * bits & field;
			sum += (uint32_t)v;
		}
		d[i] = op->boolop == EMU_VID2_ADD ? sum : out;
	}
	return 0;
}
