/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cvt and cvt.pack (PTX ISA, "Data Movement and Conversion Instructions"). */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/decode.h"

/* cvt.pack.sat.type.s32{.b32} */
static int pack(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	static const enum emu_kind sk[3] = { EMU_K_U32, EMU_K_U32, EMU_K_U32 };
	uint32_t bits = 0, tokens = m->ntoken;
	struct emu_op *op;
	int32_t fix;

	if (decode_has(m, "s2") || decode_has(m, "u2"))
		bits = 2;
	else if (decode_has(m, "s4") || decode_has(m, "u4"))
		bits = 4;
	else if (m->ntype)
		bits = decode_bits(m->type[0]);
	if (m->ntoken || !m->sat || bits > 16 || !bits || in->nopd < 3 || in->nopd > 4 ||
	    (bits == 16) != (in->nopd == 3))
		return decode_unknown(d, in);
	op = decode_simple(d, in, emu_h_cvt_pack_int, EMU_K_U32, sk, in->nopd - 1, PTX_T_S32, &fix);
	if (!op)
		return -1;
	op->vec = (uint8_t)bits;
	op->is_signed = (uint8_t)(tokens ? memmem(in->opcode.s, in->opcode.len, ".s4", 3) ||
						   memmem(in->opcode.s, in->opcode.len, ".s2", 3) :
					   ptx_is_signed(m->type[0]));
	return decode_fix(d, op->d, EMU_K_U32, fix);
}

/* The formats that no register has: 0 done, -1 failed, 1: none of them. */
static int small(struct decoder *d, const struct ptx_insn *in, struct mods *m, int relu)
{
	static const enum emu_kind sk[2] = { EMU_K_U32, EMU_K_U32 };
	int e4m3, e5m2, finite;
	emu_handler *fn;
	struct emu_op *op;
	uint32_t nsrc = 1;
	int32_t fix;

	if (decode_has(m, "pack"))
		return pack(d, in, m);
	if (decode_has(m, "tf32")) {
		finite = decode_has(m, "satfinite");
		if (m->ntoken || m->ntype != 1 || m->type[0] != PTX_T_F32)
			return decode_unknown(d, in);
		op = decode_simple(d, in, emu_h_cvt_tf32, EMU_K_U32, sk, 1, PTX_T_F32, &fix);
		if (!op)
			return -1;
		op->mode.rounding = (uint8_t)m->rounding;
		op->boolop = (uint8_t)relu;
		op->sub = (uint8_t)finite;
		return decode_fix(d, op->d, EMU_K_U32, fix);
	}
	e4m3 = decode_has(m, "e4m3x2");
	e5m2 = decode_has(m, "e5m2x2");
	if (!e4m3 && !e5m2)
		return 1;
	finite = decode_has(m, "satfinite");
	if (m->ntoken || m->ntype != 1 || (m->type[0] != PTX_T_F32 && m->type[0] != PTX_T_F16X2))
		return decode_unknown(d, in);
	if (m->type[0] == PTX_T_F32) {
		fn = emu_h_cvt_small_f32;
		nsrc = 2;
	} else {
		fn = finite ? emu_h_cvt_small_half : emu_h_cvt_half_small;
	}
	op = decode_simple(d, in, fn, EMU_K_U32, sk, nsrc, PTX_T_B32, &fix);
	if (!op)
		return -1;
	op->size = e4m3 ? 4 : 5;
	op->boolop = (uint8_t)relu;
	return decode_fix(d, op->d, EMU_K_U32, fix);
}

int decode_convert(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	int relu = decode_has(m, "relu"), rc = small(d, in, m, relu), finite, packed;
	enum ptx_type dt = m->type[0], st = m->type[1], reg = PTX_T_NONE;
	enum emu_kind dk, sk[2];
	struct emu_op *op;
	int32_t fix;

	if (rc <= 0)
		return rc;
	finite = decode_has(m, "satfinite") && decode_bits(dt) <= 32 && decode_is_float(dt) &&
		 dt != PTX_T_F32;
	if (m->ntoken || m->ntype != 2 || !decode_bits(dt) || !decode_bits(st) ||
	    decode_bits(dt) == 128 || decode_bits(st) == 128)
		return decode_unknown(d, in);
	packed = dt == PTX_T_F16X2 || dt == PTX_T_BF16X2;
	if (packed && (st != PTX_T_F32 || in->nopd != 3))
		return decode_unknown(d, in);
	if (st == PTX_T_F16X2 || st == PTX_T_BF16X2 || (!packed && in->nopd != 2))
		return decode_unknown(d, in);
	dk = decode_bits(dt) == 64 ? (ptx_is_signed(dt) ? EMU_K_S64 : EMU_K_U64) :
	     ptx_is_signed(dt)     ? EMU_K_S32 :
				     EMU_K_U32;
	sk[0] = sk[1] = decode_bits(st) == 64 ? EMU_K_U64 : EMU_K_U32;
	op = decode_simple(d, in, packed ? emu_h_cvt_pack2 : emu_h_cvt, dk, sk, packed ? 2 : 1, st,
			   &fix);
	if (!op)
		return -1;
	decode_register(d, &in->opd[0], &reg);
	op->wide = (uint8_t)dt;
	op->vec = (uint8_t)(decode_bits(reg) ? decode_bits(reg) : 32);
	op->mode.rounding = (uint8_t)m->rounding;
	/* float to float of one type, or towards a type it fits, rounds to integral only if asked
	 */
	op->sub = m->integral && decode_is_float(dt);
	op->mode.flags = (uint8_t)((m->ftz ? EMU_F_FTZ : 0) | (m->sat ? EMU_F_SAT : 0) |
				   (finite ? EMU_F_FINITE : 0));
	op->boolop = (uint8_t)relu;
	if (!m->has_rounding && decode_is_float(st) && !decode_is_float(dt))
		op->mode.rounding = EMU_RZ;
	return decode_fix(d, op->d, dk, fix);
}
