/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves of vectors, addresses in a space, and the stack. */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/decode.h"

int decode_copy64(struct decoder *d, int32_t to, int32_t from)
{
	struct emu_op *op = decode_emit(d, EMU_C_ALU, emu_h_pack);

	if (!op)
		return -1;
	op->vec = 1;
	op->imm = 64;
	op->wide = op->is_signed = 1;
	op->extra[0] = from;
	op->d = to;
	return 0;
}

/* mov.b128 {low, high}, r and mov.b128 r, {low, high} */
static int move128(struct decoder *d, const struct ptx_insn *in, int unpack)
{
	const struct ptx_operand *v = &in->opd[!unpack];
	enum ptx_type type = PTX_T_NONE;
	int32_t whole = decode_register(d, &in->opd[unpack], &type), half, fix = EMU_NO_ROW;

	if (type != PTX_T_B128 || v->nsub != 2)
		return decode_unknown(d, in);
	for (int k = 0; k < 2; k++) {
		if (v->sub[k].kind == PTX_OPD_SINK)
			continue;
		half = unpack ? decode_dest(d, &v->sub[k], EMU_K_U64, &fix) :
				decode_source(d, &v->sub[k], EMU_K_U64, PTX_T_B64);
		if (half == EMU_NO_ROW || fix != EMU_NO_ROW)
			return decode_unknown(d, in);
		if (unpack ? decode_copy64(d, half, whole + 256 * k) :
			     decode_copy64(d, whole + 256 * k, half))
			return -1;
	}
	return 0;
}

/* mov.bN {a, b}, r and mov.bN r, {a, b} */
int decode_move_vector(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	int unpack = in->opd[0].kind == PTX_OPD_VEC;
	const struct ptx_operand *v = unpack ? &in->opd[0] : &in->opd[1],
				 *r = unpack ? &in->opd[1] : &in->opd[0];
	uint32_t bits = decode_bits(m->type[0]), each = v->nsub ? bits / v->nsub : 0;
	int32_t rows[4] = { EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW }, row, fix = EMU_NO_ROW,
		fixes[4];
	enum emu_kind ek = each == 64 ? EMU_K_U64 : EMU_K_U32,
		      k = bits == 64 ? EMU_K_U64 : EMU_K_U32;
	struct emu_op *op;

	if (m->ntype == 1 && bits == 128)
		return move128(d, in, unpack);
	if (m->ntype != 1 || v->nsub < 2 || v->nsub > 4 || bits > 64 || each < 8)
		return decode_unknown(d, in);
	for (uint32_t i = 0; i < v->nsub; i++) {
		fixes[i] = EMU_NO_ROW;
		if (v->sub[i].kind == PTX_OPD_SINK)
			continue;
		rows[i] = unpack ? decode_dest(d, &v->sub[i], ek, &fixes[i]) :
				   decode_source(d, &v->sub[i], ek, PTX_T_B32);
		if (rows[i] == EMU_NO_ROW)
			return -1;
	}
	row = unpack ? decode_source(d, r, k, m->type[0]) : decode_dest(d, r, k, &fix);
	op = decode_emit(d, EMU_C_ALU, unpack ? emu_h_unpack : emu_h_pack);
	if (row == EMU_NO_ROW || !op)
		return -1;
	op->vec = (uint8_t)v->nsub;
	op->imm = each;
	op->wide = k == EMU_K_U64;
	op->is_signed = ek == EMU_K_U64;
	memcpy(op->extra, rows, sizeof(rows));
	if (unpack)
		op->s[0] = row;
	else
		op->d = row;
	for (uint32_t i = 0; unpack && i < v->nsub; i++)
		if (decode_fix(d, rows[i], ek, fixes[i]))
			return -1;
	return unpack ? 0 : decode_fix(d, row, k, fix);
}

static uint64_t window(enum ptx_space space)
{
	return space == PTX_SPACE_SHARED ? EMU_SHARED_BASE :
	       space == PTX_SPACE_LOCAL  ? EMU_LOCAL_BASE :
	       space == PTX_SPACE_PARAM  ? EMU_PARAM_BASE :
					   0;
}

/* cvta{.to}.space.u64; isspacep.space p, a */
int decode_to_space(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	const enum emu_kind sk[1] = { EMU_K_U64 };
	int to = decode_has(m, "to"), isp = m->base[0] == 'i';
	enum ptx_space space =
		m->space == PTX_SPACE_PARAM && d->func_index ? PTX_SPACE_LOCAL : m->space;
	struct emu_op *op;
	int32_t fix;

	if (decode_has(m, "shared::cluster")) {
		m->has_space = 1;
		space = PTX_SPACE_SHARED;
	}
	if (m->ntoken || !m->has_space)
		return decode_unknown(d, in);
	if (isp) {
		op = decode_simple(d, in, emu_h_isspacep, EMU_K_PRED, sk, 1, PTX_T_U64, &fix);
		if (op) {
			op->imm = (int64_t)window(space);
			op->space = window(space) ? EMU_S_SHARED : EMU_S_GLOBAL;
		}
		return op ? 0 : -1;
	}
	op = decode_simple(d, in, emu_h_cvta, EMU_K_U64, sk, 1, PTX_T_U64, &fix);
	if (!op)
		return -1;
	op->imm = (int64_t)window(space);
	op->sub = to && window(space);
	return decode_fix(d, op->d, EMU_K_U64, fix);
}

/* alloca.type d, size{, alignment}; stacksave.type d; stackrestore.type a */
int decode_stack(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	static const enum emu_kind sk[1] = { EMU_K_U64 };
	struct emu_op *op;
	int32_t fix, row;

	if (m->ntoken || m->ntype != 1 || !in->nopd ||
	    (in->nopd > 2 && in->opd[2].kind != PTX_OPD_INT))
		return decode_unknown(d, in);
	if (strcmp(m->base, "alloca") == 0) {
		uint64_t align = in->nopd > 2 ? in->opd[2].bits : 8;

		if (!align || align & (align - 1) || align > 4096)
			return decode_unknown(d, in);
		op = decode_simple(d, in, emu_h_alloca, EMU_K_U64, sk, 1, PTX_T_U64, &fix);
		if (!op)
			return -1;
		op->target = (uint32_t)align;
		return decode_fix(d, op->d, EMU_K_U64, fix);
	}
	if (strcmp(m->base, "stacksave") == 0) {
		op = decode_simple(d, in, emu_h_stacksave, EMU_K_U64, sk, 0, PTX_T_U64, &fix);
		return op ? decode_fix(d, op->d, EMU_K_U64, fix) : -1;
	}
	row = decode_source(d, &in->opd[0], EMU_K_U64, PTX_T_U64);
	op = row == EMU_NO_ROW ? NULL : decode_emit(d, EMU_C_ALU, emu_h_stackrestore);
	if (op)
		op->s[0] = row;
	return op ? 0 : -1;
}
