/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic: what alu.def has, and the families with operands of their own. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "device/emu/exec/decode.h"

static int is(const struct mods *m, const char *base)
{
	return strcmp(m->base, base) == 0;
}

/* Sources i.. of the instruction as one kind each; d first. */
struct emu_op *decode_simple(struct decoder *d, const struct ptx_insn *in, emu_handler *fn,
			     enum emu_kind dk, const enum emu_kind *sk, uint32_t nsrc,
			     enum ptx_type type, int32_t *fix)
{
	int32_t s[4] = { EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW }, dst;
	struct emu_op *op;

	if (in->nopd < 1 + nsrc) {
		decode_unknown(d, in);
		return NULL;
	}
	for (uint32_t i = 0; i < nsrc; i++) {
		s[i] = decode_source(d, &in->opd[1 + i], sk[i], type);
		if (s[i] == EMU_NO_ROW)
			return NULL;
	}
	dst = decode_dest(d, &in->opd[0], dk, fix);
	if (dst == EMU_NO_ROW)
		return NULL;
	op = decode_emit(d, EMU_C_ALU, fn);
	if (!op)
		return NULL;
	memcpy(op->s, s, sizeof(s));
	op->d = dst;
	op->type = (uint8_t)type;
	op->is_signed = (uint8_t)ptx_is_signed(type);
	return op;
}

emu_handler *decode_handler(const char *key, enum ptx_type type)
{
	for (unsigned int i = 0; i < emu_alu_count; i++)
		if (emu_alu_table[i].types >> type & 1 && strcmp(emu_alu_table[i].key, key) == 0)
			return emu_alu_table[i].fn;
	return NULL;
}

/* A type that the key carries: 1 u16x2 and s16x2, 2 f32x2; 0 none. */
static int packed_type(const struct mods *m)
{
	for (uint32_t i = 0; i < m->ntoken; i++) {
		if (strcmp(m->token[i], "s16x2") == 0 || strcmp(m->token[i], "u16x2") == 0)
			return 1;
		if (strcmp(m->token[i], "f32x2") == 0)
			return 2;
	}
	return 0;
}

static int table(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	char key[128];
	enum ptx_type type = m->ntype ? m->type[0] : PTX_T_NONE;
	int needs_env = m->rounding != EMU_RN || m->ftz || m->sat, packed = packed_type(m);
	size_t n = (size_t)snprintf(key, sizeof(key), "%s", m->base);

	if (strncmp(m->base, "dp", 2) == 0 && m->ntype == 2)
		type = m->type[1];
	for (uint32_t i = 0; i < m->ntoken && n < sizeof(key) - 40; i++)
		n += (size_t)snprintf(key + n, sizeof(key) - n, ".%s", m->token[i]);
	if (m->ntype == 2 && (strncmp(m->base, "dp", 2) == 0 || strcmp(m->base, "slct") == 0)) {
		enum ptx_type t = strcmp(m->base, "slct") == 0 ? m->type[1] : m->type[0];

		n += (size_t)snprintf(key + n, sizeof(key) - n, ".%s",
				      t == PTX_T_F32 ? "f32" :
				      t == PTX_T_S32 ? "s32" :
						       "u32");
	} else if (packed && !m->ntype) {
		type = packed == 2 ? PTX_T_B64 : PTX_T_B32;
	} else if (m->ntype != 1) {
		return decode_unknown(d, in);
	}
	if (m->sat && !decode_is_float(type)) {
		snprintf(key + n, sizeof(key) - n, ".sat");
		needs_env = 0;
	}
	for (unsigned int i = 0; i < emu_alu_count; i++) {
		const struct emu_alu *a = &emu_alu_table[i];
		enum emu_kind sk[3] = { a->kind[1], a->kind[2], a->kind[3] };
		uint32_t nsrc = 1 + (a->kind[2] != EMU_K_NONE) + (a->kind[3] != EMU_K_NONE);
		struct emu_op *op;
		int32_t fix;

		if (!(a->types >> type & 1) || strcmp(a->key, key) != 0)
			continue;
		if (in->nopd != 1 + nsrc)
			continue;
		op = decode_simple(d, in, a->fn, a->kind[0], sk, nsrc, type, &fix);
		if (!op)
			return -1;
		if (needs_env && (decode_is_float(type) || packed == 2)) {
			op->inner = op->fn;
			op->fn = emu_h_env;
			op->mode.rounding = (uint8_t)m->rounding;
			op->mode.flags =
				(uint8_t)((m->ftz ? EMU_F_FTZ : 0) | (m->sat ? EMU_F_SAT : 0));
		}
		return decode_fix(d, op->d,
				  decode_kind_wide(a->kind[0]) ? a->kind[0] :
				  ptx_is_signed(type)          ? EMU_K_S32 :
								 EMU_K_U32,
				  fix);
	}
	return decode_unknown(d, in);
}

static int32_t carry_row(struct decoder *d)
{
	if (d->carry == EMU_NO_ROW)
		d->carry = decode_new_row(d, 4);
	return d->carry;
}

/* add.cc, addc{.cc}, sub.cc, subc{.cc}, mad.{lo,hi}.cc, madc.{lo,hi}{.cc} */
static int carry(struct decoder *d, const struct ptx_insn *in, struct mods *m, int reads)
{
	int writes = decode_has(m, "cc"), hi = decode_has(m, "hi"),
	    wide = m->ntype && decode_bits(m->type[0]) == 64;
	enum emu_kind k = wide ? EMU_K_U64 : EMU_K_U32, sk[3] = { k, k, k };
	int mad = m->base[0] == 'm', sub = m->base[0] == 's';
	emu_handler *fn;
	struct emu_op *op;
	int32_t fix;

	decode_has(m, "lo");
	if (m->ntoken || m->ntype != 1)
		return decode_unknown(d, in);
	if (mad)
		fn = wide ? (hi ? emu_h_madc_hi64 : emu_h_madc_lo64) :
			    (hi ? emu_h_madc_hi32 : emu_h_madc_lo32);
	else if (sub)
		fn = wide ? emu_h_subc64 : emu_h_subc32;
	else
		fn = wide ? emu_h_addc64 : emu_h_addc32;
	op = decode_simple(d, in, fn, k, sk, mad ? 3 : 2, m->type[0], &fix);
	if (!op)
		return -1;
	op->sub = (uint8_t)((reads ? 1 : 0) | (writes ? 2 : 0));
	op->extra[0] = carry_row(d);
	return decode_fix(d, op->d, k, fix);
}

static int compare_op(struct mods *m)
{
	static const struct {
		const char *name;
		enum emu_cmp cmp;
	} cmps[] = {
		{ "eq", EMU_EQ },   { "ne", EMU_NE },   { "lt", EMU_LT },   { "le", EMU_LE },
		{ "gt", EMU_GT },   { "ge", EMU_GE },   { "lo", EMU_LT },   { "ls", EMU_LE },
		{ "hi", EMU_GT },   { "hs", EMU_GE },   { "equ", EMU_EQU }, { "neu", EMU_NEU },
		{ "ltu", EMU_LTU }, { "leu", EMU_LEU }, { "gtu", EMU_GTU }, { "geu", EMU_GEU },
		{ "num", EMU_NUM }, { "nan", EMU_NAN },
	};

	for (size_t i = 0; i < sizeof(cmps) / sizeof(cmps[0]); i++)
		if (decode_has(m, cmps[i].name))
			return (int)cmps[i].cmp;
	return -1;
}

/* setp.cmp{.bool}{.ftz}.type p{|q}, a, b{, c};  set.cmp{.bool}{.ftz}.dtype.stype d, a, b{, c}; */
static int set(struct decoder *d, const struct ptx_insn *in, struct mods *m, int setp)
{
	int cmp = compare_op(m), negated = 0, boolop;
	enum ptx_type type = m->ntype ? m->type[setp ? 0 : 1] : PTX_T_NONE;
	enum emu_kind k = decode_type_kind(type);
	int32_t a, b, c = EMU_NO_ROW, p = EMU_NO_ROW, q = EMU_NO_ROW, fix = EMU_NO_ROW, fq;
	const struct ptx_operand *dst = &in->opd[0];
	struct emu_op *op;

	boolop = decode_has(m, "and") ? 1 : decode_has(m, "or") ? 2 : decode_has(m, "xor") ? 3 : 0;
	if (cmp < 0 || m->ntoken || m->ntype != (setp ? 1u : 2u) || in->nopd != (boolop ? 4u : 3u))
		return decode_unknown(d, in);
	a = decode_source(d, &in->opd[1], k, type);
	b = decode_source(d, &in->opd[2], k, type);
	if (a == EMU_NO_ROW || b == EMU_NO_ROW)
		return -1;
	if (boolop) {
		c = decode_predicate(d, &in->opd[3], &negated);
		if (c == EMU_NO_ROW)
			return -1;
	}
	if (setp) {
		if (dst->kind == PTX_OPD_PAIR) {
			if (dst->sub[1].kind != PTX_OPD_SINK) {
				q = decode_dest(d, &dst->sub[1], EMU_K_PRED, &fq);
				if (q == EMU_NO_ROW)
					return -1;
			}
			dst = &dst->sub[0];
		}
		if (dst->kind != PTX_OPD_SINK) {
			p = decode_dest(d, dst, EMU_K_PRED, &fix);
			if (p == EMU_NO_ROW)
				return -1;
		}
	} else {
		p = decode_dest(d, dst, EMU_K_U32, &fix);
		if (p == EMU_NO_ROW)
			return -1;
	}
	op = decode_emit(d, EMU_C_ALU, setp ? emu_h_setp : emu_h_set);
	if (!op)
		return -1;
	op->s[0] = a;
	op->s[1] = b;
	op->s[2] = c;
	op->d = p;
	op->extra[0] = q;
	op->sub = (uint8_t)cmp;
	op->boolop = (uint8_t)boolop;
	op->type = (uint8_t)type;
	op->wide = (uint8_t)m->type[0];
	op->mode.flags = (uint8_t)((negated ? EMU_F_SAT : 0) | (m->ftz ? EMU_F_FTZ : 0));
	return setp ? 0 : decode_fix(d, p, EMU_K_U32, fix);
}

/* lop3.boolop.b32 d|p, a, b, c, lut, q: p = (d != 0) boolop q; d may be _. */
static int lop3_pred(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	int boolop = decode_has(m, "and") ? 1 :
		     decode_has(m, "or")  ? 2 :
		     decode_has(m, "xor") ? 3 :
					    0,
	    negated;
	const struct ptx_operand *pair = &in->opd[0];
	int32_t row, s[3], p, q, zero, fix = EMU_NO_ROW, none;
	struct emu_op *op;

	if (!boolop || m->ntoken || in->nopd != 6 || pair->kind != PTX_OPD_PAIR ||
	    in->opd[4].kind != PTX_OPD_INT)
		return decode_unknown(d, in);
	for (uint32_t i = 0; i < 3; i++) {
		s[i] = decode_source(d, &in->opd[1 + i], EMU_K_U32, PTX_T_B32);
		if (s[i] == EMU_NO_ROW)
			return -1;
	}
	q = decode_predicate(d, &in->opd[5], &negated);
	row = pair->sub[0].kind == PTX_OPD_SINK ? decode_temp(d) :
						  decode_dest(d, &pair->sub[0], EMU_K_U32, &fix);
	p = decode_dest(d, &pair->sub[1], EMU_K_PRED, &none);
	zero = decode_constant(d, 0, 0);
	op = q == EMU_NO_ROW || row == EMU_NO_ROW || p == EMU_NO_ROW || zero == EMU_NO_ROW ?
		     NULL :
		     decode_emit(d, EMU_C_ALU, emu_h_lop3);
	if (!op)
		return -1;
	memcpy(op->s, s, sizeof(s));
	op->d = row;
	op->imm = (int64_t)in->opd[4].bits;
	op = decode_emit(d, EMU_C_ALU, emu_h_setp);
	if (!op)
		return -1;
	op->s[0] = row;
	op->s[1] = zero;
	op->s[2] = q;
	op->d = p;
	op->extra[0] = EMU_NO_ROW;
	op->sub = EMU_NE;
	op->boolop = (uint8_t)boolop;
	op->type = PTX_T_U32;
	op->mode.flags = negated ? EMU_F_SAT : 0;
	return decode_fix(d, row, EMU_K_U32, fix);
}

/* createpolicy: this device has no cache to control, so every policy is 0. */
static int policy(struct decoder *d, const struct ptx_insn *in)
{
	int32_t fix, row = in->nopd ? decode_dest(d, &in->opd[0], EMU_K_U64, &fix) : EMU_NO_ROW,
		     zero = decode_constant(d, 0, 1);

	if (row == EMU_NO_ROW || zero == EMU_NO_ROW || fix != EMU_NO_ROW)
		return decode_unknown(d, in);
	return decode_copy64(d, row, zero);
}

static int lop3(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	const enum emu_kind sk[3] = { EMU_K_U32, EMU_K_U32, EMU_K_U32 };
	struct emu_op *op;
	int32_t fix;

	if (m->ntoken)
		return lop3_pred(d, in, m);
	if (in->nopd != 5 || in->opd[4].kind != PTX_OPD_INT)
		return decode_unknown(d, in);
	op = decode_simple(d, in, emu_h_lop3, EMU_K_U32, sk, 3, PTX_T_B32, &fix);
	if (!op)
		return -1;
	op->imm = (int64_t)in->opd[4].bits;
	return decode_fix(d, op->d, EMU_K_U32, fix);
}

static int sleeps(struct decoder *d, const struct ptx_insn *in)
{
	struct emu_op *op;
	int32_t row;

	if (in->nopd != 1)
		return decode_unknown(d, in);
	row = decode_source(d, &in->opd[0], EMU_K_U32, PTX_T_U32);
	op = row == EMU_NO_ROW ? NULL : decode_emit(d, EMU_C_ALU, emu_h_nanosleep);
	if (op)
		op->s[0] = row;
	return op ? 0 : -1;
}

static int testp(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	static const char *const names[] = { "finite",     "infinite", "number",
					     "notanumber", "normal",   "subnormal" };
	enum emu_kind sk[1] = { m->ntype && m->type[0] == PTX_T_F64 ? EMU_K_F64 : EMU_K_F32 };
	struct emu_op *op;
	int32_t fix;
	int sub = -1;

	for (int i = 0; i < 6; i++)
		if (decode_has(m, names[i]))
			sub = i;
	if (sub < 0 || m->ntoken || m->ntype != 1)
		return decode_unknown(d, in);
	op = decode_simple(d, in, emu_h_testp, EMU_K_PRED, sk, 1, m->type[0], &fix);
	if (op)
		op->sub = (uint8_t)sub;
	return op ? 0 : -1;
}

static int has_cc(const struct mods *m)
{
	for (uint32_t i = 0; i < m->ntoken; i++)
		if (strcmp(m->token[i], "cc") == 0)
			return 1;
	return 0;
}

int decode_arith(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	static const enum emu_kind bfi32[4] = { EMU_K_U32, EMU_K_U32, EMU_K_U32, EMU_K_U32 };
	static const enum emu_kind bfi64[4] = { EMU_K_U64, EMU_K_U64, EMU_K_U32, EMU_K_U32 };
	struct emu_op *op;
	int32_t fix;

	if (is(m, "mov") && in->nopd == 2 &&
	    (in->opd[0].kind == PTX_OPD_VEC || in->opd[1].kind == PTX_OPD_VEC))
		return decode_move_vector(d, in, m);
	if (is(m, "setp") || is(m, "set"))
		return set(d, in, m, is(m, "setp"));
	if (is(m, "cvt"))
		return decode_convert(d, in, m);
	if (is(m, "cvta") || is(m, "isspacep"))
		return decode_to_space(d, in, m);
	if (is(m, "testp"))
		return testp(d, in, m);
	if (is(m, "alloca") || is(m, "stacksave") || is(m, "stackrestore"))
		return decode_stack(d, in, m);
	if (is(m, "lop3"))
		return lop3(d, in, m);
	if (is(m, "createpolicy"))
		return policy(d, in);
	if (is(m, "addc") || is(m, "subc") || is(m, "madc"))
		return carry(d, in, m, 1);
	if (has_cc(m))
		return carry(d, in, m, 0);
	if (is(m, "bfi") && m->ntype == 1 && !m->ntoken) {
		int wide = decode_bits(m->type[0]) == 64;

		op = decode_simple(d, in, wide ? emu_h_bfi64 : emu_h_bfi32,
				   wide ? EMU_K_U64 : EMU_K_U32, wide ? bfi64 : bfi32, 4,
				   m->type[0], &fix);
		return op ? decode_fix(d, op->d, wide ? EMU_K_U64 : EMU_K_U32, fix) : -1;
	}
	if (is(m, "nanosleep"))
		return sleeps(d, in);
	return table(d, in, m);
}
