/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mma.sync, wmma, ldmatrix, stmatrix, movmatrix (PTX ISA, "Warp-Level Matrix Instructions"). */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "device/emu/exec/decode.h"
#include "device/emu/exec/mma.h"

static const struct {
	const char *name;
	enum emu_element e;
} elements[] = {
	{ "f16", EMU_E_F16 },   { "bf16", EMU_E_BF16 }, { "tf32", EMU_E_TF32 },
	{ "f32", EMU_E_F32 },   { "f64", EMU_E_F64 },   { "s32", EMU_E_S32 },
	{ "s8", EMU_E_S8 },     { "u8", EMU_E_U8 },     { "s4", EMU_E_S4 },
	{ "u4", EMU_E_U4 },     { "b1", EMU_E_B1 },     { "e4m3", EMU_E_E4M3 },
	{ "e5m2", EMU_E_E5M2 },
};

/* The opcode's own words: the order of its types counts here. */
struct words {
	uint8_t element[5];
	uint32_t nelement;
	char layout[3]; /* 'r' or 'c' each */
	uint32_t nlayout;
	unsigned int m, n, k;
	char operand;
	uint8_t saturate, bits, unknown, trans, count, space;
};

static void word(struct words *x, const char *t)
{
	unsigned int mm, nn, kk;
	int used = 0;

	for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++) {
		if (strcmp(t, elements[i].name) == 0) {
			if (x->nelement < 5)
				x->element[x->nelement++] = (uint8_t)elements[i].e;
			return;
		}
	}
	if (sscanf(t, "m%un%uk%u%n", &mm, &nn, &kk, &used) == 3 && !t[used]) {
		x->m = mm;
		x->n = nn;
		x->k = kk;
		return;
	}
	if (strcmp(t, "row") == 0 || strcmp(t, "col") == 0) {
		if (x->nlayout < 2)
			x->layout[x->nlayout++] = t[0];
	} else if (strlen(t) == 1 && strchr("abcd", t[0])) {
		x->operand = t[0];
	} else if (strcmp(t, "satfinite") == 0) {
		x->saturate = 1;
	} else if (strcmp(t, "xor") == 0 || strcmp(t, "and") == 0) {
		x->bits = t[0] == 'x' ? 1 : 2;
	} else if (strcmp(t, "trans") == 0) {
		x->trans = 1;
	} else if (t[0] == 'x' && t[1] >= '1' && t[1] <= '4' && !t[2]) {
		x->count = (uint8_t)(t[1] - '0');
	} else if (strncmp(t, "shared", 6) == 0) {
		x->space = EMU_S_SHARED;
	} else if (strcmp(t, "global") == 0) {
		x->space = EMU_S_GLOBAL;
	} else if (strcmp(t, "sync") && strcmp(t, "aligned") && strcmp(t, "popc") &&
		   strcmp(t, "mma") && strcmp(t, "load") && strcmp(t, "store") &&
		   strcmp(t, "m8n8") && strcmp(t, "b16") && strcmp(t, "kind::f8f6f4") &&
		   strcmp(t, "rn")) {
		x->unknown = 1;
	}
}

static void parse(struct ptx_slice op, struct words *x)
{
	const char *at = memchr(op.s, '.', op.len), *end = op.s + op.len;

	memset(x, 0, sizeof(*x));
	x->space = EMU_S_GENERIC;
	while (at && at < end) {
		const char *next = memchr(at + 1, '.', (size_t)(end - at - 1));
		size_t len = (size_t)((next ? next : end) - at - 1);
		char t[24] = "";

		memcpy(t, at + 1, len < sizeof(t) ? len : sizeof(t) - 1);
		word(x, t);
		at = next;
	}
}

/* The operand's registers behind the others in rows; how many.  0: failed. */
static uint32_t registers(struct decoder *d, const struct ptx_operand *o, int wide, int write,
			  int32_t *rows, uint32_t *n)
{
	const struct ptx_operand *list = o->kind == PTX_OPD_VEC ? o->sub : o;
	uint32_t count = o->kind == PTX_OPD_VEC ? o->nsub : 1;
	enum emu_kind kind = wide ? EMU_K_U64 : EMU_K_U32;

	for (uint32_t i = 0; i < count && *n < 64; i++) {
		int32_t fix = EMU_NO_ROW;

		rows[*n] = write ? decode_dest(d, &list[i], kind, &fix) :
				   decode_source(d, &list[i], kind, wide ? PTX_T_F64 : PTX_T_B32);
		if (rows[(*n)++] == EMU_NO_ROW || fix != EMU_NO_ROW)
			return 0;
	}
	return count;
}

static uint32_t per_lane(uint32_t elements_of, enum emu_element e)
{
	uint32_t bits = elements_of / EMU_LANES * emu_element_bits(e);

	return e == EMU_E_F64 ? bits / 64 : (bits + 31) / 32;
}

static struct emu_op *emit(struct decoder *d, emu_handler *fn, const struct emu_mma *x,
			   const int32_t *rows, uint32_t n)
{
	struct emu_program *p = d->program;
	int32_t all = decode_constant(d, EMU_FULL, 0);
	uint32_t at = decode_rows(d, rows, n);
	struct emu_op *op;

	p->mma = emu_grow(p->mma, &d->room.mma, p->nmma + 1, sizeof(*p->mma));
	if (all == EMU_NO_ROW || at == UINT32_MAX || !p->mma)
		return NULL;
	p->mma[p->nmma] = *x;
	op = decode_emit(d, EMU_C_WARPSYNC, fn);
	if (!op)
		return NULL;
	op->s[3] = all;
	op->target = at;
	op->imm = p->nmma++;
	return op;
}

/* Shapes that mma.sync has, by the elements of A: k for m8n8 and m16n8 as multiples of what four
 * lanes hold. */
static int dims_ok(const struct emu_mma *x)
{
	uint32_t group = x->a == EMU_E_F64 ? 4 : 128 / emu_element_bits((enum emu_element)x->a);

	if (x->wmma)
		return (uint32_t)x->m * x->k <= 1024 && (uint32_t)x->n * x->k <= 1024 &&
		       (uint32_t)x->m * x->n <= 256 && x->m % 8 == 0 && x->n % 8 == 0;
	if (x->m == 8 && x->n == 8 && x->k == 4 && x->a == EMU_E_F16)
		return 0; /* quarter warps: a layout of its own */
	return (x->m == 8 || x->m == 16) && x->n == 8 && x->k && x->k % group == 0 &&
	       x->k <= 4 * group;
}

static int multiply(struct decoder *d, const struct ptx_insn *in, const struct words *v, int wmma)
{
	struct emu_mma x = { .m = (uint16_t)v->m,
			     .n = (uint16_t)v->n,
			     .k = (uint16_t)v->k,
			     .wmma = (uint8_t)wmma,
			     .saturate = v->saturate,
			     .bits = v->bits };
	int32_t rows[64];
	uint32_t n = 0;

	if (v->unknown || in->nopd != 4 || (v->nelement != 4 && !(wmma && v->nelement == 2)) ||
	    (!wmma && (v->nlayout != 2 || v->layout[0] != 'r' || v->layout[1] != 'c')))
		return decode_unknown(d, in);
	x.d = v->element[0];
	x.a = v->nelement == 4 ? v->element[1] : EMU_E_F16;
	x.b = v->nelement == 4 ? v->element[2] : EMU_E_F16;
	x.c = v->element[v->nelement - 1];
	if (!dims_ok(&x) ||
	    emu_element_bits((enum emu_element)x.a) != emu_element_bits((enum emu_element)x.b))
		return decode_unknown(d, in);
	x.nd = (uint8_t)registers(d, &in->opd[0], x.d == EMU_E_F64, 1, rows, &n);
	x.na = (uint8_t)registers(d, &in->opd[1], x.a == EMU_E_F64, 0, rows, &n);
	x.nb = (uint8_t)registers(d, &in->opd[2], x.b == EMU_E_F64, 0, rows, &n);
	x.nc = (uint8_t)registers(d, &in->opd[3], x.c == EMU_E_F64, 0, rows, &n);
	if (x.nd < per_lane(x.m * x.n, x.d) || x.na < per_lane(x.m * x.k, x.a) ||
	    x.nb < per_lane(x.n * x.k, x.b) || x.nc < per_lane(x.m * x.n, x.c))
		return decode_fail(d, "registers of %.*s", (int)in->opcode.len, in->opcode.s);
	return emit(d, emu_h_mma, &x, rows, n) ? 0 : -1;
}

/* wmma.load.{a,b,c} r, [p]{, stride}; wmma.store.d [p], r{, stride} */
static int fragment(struct decoder *d, const struct ptx_insn *in, const struct words *v)
{
	struct emu_mma x = { .m = (uint16_t)v->m,
			     .n = (uint16_t)v->n,
			     .k = (uint16_t)v->k,
			     .wmma = 1,
			     .operand = (uint8_t)v->operand };
	int store = v->operand == 'd';
	int32_t rows[64], stride = EMU_NO_ROW;
	enum emu_space space = (enum emu_space)v->space;
	struct emu_op a = { 0 }, *op;
	uint32_t n = 0;

	if (v->unknown || !v->operand || v->nelement != 1 || v->nlayout != 1 || in->nopd < 2 ||
	    in->nopd > 3)
		return decode_unknown(d, in);
	x.a = x.b = x.c = x.d = v->element[0];
	x.column = v->layout[0] == 'c';
	if (!dims_ok(&x))
		return decode_unknown(d, in);
	x.nd = (uint8_t)registers(d, &in->opd[store], x.a == EMU_E_F64, !store, rows, &n);
	if (x.nd < per_lane(v->operand == 'b' ? x.k * x.n :
			    v->operand == 'a' ? x.m * x.k :
						x.m * x.n,
			    x.a))
		return decode_fail(d, "registers of %.*s", (int)in->opcode.len, in->opcode.s);
	if (in->nopd == 3) {
		stride = decode_source(d, &in->opd[2], EMU_K_U32, PTX_T_U32);
		if (stride == EMU_NO_ROW)
			return -1;
	}
	if (decode_address(d, &in->opd[!store], &space, &a))
		return -1;
	if (a.mode.flags & (EMU_F_NOBASE | EMU_F_FRAME) || a.imm < INT32_MIN || a.imm > INT32_MAX) {
		if (!(a.mode.flags & EMU_F_NOBASE))
			return decode_unknown(d, in);
		a.s[0] = decode_constant(d, (uint64_t)a.imm, 1);
		a.mode.flags = EMU_F_ADDR64;
		a.imm = 0;
	}
	op = emit(d, emu_h_wmma_memory, &x, rows, n);
	if (!op)
		return -1;
	op->s[0] = a.s[0];
	op->s[1] = stride;
	op->extra[0] = (int32_t)a.imm;
	op->space = (uint8_t)space;
	op->wide = !!(a.mode.flags & EMU_F_ADDR64);
	return 0;
}

static int matrices(struct decoder *d, const struct ptx_insn *in, const struct words *v, int store)
{
	struct emu_mma none = { 0 };
	enum emu_space space = EMU_S_SHARED;
	struct emu_op a = { 0 }, *op;
	int32_t rows[64];
	uint32_t n = 0;

	if (v->unknown || v->m || !v->count || v->count == 3 || in->nopd != 2)
		return decode_unknown(d, in);
	if (registers(d, &in->opd[store], 0, !store, rows, &n) != v->count)
		return decode_fail(d, "registers of %.*s", (int)in->opcode.len, in->opcode.s);
	if (decode_address(d, &in->opd[!store], &space, &a))
		return -1;
	if (a.s[0] == EMU_NO_ROW)
		return decode_unknown(d, in);
	op = emit(d, emu_h_ldmatrix, &none, rows, n);
	if (!op)
		return -1;
	op->s[0] = a.s[0];
	op->imm = a.imm;
	op->wide = !!(a.mode.flags & EMU_F_ADDR64);
	op->space = EMU_S_SHARED;
	op->vec = v->count;
	op->sub = v->trans;
	op->is_signed = (uint8_t)store;
	return 0;
}

static int transpose(struct decoder *d, const struct ptx_insn *in, const struct words *v)
{
	struct emu_mma none = { 0 };
	int32_t rows[2], fix;
	struct emu_op *op;

	if (v->unknown || !v->trans || in->nopd != 2)
		return decode_unknown(d, in);
	rows[1] = decode_source(d, &in->opd[1], EMU_K_U32, PTX_T_B32);
	rows[0] = decode_dest(d, &in->opd[0], EMU_K_U32, &fix);
	op = rows[0] == EMU_NO_ROW || rows[1] == EMU_NO_ROW ?
		     NULL :
		     emit(d, emu_h_movmatrix, &none, rows, 2);
	if (!op)
		return -1;
	op->d = rows[0];
	op->s[0] = rows[1];
	return decode_fix(d, rows[0], EMU_K_U32, fix);
}

int decode_matrix(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	struct words v;

	parse(in->opcode, &v);
	if (strcmp(m->base, "mma") == 0)
		return multiply(d, in, &v, 0);
	if (strcmp(m->base, "wmma") == 0)
		return v.operand ? fragment(d, in, &v) : multiply(d, in, &v, 1);
	if (strcmp(m->base, "ldmatrix") == 0 || strcmp(m->base, "stmatrix") == 0)
		return matrices(d, in, &v, m->base[0] == 's');
	if (strcmp(m->base, "movmatrix") == 0)
		return transpose(d, in, &v);
	return 1;
}
