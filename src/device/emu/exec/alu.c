/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic, logic and move operations, generated from alu.def. */
#define _GNU_SOURCE
#include <math.h>

#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

/* Lane access by kind; a 16-bit value lives zero-extended in a 32-bit lane. */
#define V_U16 uint16_t
#define V_S16 int16_t
#define V_U32 uint32_t
#define V_S32 int32_t
#define V_U64 uint64_t
#define V_S64 int64_t
#define V_F32 float
#define V_F64 double
#define V_F16 float
#define V_BF16 float
#define V_PRED int
#define P_U16 uint32_t
#define P_S16 uint32_t
#define P_U32 uint32_t
#define P_S32 int32_t
#define P_U64 uint64_t
#define P_S64 int64_t
#define P_F32 float
#define P_F64 double
#define P_F16 uint32_t
#define P_BF16 uint32_t
#define P_PRED uint32_t
#define L_U16(p, i) ((uint16_t)(p)[i])
#define L_S16(p, i) ((int16_t)(p)[i])
#define L_U32(p, i) ((p)[i])
#define L_S32(p, i) ((p)[i])
#define L_U64(p, i) ((p)[i])
#define L_S64(p, i) ((p)[i])
#define L_F32(p, i) ((p)[i])
#define L_F64(p, i) ((p)[i])
#define L_F16(p, i) emu_float_of_half((uint16_t)(p)[i])
#define L_BF16(p, i) emu_float_of_bf16((uint16_t)(p)[i])
#define L_PRED(p, i) ((int)((p)[0] >> (i)&1))
#define W_U16(p, i, v) ((p)[i] = (uint16_t)(v))
#define W_S16(p, i, v) ((p)[i] = (uint16_t)(v))
#define W_U32(p, i, v) ((p)[i] = (v))
#define W_S32(p, i, v) ((p)[i] = (v))
#define W_U64(p, i, v) ((p)[i] = (v))
#define W_S64(p, i, v) ((p)[i] = (v))
#define W_F32(p, i, v) ((p)[i] = (v))
#define W_F64(p, i, v) ((p)[i] = (v))
#define W_F16(p, i, v) ((p)[i] = emu_half_of_float(v))
#define W_BF16(p, i, v) ((p)[i] = emu_bf16_of_float(v))

static inline int32_t sat_s32(int64_t v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

static inline int32_t sext24(uint32_t v)
{
	return (int32_t)(v << 8) >> 8;
}

static inline uint32_t brev32(uint32_t v)
{
	v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
	v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
	v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
	return __builtin_bswap32(v);
}

/* width 0: the bit's position; otherwise how far to shift it to the top. */
static inline uint32_t bfind(uint64_t v, uint32_t width)
{
	uint32_t pos;

	if (!v)
		return ~0u;
	pos = 63 - (uint32_t)__builtin_clzll(v);
	return width ? width - 1 - pos : pos;
}

static inline uint32_t fns32(uint32_t mask, uint32_t base, int32_t offset)
{
	int step = offset < 0 ? -1 : 1, count = 0, want = offset < 0 ? -offset : offset;

	if (offset == 0)
		return base < 32 && (mask >> base & 1) ? base : ~0u;
	for (int p = (int)(base & 31); p >= 0 && p < 32; p += step)
		if ((mask >> p & 1) && ++count == want)
			return (uint32_t)p;
	return ~0u;
}

/* PTX ISA, bfe: the sign bit is that of the field, or of the source where the field ends outside.
 */
static inline uint64_t bfe(uint64_t a, uint32_t b, uint32_t c, uint32_t width, int is_signed)
{
	uint32_t pos = b & 0xff, len = c & 0xff, last = pos + len - 1;
	uint64_t sign, field;

	if (last > width - 1)
		last = width - 1;
	sign = is_signed && len ? a >> last & 1 : 0;
	field = pos < width ? a >> pos : 0;
	if (pos + len < width && len < 64)
		field &= (1ull << len) - 1;
	else if (pos < width && width - pos < 64)
		field &= (1ull << (width - pos)) - 1;
	if (!len)
		return 0;
	len = pos < width ? (len < width - pos ? len : width - pos) : 0;
	if (sign && len < 64)
		field |= ~0ull << len;
	return width == 32 ? (uint32_t)field : field;
}

static inline uint32_t bmsk(uint32_t a, uint32_t b, int clamp)
{
	uint32_t len = clamp ? (b > 32 ? 32 : b) : (b & 31),
		 pos = clamp ? (a > 32 ? 32 : a) : (a & 31);
	uint64_t m = ((1ull << len) - 1) << pos;

	return (uint32_t)m;
}

static inline uint32_t szext(uint32_t a, uint32_t b, int clamp, int is_signed)
{
	uint32_t n = clamp ? (b > 32 ? 32 : b) : (b & 31);

	if (!n)
		return 0;
	if (n >= 32)
		return a;
	return is_signed ? (uint32_t)((int32_t)(a << (32 - n)) >> (32 - n)) : a & ((1u << n) - 1);
}

static inline uint32_t funnel_l(uint32_t lo, uint32_t hi, uint32_t n)
{
	uint64_t v = (uint64_t)hi << 32 | lo;

	return n == 32 ? lo : (uint32_t)(v << n >> 32);
}

static inline uint32_t funnel_r(uint32_t lo, uint32_t hi, uint32_t n)
{
	uint64_t v = (uint64_t)hi << 32 | lo;

	return (uint32_t)(v >> n);
}

static inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t v = (uint64_t)b << 32 | a;
	uint32_t d = 0;

	for (int i = 0; i < 4; i++) {
		uint32_t sel = c >> (4 * i) & 15;
		uint32_t byte = (uint32_t)(v >> (8 * (sel & 7))) & 0xff;

		if (sel & 8)
			byte = byte & 0x80 ? 0xff : 0;
		d |= byte << (8 * i);
	}
	return d;
}

static inline uint32_t prmt_mode(uint32_t a, uint32_t b, uint32_t c, int mode)
{
	static const uint16_t selector[6][4] = {
		{ 0x3210, 0x4321, 0x5432, 0x6543 }, { 0x5670, 0x6701, 0x7012, 0x0123 },
		{ 0x0000, 0x1111, 0x2222, 0x3333 }, { 0x3210, 0x3211, 0x3222, 0x3333 },
		{ 0x0000, 0x1110, 0x2210, 0x3210 }, { 0x1010, 0x3232, 0x1010, 0x3232 },
	};

	return prmt(a, b, selector[mode][c & 3]);
}

static inline uint32_t dp4a(uint32_t a, uint32_t b, uint32_t c, int sa, int sb)
{
	for (int i = 0; i < 32; i += 8)
		c += (uint32_t)((sa ? (int8_t)(a >> i) : (int)(uint8_t)(a >> i)) *
				(sb ? (int8_t)(b >> i) : (int)(uint8_t)(b >> i)));
	return c;
}

static inline uint32_t dp2a(uint32_t a, uint32_t b, uint32_t c, int sa, int sb, int first)
{
	for (int i = 0; i < 2; i++)
		c += (uint32_t)((sa ? (int16_t)(a >> 16 * i) : (int)(uint16_t)(a >> 16 * i)) *
				(sb ? (int8_t)(b >> 8 * (first + i)) :
				      (int)(uint8_t)(b >> 8 * (first + i))));
	return c;
}

/* PTX ISA, min/max: a NaN loses, and -0 is less than +0. */
static inline float minf(float a, float b)
{
	if (a != a || b != b)
		return a != a ? (b != b ? __builtin_nanf("") : b) : a;
	return a < b || (a == b && signbit(a)) ? a : b;
}

static inline float maxf(float a, float b)
{
	if (a != a || b != b)
		return a != a ? (b != b ? __builtin_nanf("") : b) : a;
	return a > b || (a == b && !signbit(a)) ? a : b;
}

static inline float minnan(float a, float b)
{
	return a != a || b != b ? __builtin_nanf("") : minf(a, b);
}

static inline float maxnan(float a, float b)
{
	return a != a || b != b ? __builtin_nanf("") : maxf(a, b);
}

static inline float absf(float a)
{
	return emu_float_of_bits(emu_bits_of_float(a) & 0x7fffffffu);
}

/* PTX ISA, min.xorsign.abs: the magnitude m with the signs' exclusive or. */
static inline float xorsign(float a, float b, float m)
{
	uint32_t sign = (emu_bits_of_float(a) ^ emu_bits_of_float(b)) & 0x80000000u;

	return m != m ? m : emu_float_of_bits((emu_bits_of_float(m) & 0x7fffffffu) | sign);
}

static inline double mind(double a, double b)
{
	if (a != a || b != b)
		return a != a ? (b != b ? __builtin_nan("") : b) : a;
	return a < b || (a == b && signbit(a)) ? a : b;
}

static inline double maxd(double a, double b)
{
	if (a != a || b != b)
		return a != a ? (b != b ? __builtin_nan("") : b) : a;
	return a > b || (a == b && !signbit(a)) ? a : b;
}

static inline uint16_t half_relu(uint16_t h)
{
	return (h & 0x8000) && (h & 0x7fff) <= 0x7c00 ? 0 : h;
}

static inline uint32_t h2_fma(uint32_t a, uint32_t b, uint32_t c, int relu)
{
	uint32_t d = 0;

	for (int i = 0; i < 32; i += 16) {
		uint16_t h = emu_half_of_double((double)emu_float_of_half((uint16_t)(a >> i)) *
							emu_float_of_half((uint16_t)(b >> i)) +
						emu_float_of_half((uint16_t)(c >> i)));

		d |= (uint32_t)(relu ? half_relu(h) : h) << i;
	}
	return d;
}

static inline uint32_t b2_fma(uint32_t a, uint32_t b, uint32_t c, int relu)
{
	uint32_t d = 0;

	for (int i = 0; i < 32; i += 16) {
		float f = __builtin_fmaf(emu_float_of_bf16((uint16_t)(a >> i)),
					 emu_float_of_bf16((uint16_t)(b >> i)),
					 emu_float_of_bf16((uint16_t)(c >> i)));

		d |= (uint32_t)emu_bf16_of_float(relu ? maxf(f, 0.0f) : f) << i;
	}
	return d;
}

/* f(x, y) on both halves of a and b. */
#define X2(A, B, from, to, f) \
	__extension__({ \
		uint32_t d_ = 0; \
		for (int h_ = 0; h_ < 32; h_ += 16) { \
			float x = from((uint16_t)((A) >> h_)), y = from((uint16_t)((B) >> h_)); \
			(void)x; \
			(void)y; \
			d_ |= (uint32_t)to(f) << h_; \
		} \
		d_; \
	})
#define H2(A, B, f) X2(A, B, emu_float_of_half, emu_half_of_float, f)
#define B2(A, B, f) X2(A, B, emu_float_of_bf16, emu_bf16_of_float, f)

/* e of the 16-bit halves of a and b, as `type`; wraps. */
#define I2(A, B, type, e) \
	__extension__({ \
		uint32_t d_ = 0; \
		for (int h_ = 0; h_ < 32; h_ += 16) { \
			type x = (type)((A) >> h_), y = (type)((B) >> h_); \
			d_ |= (uint32_t)(uint16_t)(e) << h_; \
		} \
		d_; \
	})
/* e of the single-precision halves of a, b and c. */
#define F2(A, B, C, e) \
	__extension__({ \
		uint64_t d_ = 0; \
		for (int h_ = 0; h_ < 64; h_ += 32) { \
			float x = emu_float_of_bits((uint32_t)((A) >> h_)), \
			      y = emu_float_of_bits((uint32_t)((B) >> h_)); \
			float z = emu_float_of_bits((uint32_t)((uint64_t)(C) >> h_)); \
			(void)z; \
			d_ |= (uint64_t)emu_bits_of_float(e) << h_; \
		} \
		d_; \
	})

/* Rows either coincide or are apart, so lanes do not depend on each other. */
#ifdef __clang__
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* All lanes in one loop that vectorises, or the active ones. */
#define EACH_LANE(body) \
	if (mask == EMU_FULL) { \
		INDEPENDENT \
		for (int i = 0; i < EMU_LANES; i++) { \
			body \
		} \
	} else { \
		for (uint32_t m_ = mask; m_; m_ &= m_ - 1) { \
			int i = __builtin_ctz(m_); \
			body \
		} \
	} \
	return 0;

#define OP1(id, key, types, KD, KA, expr) \
	static int h_##id(struct emu_warp *w, const struct emu_op *op, uint32_t mask) \
	{ \
		P_##KD *D = emu_row(w, op->d); \
		const P_##KA *A = emu_row(w, op->s[0]); \
		EACH_LANE (V_##KA a = L_##KA(A, i); W_##KD(D, i, expr);) \
	}
#define OP2(id, key, types, KD, KA, KB, expr) \
	static int h_##id(struct emu_warp *w, const struct emu_op *op, uint32_t mask) \
	{ \
		P_##KD *D = emu_row(w, op->d); \
		const P_##KA *A = emu_row(w, op->s[0]); \
		const P_##KB *B = emu_row(w, op->s[1]); \
		EACH_LANE (V_##KA a = L_##KA(A, i); V_##KB b = L_##KB(B, i); W_##KD(D, i, expr);) \
	}
#define OP3(id, key, types, KD, KA, KB, KC, expr) \
	static int h_##id(struct emu_warp *w, const struct emu_op *op, uint32_t mask) \
	{ \
		P_##KD *D = emu_row(w, op->d); \
		const P_##KA *A = emu_row(w, op->s[0]); \
		const P_##KB *B = emu_row(w, op->s[1]); \
		const P_##KC *C = emu_row(w, op->s[2]); \
		EACH_LANE (V_##KA a = L_##KA(A, i); V_##KB b = L_##KB(B, i); \
			   V_##KC c = L_##KC(C, i); W_##KD(D, i, expr);) \
	}
#define PR1(id, key, expr) \
	static int h_##id(struct emu_warp *w, const struct emu_op *op, uint32_t mask) \
	{ \
		uint32_t a = PRED(w, op->s[0]); \
		PRED(w, op->d) = (PRED(w, op->d) & ~mask) | ((expr)&mask); \
		return 0; \
	}
#define PR2(id, key, expr) \
	static int h_##id(struct emu_warp *w, const struct emu_op *op, uint32_t mask) \
	{ \
		uint32_t a = PRED(w, op->s[0]), b = PRED(w, op->s[1]); \
		PRED(w, op->d) = (PRED(w, op->d) & ~mask) | ((expr)&mask); \
		return 0; \
	}
#include "device/emu/exec/alu.def"
#undef OP1
#undef OP2
#undef OP3
#undef PR1
#undef PR2

#define T(x) (1u << PTX_T_##x)
#define T_I16 (T(U16) | T(S16))
#define T_I32 (T(U32) | T(S32))
#define T_I64 (T(U64) | T(S64))
#define OP1(id, key, types, KD, KA, expr) { key, types, { EMU_K_##KD, EMU_K_##KA, 0, 0 }, h_##id },
#define OP2(id, key, types, KD, KA, KB, expr) \
	{ key, types, { EMU_K_##KD, EMU_K_##KA, EMU_K_##KB, 0 }, h_##id },
#define OP3(id, key, types, KD, KA, KB, KC, expr) \
	{ key, types, { EMU_K_##KD, EMU_K_##KA, EMU_K_##KB, EMU_K_##KC }, h_##id },
#define PR1(id, key, expr) { key, T(PRED), { EMU_K_PRED, EMU_K_PRED, 0, 0 }, h_##id },
#define PR2(id, key, expr) { key, T(PRED), { EMU_K_PRED, EMU_K_PRED, EMU_K_PRED, 0 }, h_##id },
const struct emu_alu emu_alu_table[] = {
#include "device/emu/exec/alu.def"
};
const unsigned int emu_alu_count = sizeof(emu_alu_table) / sizeof(emu_alu_table[0]);
