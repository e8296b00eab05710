/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matrices spread over the registers of a warp.  mma.sync and ldmatrix have
 * the layouts that the PTX ISA gives; those of wmma it leaves to the device:
 * here element number i, row by row, is in lane i / per, where per is a lane's
 * share, and registers beyond a lane's share repeat it.  Sums of halves and
 * their like are exact in double precision but for one rounding at the end.
 */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "device/emu/exec/mma.h"
#include "device/emu/exec/half.h"
#include "device/emu/exec/handlers.h"
#include "device/emu/exec/warp.h"

#define MOST (32 * 16 * 8) /* elements of the largest operand: b1 of 16 x 256 */

static uint64_t get(struct emu_warp *w, const int32_t *rows, uint32_t lane, uint32_t slot,
		    uint32_t bits)
{
	uint32_t at = slot * bits;

	if (bits == 64)
		return ROW64(w, rows[slot])[lane];
	return ROW32(w, rows[at / 32])[lane] >> at % 32 & (bits == 32 ? ~0u : (1u << bits) - 1);
}

static void put(struct emu_warp *w, const int32_t *rows, uint32_t lane, uint32_t slot,
		uint32_t bits, uint64_t v)
{
	uint32_t at = slot * bits, field, *word;

	if (bits == 64) {
		ROW64(w, rows[slot])[lane] = v;
		return;
	}
	field = bits == 32 ? ~0u : ((1u << bits) - 1) << at % 32;
	word = &ROW32(w, rows[at / 32])[lane];
	*word = (*word & ~field) | ((uint32_t)v << at % 32 & field);
}

static double value(uint64_t v, enum emu_element e)
{
	double d;

	switch (e) {
	case EMU_E_F16:
		return (double)emu_float_of_half((uint16_t)v);
	case EMU_E_BF16:
		return (double)emu_float_of_bf16((uint16_t)v);
	case EMU_E_TF32:
		return (double)emu_float_of_bits((uint32_t)v &
						 0xffffe000u); /* 10 bits of mantissa */
	case EMU_E_F32:
		return (double)emu_float_of_bits((uint32_t)v);
	case EMU_E_F64:
		memcpy(&d, &v, 8);
		return d;
	case EMU_E_E4M3:
		return (double)emu_float_of_e4m3((uint8_t)v);
	case EMU_E_E5M2:
		return (double)emu_float_of_half((uint16_t)(v << 8));
	case EMU_E_S32:
		return (double)(int32_t)v;
	case EMU_E_S8:
		return (double)(int8_t)v;
	case EMU_E_S4:
		return (double)((int)(v << 28 & 0xf0000000u) >> 28);
	default:
		return (double)v;
	}
}

/* Where mma.sync has an element: A (r, c) and B (k, n) with e elements a register; PTX ISA, "Matrix
 * Fragments for mma". */
static void place_a(const struct emu_mma *x, uint32_t e, uint32_t row, uint32_t col, uint32_t *lane,
		    uint32_t *slot)
{
	uint32_t half = x->m == 16, reg = col / (4 * e) << half | (half && row >= 8);

	*lane = (row & 7) << 2 | col / e % 4;
	*slot = reg * e + col % e;
}

static void place_b(uint32_t e, uint32_t k, uint32_t n, uint32_t *lane, uint32_t *slot)
{
	*lane = n << 2 | k / e % 4;
	*slot = k / (4 * e) * e + k % e;
}

static void place_c(uint32_t row, uint32_t col, uint32_t *lane, uint32_t *slot)
{
	*lane = (row & 7) << 2 | col >> 1;
	*slot = (row >> 3) << 1 | (col & 1);
}

/* The operand's elements, row by row. */
static void gather(struct emu_warp *w, const struct emu_mma *x, const int32_t *rows, char operand,
		   enum emu_element e, double *out)
{
	uint32_t bits = emu_element_bits(e), per_reg = bits > 32 ? 1 : 32 / bits;
	uint32_t height = operand == 'b' ? x->k : x->m, width = operand == 'a' ? x->k : x->n;
	uint32_t per = height * width / EMU_LANES;

	for (uint32_t i = 0; i < height * width; i++) {
		uint32_t lane = i / per, slot = i % per, r = i / width, c = i % width;

		if (!x->wmma && operand == 'a')
			place_a(x, per_reg, r, c, &lane, &slot);
		else if (!x->wmma && operand == 'b')
			place_b(per_reg, r, c, &lane, &slot);
		else if (!x->wmma)
			place_c(r, c, &lane, &slot);
		out[i] = value(get(w, rows, lane, slot, bits), e);
	}
}

static uint64_t round_to(double v, enum emu_element e)
{
	uint64_t u;

	switch (e) {
	case EMU_E_F16:
		return emu_half_round(v, EMU_RN);
	case EMU_E_F64:
		memcpy(&u, &v, 8);
		return u;
	default:
		return emu_bits_of_float((float)v);
	}
}

static uint64_t dot(const struct emu_mma *x, const double *a, const double *b, double c)
{
	double sum = c;
	int64_t count = (int64_t)c;

	if (x->d == EMU_E_S32) {
		for (uint32_t k = 0; k < x->k; k++) {
			int64_t p = (int64_t)a[k], q = (int64_t)b[k * x->n];

			count += x->bits == 1 ? p ^ q : x->bits == 2 ? (p & q) : p * q;
		}
		if (x->saturate)
			count = count > INT32_MAX ? INT32_MAX :
				count < INT32_MIN ? INT32_MIN :
						    count;
		return (uint32_t)count;
	}
	for (uint32_t k = 0; k < x->k; k++)
		sum = fma(a[k], b[k * x->n], sum);
	return round_to(sum, (enum emu_element)x->d);
}

int emu_h_mma(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const struct emu_program *p = w->block->grid->program;
	const struct emu_mma *x = &p->mma[op->imm];
	const int32_t *d = p->rows + op->target, *a = d + x->nd, *b = a + x->na, *c = b + x->nb;
	uint32_t bits = emu_element_bits((enum emu_element)x->d),
		 per = (uint32_t)x->m * x->n / EMU_LANES;
	double ma[MOST], mb[MOST], mc[1024];

	gather(w, x, a, 'a', (enum emu_element)x->a, ma);
	gather(w, x, b, 'b', (enum emu_element)x->b, mb);
	gather(w, x, c, 'c', (enum emu_element)x->c, mc);
	for (uint32_t i = 0; i < (uint32_t)x->m * x->n; i++) {
		uint32_t row = i / x->n, col = i % x->n, lane = i / per, slot = i % per;

		if (!x->wmma)
			place_c(row, col, &lane, &slot);
		if (mask >> lane & 1)
			put(w, d, lane, slot, bits, dot(x, ma + row * x->k, mb + col, mc[i]));
	}
	return 0;
}

/* wmma.load and wmma.store: s[0] the address, s[1] the stride in elements (none: the matrix's own).
 */
int emu_h_wmma_memory(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const struct emu_program *p = w->block->grid->program;
	const struct emu_mma *x = &p->mma[op->imm];
	const int32_t *rows = p->rows + op->target;
	enum emu_element e = (enum emu_element)(x->operand == 'a' ? x->a :
						x->operand == 'b' ? x->b :
								    x->c);
	uint32_t bits = emu_element_bits(e), height = x->operand == 'b' ? x->k : x->m,
		 width = x->operand == 'a' ? x->k : x->n;
	uint32_t per = height * width / EMU_LANES, slots = bits == 64 ? x->nd : x->nd * 32u / bits;

	for (uint32_t m = mask; m; m &= m - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(m);
		uint64_t base = op->wide ? ROW64(w, op->s[0])[lane] : ROW32(w, op->s[0])[lane];
		uint64_t stride = op->s[1] == EMU_NO_ROW ? (x->column ? height : width) :
							   ROW32(w, op->s[1])[lane];

		base += (uint64_t)op->extra[0];
		for (uint32_t s = 0; s < (x->operand == 'd' ? per : slots); s++) {
			uint32_t i = lane * per + s % per, r = i / width, c = i % width;
			uint64_t n = x->column ? c * stride + r : r * stride + c;
			uint32_t size = bits < 8 ? 1 : bits / 8;
			uint8_t *at = emu_translate(w, (int)lane, op->space, base + n * bits / 8,
						    size, size);
			uint64_t v = 0;

			if (!at)
				return -1;
			if (x->operand == 'd') {
				v = get(w, rows, lane, s, bits);
				memcpy(at, &v, size);
				continue;
			}
			memcpy(&v, at, size);
			put(w, rows, lane, s, bits,
			    bits < 8 ? v >> n * bits % 8 & ((1u << bits) - 1) : v);
		}
	}
	return 0;
}

/* ldmatrix, stmatrix: vec matrices of 8 x 8 halves; lane 8 i + r has the address of row r of matrix
 * i.  sub: transposed. */
int emu_h_ldmatrix(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	const int32_t *rows = w->block->grid->program->rows + op->target;
	uint16_t m[4][8][8];
	uint8_t *at[4][8];

	for (uint32_t i = 0; i < op->vec; i++) {
		for (uint32_t r = 0; r < 8; r++) {
			uint32_t lane = 8 * i + r;
			uint64_t base =
				op->wide ? ROW64(w, op->s[0])[lane] : ROW32(w, op->s[0])[lane];

			at[i][r] = emu_translate(w, (int)lane, op->space, base + (uint64_t)op->imm,
						 16, 16);
			if (!at[i][r])
				return -1;
			memcpy(m[i][r], at[i][r], 16);
		}
	}
	for (uint32_t left = mask; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left), g = lane >> 2, t = lane % 4 * 2;

		for (uint32_t i = 0; i < op->vec; i++) {
			uint16_t *low = op->sub ? &m[i][t][g] : &m[i][g][t],
				 *high = op->sub ? &m[i][t + 1][g] : &m[i][g][t + 1];

			if (op->is_signed) { /* store */
				*low = (uint16_t)ROW32(w, rows[i])[lane];
				*high = (uint16_t)(ROW32(w, rows[i])[lane] >> 16);
			} else {
				ROW32(w, rows[i])[lane] = *low | (uint32_t)*high << 16;
			}
		}
	}
	for (uint32_t i = 0; op->is_signed && i < op->vec; i++)
		for (uint32_t r = 0; r < 8; r++)
			memcpy(at[i][r], m[i][r], 16);
	return 0;
}

/* movmatrix.trans: an 8 x 8 matrix of halves across the warp. */
int emu_h_movmatrix(struct emu_warp *w, const struct emu_op *op, uint32_t mask)
{
	uint32_t from[EMU_LANES], *d = ROW32(w, op->d);

	memcpy(from, ROW32(w, op->s[0]), sizeof(from));
	for (uint32_t left = mask; left; left &= left - 1) {
		uint32_t lane = (uint32_t)__builtin_ctz(left), g = lane >> 2, t = lane % 4 * 2,
			 v = 0;

		for (uint32_t e = 0; e < 2; e++)
			v |= (from[(t + e) << 2 | g >> 1] >> 16 * (g & 1) & 0xffff) << 16 * e;
		d[lane] = v;
	}
	return 0;
}
