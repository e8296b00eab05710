/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mbarrier.* and what arrives at them (PTX ISA, "mbarrier"): asynchronous copies, which are done at
 * once here. */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/decode.h"

static const char *const hints[] = { "release",         "acquire",    "relaxed", "cta", "cluster",
				     "shared::cluster", "noComplete", "b64",     NULL };

/* The address operand into an operation that is still to be emitted. */
static int where(struct decoder *d, const struct ptx_operand *o, const struct mods *m,
		 struct emu_op *a, enum emu_space *space)
{
	*space = m->has_space ? EMU_S_SHARED : EMU_S_GENERIC;
	return decode_address(d, o, space, a);
}

static struct emu_op *emit(struct decoder *d, emu_handler *fn, const struct emu_op *a,
			   enum emu_space space)
{
	struct emu_op *op = decode_emit(d, EMU_C_ALU, fn);

	if (op) {
		op->s[0] = a->s[0];
		op->imm = a->imm;
		op->mode.flags = a->mode.flags;
		op->space = (uint8_t)space;
	}
	return op;
}

static int wait(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	int parity = decode_has(m, "parity");
	struct emu_op a = { 0 }, *op;
	enum emu_space space;
	int32_t p, state, fix;

	decode_ignore(m, hints);
	if (m->ntoken || in->nopd < 3 || where(d, &in->opd[1], m, &a, &space))
		return decode_unknown(d, in);
	state = decode_source(d, &in->opd[2], parity ? EMU_K_U32 : EMU_K_U64, PTX_T_B64);
	p = decode_dest(d, &in->opd[0], EMU_K_PRED, &fix);
	op = state == EMU_NO_ROW || p == EMU_NO_ROW ? NULL :
						      emit(d, emu_h_mbarrier_test, &a, space);
	if (!op)
		return -1;
	op->s[1] = state;
	op->d = p;
	op->sub = (uint8_t)parity;
	return 0;
}

static int change(struct decoder *d, const struct ptx_insn *in, struct mods *m,
		  enum emu_mbarrier sub, int has_state)
{
	const struct ptx_operand *o = in->opd;
	int32_t state = EMU_NO_ROW, count = EMU_NO_ROW, fix = EMU_NO_ROW;
	struct emu_op a = { 0 }, *op;
	enum emu_space space;
	uint32_t left = in->nopd;

	decode_ignore(m, hints);
	if (m->ntoken || left < 1u + (uint32_t)has_state)
		return decode_unknown(d, in);
	if (has_state) {
		if (o->kind != PTX_OPD_SINK) {
			state = decode_dest(d, o, EMU_K_U64, &fix);
			if (state == EMU_NO_ROW || fix != EMU_NO_ROW)
				return decode_fail(d, "state of an mbarrier");
		}
		o++;
		left--;
	}
	if (where(d, o, m, &a, &space))
		return -1;
	if (left > 1) {
		count = decode_source(d, &o[1], EMU_K_U32, PTX_T_U32);
		if (count == EMU_NO_ROW)
			return -1;
	}
	op = emit(d, emu_h_mbarrier, &a, space);
	if (!op)
		return -1;
	op->sub = (uint8_t)sub;
	op->s[1] = count;
	op->d = state;
	return 0;
}

int decode_mbarrier(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	static const enum emu_kind sk[1] = { EMU_K_U64 };
	int arrive, expect;
	int32_t fix;
	struct emu_op *op;

	if (strcmp(m->base, "mbarrier") != 0)
		return 1;
	if (decode_has(m, "init"))
		return change(d, in, m, EMU_MB_INIT, 0);
	if (decode_has(m, "inval"))
		return decode_emit(d, EMU_C_ALU, emu_h_nop) ? 0 : -1;
	if (decode_has(m, "test_wait") || decode_has(m, "try_wait"))
		return wait(d, in, m);
	if (decode_has(m, "pending_count")) {
		decode_has(m, "b64");
		op = m->ntoken ? NULL :
				 decode_simple(d, in, emu_h_mbarrier_pending, EMU_K_U32, sk, 1,
					       PTX_T_B64, &fix);
		return op        ? decode_fix(d, op->d, EMU_K_U32, fix) :
		       m->ntoken ? decode_unknown(d, in) :
				   -1;
	}
	arrive = decode_has(m, "arrive");
	expect = decode_has(m, "expect_tx");
	if (decode_has(m, "arrive_drop"))
		return expect ? decode_unknown(d, in) :
				change(d, in, m, EMU_MB_DROP, in->opd[0].kind != PTX_OPD_ADDR);
	if (arrive)
		return change(d, in, m, expect ? EMU_MB_ARRIVE_TX : EMU_MB_ARRIVE,
			      in->opd[0].kind != PTX_OPD_ADDR);
	if (expect)
		return change(d, in, m, EMU_MB_EXPECT_TX, 0);
	return decode_has(m, "complete_tx") ? change(d, in, m, EMU_MB_COMPLETE_TX, 0) :
					      decode_unknown(d, in);
}

/* cp.async.mbarrier.arrive{.noinc}: copies are done at once, so the one arrives, the other changes
 * nothing. */
int decode_copy_arrive(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	int noinc = decode_has(m, "noinc");

	decode_has(m, "arrive");
	if (!noinc)
		return decode_emit(d, EMU_C_ALU, emu_h_nop) ? 0 : -1;
	return change(d, in, m, EMU_MB_ARRIVE, 0);
}

/* An address as a row of 64 bits; EMU_NO_ROW: failed. */
static int32_t address_row(struct decoder *d, const struct ptx_operand *o, enum emu_space *space)
{
	struct emu_op a = { 0 }, *op;
	int32_t row, offset;

	if (decode_address(d, o, space, &a) || a.mode.flags & EMU_F_FRAME)
		return EMU_NO_ROW;
	if (a.mode.flags & EMU_F_NOBASE)
		return decode_constant(d, (uint64_t)a.imm, 1);
	row = decode_temp(d);
	offset = decode_constant(d, (uint64_t)a.imm, 1);
	if (row == EMU_NO_ROW || offset == EMU_NO_ROW)
		return EMU_NO_ROW;
	if (!(a.mode.flags & EMU_F_ADDR64)) {
		op = decode_emit(d, EMU_C_ALU, emu_h_widen);
		if (!op)
			return EMU_NO_ROW;
		op->s[0] = a.s[0];
		op->d = row;
	}
	op = decode_emit(d, EMU_C_ALU, decode_handler("add", PTX_T_U64));
	if (!op)
		return EMU_NO_ROW;
	op->s[0] = a.mode.flags & EMU_F_ADDR64 ? a.s[0] : row;
	op->s[1] = offset;
	op->d = row;
	return row;
}

/*
 * cp.async.bulk.dst.src.mbarrier::complete_tx::bytes [dst], [src], size, [mbar] to shared memory,
 * cp.async.bulk.global.shared::cta.bulk_group [dst], [src], size from it.
 */
static int bulk_copy(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	int counted = decode_has(m, "mbarrier::complete_tx::bytes"),
	    group = decode_has(m, "bulk_group");
	enum emu_space from = counted ? EMU_S_GENERIC : EMU_S_SHARED,
		       to = counted ? EMU_S_SHARED : EMU_S_GENERIC, at = EMU_S_SHARED;
	int32_t dst, src, size;
	struct emu_op a = { 0 }, *op;

	decode_has(m, "global");
	decode_has(m, "shared::cluster");
	decode_has(m, "shared::cta");
	decode_has(m, "L2::cache_hint");
	if (m->ntoken || counted == group || in->nopd < (counted ? 4u : 3u) || !m->has_space)
		return decode_unknown(d, in);
	dst = address_row(d, &in->opd[0], &to);
	src = address_row(d, &in->opd[1], &from);
	size = decode_source(d, &in->opd[2], EMU_K_U32, PTX_T_U32);
	op = dst == EMU_NO_ROW || src == EMU_NO_ROW || size == EMU_NO_ROW ?
		     NULL :
		     decode_emit(d, EMU_C_ALU, emu_h_bulk_copy);
	if (!op)
		return d->err->text[0] ? -1 : decode_unknown(d, in);
	op->s[0] = dst;
	op->s[1] = src;
	op->s[2] = size;
	op->space = (uint8_t)to;
	op->sub = (uint8_t)from;
	if (!counted)
		return 0;
	if (decode_address(d, &in->opd[3], &at, &a))
		return -1;
	op = emit(d, emu_h_mbarrier, &a, at);
	if (!op)
		return -1;
	op->sub = EMU_MB_COMPLETE_TX;
	op->s[1] = size;
	op->d = EMU_NO_ROW;
	return 0;
}

int decode_bulk(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	int waits = decode_has(m, "commit_group") || decode_has(m, "wait_group");

	if (waits)
		decode_has(m, "read");
	else if (!decode_has(m, "prefetch"))
		return bulk_copy(d, in, m);
	else
		decode_ignore(m, (const char *const[]) { "L2", "L2::cache_hint", NULL });
	return m->ntoken ? decode_unknown(d, in) : decode_emit(d, EMU_C_ALU, emu_h_nop) ? 0 : -1;
}
