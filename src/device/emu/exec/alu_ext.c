/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Integer operations that do not fit a row of alu.def: carries, four sources, comparisons, packing,
 * special registers. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <xmmintrin.h>

#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

#define EACH(i) \
	for (uint32_t m_ = mask, i; m_ && ((i = (uint32_t)__builtin_ctz(m_)), 1); m_ &= m_ - 1)

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

static uint64_t nanoseconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Of the deterministic device: what the engine counted, and within this turn the warp's own
 * operations. */
static uint64_t cycles(const struct emu_warp *w)
{
	return atomic_load_explicit(w->block->grid->cycles, memory_order_relaxed) +
	       (w->progress.count - w->progress.round_began) / EMU_LANES;
}

static uint64_t clock_now(const struct emu_warp *w)
{
	return w->block->grid->cycles ? cycles(w) : nanoseconds(CLOCK_MONOTONIC);
}

static uint64_t globaltimer(const struct emu_warp *w)
{
	return w->block->grid->cycles ?
		       (uint64_t)((double)cycles(w) * 1e6 / w->block->grid->clock_khz) :
		       nanoseconds(CLOCK_REALTIME);
}

int emu_h_sreg(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const struct emu_block *b = w->block;
	const struct emu_grid *g = b->grid;

	(void)g;
	switch (op->sub) {
#define S_0(expr) \
	{ \
		uint32_t *d = ROW32(w, op->d); \
		EACH (l) \
			d[l] = (uint32_t)(expr); \
	} \
	break;
#define S_1(expr) \
	{ \
		uint64_t *d = ROW64(w, op->d); \
		uint64_t v = (expr); \
		EACH (l) \
			d[l] = v; \
	} \
	break;
#define S(id, name, wide, expr) \
	case EMU_SR_##id: \
		S_##wide(expr)
#include "device/emu/exec/sregs.def"
#undef S
	default:
		break;
	}
	return 0;
}

/* The local frame's address of each lane, plus imm; wide: 8 bytes a lane; flags FRAME: generic. */
int emu_h_frame_address(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint64_t base = op->sub ? EMU_LOCAL_BASE : 0;

	EACH (i) {
		uint64_t v = base + w->lane.local[i] + (uint64_t)op->imm;

		if (op->wide)
			ROW64(w, op->d)[i] = v;
		else
			ROW32(w, op->d)[i] = (uint32_t)v;
	}
	return 0;
}

int emu_h_alloca(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t size = ROW64(w, op->s[0])[i], end = w->lane.local[i] + (uint64_t)op->imm;
		uint64_t at =
			(end + w->lane.extra[i] + op->target - 1) & ~(uint64_t)(op->target - 1);

		if (size > w->store.stride || at + size > w->store.stride)
			return emu_fault(w, (int)i, EMU_FAULT_STACK, size, "local stack overflow");
		w->lane.extra[i] = (uint32_t)(at + size - end);
		ROW64(w, op->d)[i] = at;
	}
	return 0;
}

int emu_h_stacksave(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i)
		ROW64(w, op->d)[i] = w->lane.local[i] + (uint64_t)op->imm + w->lane.extra[i];
	return 0;
}

int emu_h_stackrestore(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	EACH (i) {
		uint64_t extra = ROW64(w, op->s[0])[i] - w->lane.local[i] - (uint64_t)op->imm;

		if (extra > w->lane.extra[i])
			return emu_fault(w, (int)i, EMU_FAULT_STACK, ROW64(w, op->s[0])[i],
					 "stackrestore of what stacksave did not give");
		w->lane.extra[i] = (uint32_t)extra;
	}
	return 0;
}

/* Between a space's addresses and generic ones: imm is the window, sub 1 towards the space. */
int emu_h_cvta(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint64_t *a = ROW64(w, op->s[0]);
	uint64_t *d = ROW64(w, op->d);

	EACH (i)
		d[i] = op->sub ? a[i] & ~EMU_WINDOW_MASK : a[i] + (uint64_t)op->imm;
	return 0;
}

int emu_h_isspacep(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const uint64_t *a = ROW64(w, op->s[0]);
	uint32_t r = 0;

	EACH (i) {
		uint64_t window = a[i] & EMU_WINDOW_MASK;
		int yes = op->space == EMU_S_GLOBAL ? window == 0 : window == (uint64_t)op->imm;

		r |= (uint32_t)yes << i;
	}
	PRED(w, op->d) = (PRED(w, op->d) & ~mask) | r;
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

int emu_h_nanosleep(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	(void)op;
	(void)mask;
	w->progress.yield = 1; /* the other warps and groups go first */
	return 0;
}
