/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tex, tld4, txq, suld, sust and suq on objects in registers (PTX ISA, "Texture Instructions",
 * "Surface Instructions"). */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/decode.h"

/* What this device has of the geometries: dimensions | layered << 2; 0: none. */
static uint8_t geometry(struct mods *m)
{
	static const struct {
		const char *name;
		uint8_t dims;
	} dims_of[] = {
		{ "1d", 1 }, { "2d", 2 }, { "3d", 3 }, { "a1d", 1 | 4 }, { "a2d", 2 | 4 },
	};

	for (size_t i = 0; i < sizeof(dims_of) / sizeof(dims_of[0]); i++)
		if (decode_has(m, dims_of[i].name))
			return dims_of[i].dims;
	return 0;
}

/* [object, {coordinates}]: the object's row in *handle, the coordinates' rows behind the n in rows.
 * -1: failed. */
static int place(struct decoder *d, const struct ptx_insn *in, const struct ptx_operand *o,
		 uint8_t dims, int is_int, int32_t *handle, int32_t *rows, uint32_t *n)
{
	uint32_t need = (dims & 3u) + (dims >> 2);
	const struct ptx_operand *list;
	uint32_t have;

	if (o->kind != PTX_OPD_ADDR || o->nsub != 2)
		return decode_unknown(d, in);
	list = o->sub[1].kind == PTX_OPD_VEC ? o->sub[1].sub : &o->sub[1];
	have = o->sub[1].kind == PTX_OPD_VEC ? o->sub[1].nsub : 1;
	if (have < need)
		return decode_unknown(d, in);
	*handle = decode_source(d, &o->sub[0], EMU_K_U64, PTX_T_U64);
	for (uint32_t k = 0; k < need; k++) {
		int integer = is_int || (k == 0 && dims >> 2);

		rows[*n] = decode_source(d, &list[k], EMU_K_U32, integer ? PTX_T_U32 : PTX_T_F32);
		if (rows[(*n)++] == EMU_NO_ROW)
			return -1;
	}
	return *handle == EMU_NO_ROW ? -1 : 0;
}

/* The vector (or scalar) operand's rows, to write or to read. */
static int elements(struct decoder *d, const struct ptx_insn *in, const struct ptx_operand *o,
		    uint32_t want, enum emu_kind kind, int write, int32_t *rows)
{
	const struct ptx_operand *list = o->kind == PTX_OPD_VEC ? o->sub : o;
	uint32_t have = o->kind == PTX_OPD_VEC ? o->nsub : 1;

	if (have != want)
		return decode_unknown(d, in);
	for (uint32_t k = 0; k < want; k++) {
		int32_t fix = EMU_NO_ROW;

		rows[k] = write ? decode_dest(d, &list[k], kind, &fix) :
				  decode_source(d, &list[k], kind, PTX_T_B32);
		if (rows[k] == EMU_NO_ROW || fix != EMU_NO_ROW)
			return decode_fail(d, "registers of %.*s", (int)in->opcode.len,
					   in->opcode.s);
	}
	return 0;
}

static struct emu_op *emit(struct decoder *d, emu_handler *fn, int32_t handle, const int32_t *rows,
			   uint32_t n)
{
	uint32_t at = decode_rows(d, rows, n);
	struct emu_op *op = at == UINT32_MAX ? NULL : decode_emit(d, EMU_C_ALU, fn);

	if (op) {
		op->s[0] = handle;
		op->target = at;
	}
	return op;
}

/* tex{.base|.level|.grad}.geom.v4.dtype.ctype, tld4.comp.geom.v4.dtype.f32 */
static int texture(struct decoder *d, const struct ptx_insn *in, struct mods *m, int tld4)
{
	static const char *const components[] = { "r", "g", "b", "a" };
	uint32_t n = m->vec, sub = 0;
	int32_t rows[8], handle;
	struct emu_op *op;
	uint8_t dims;

	for (uint32_t k = 0; tld4 && k < 4; k++)
		if (decode_has(m, components[k]))
			sub = k + 1;
	decode_has(m, "base");
	decode_has(m, "level");
	decode_has(m, "grad");
	dims = geometry(m);
	if (!dims || m->ntoken || m->ntype != 2 || in->nopd < 2 || in->nopd > 4 || n != 4 ||
	    (tld4 && (!sub || (dims & 3) != 2)) || decode_bits(m->type[0]) > 32 ||
	    m->type[0] == PTX_T_F16X2)
		return decode_unknown(d, in);
	if (elements(d, in, &in->opd[0], n, EMU_K_U32, 1, rows) ||
	    place(d, in, &in->opd[1], dims, m->type[1] == PTX_T_S32, &handle, rows, &n))
		return -1;
	op = emit(d, emu_h_tex, handle, rows, n);
	if (!op)
		return -1;
	op->vec = m->vec;
	op->boolop = dims;
	op->type = (uint8_t)m->type[0];
	op->is_signed = m->type[1] == PTX_T_S32;
	op->sub = (uint8_t)sub;
	return 0;
}

/* suld.b and sust.b: x counts bytes. */
static int surface(struct decoder *d, const struct ptx_insn *in, struct mods *m, int store)
{
	static const char *const hints[] = { "ca", "cg", "cs", "cv", "wb", "wt", NULL };
	enum emu_kind kind = m->ntype && decode_bits(m->type[0]) == 64 ? EMU_K_U64 : EMU_K_U32;
	enum emu_surface clamp = decode_has(m, "clamp") ? EMU_SURF_CLAMP :
				 decode_has(m, "zero")  ? EMU_SURF_ZERO :
							  EMU_SURF_TRAP;
	int32_t rows[8], handle;
	uint32_t n = m->vec;
	struct emu_op *op;
	uint8_t dims;

	decode_ignore(m, hints);
	decode_has(m, "trap");
	dims = geometry(m);
	if (!decode_has(m, "b") || !dims || m->ntoken || m->ntype != 1 || in->nopd != 2 || n > 4)
		return decode_unknown(d, in);
	if (elements(d, in, &in->opd[store], n, kind, !store, rows) ||
	    place(d, in, &in->opd[!store], dims, 1, &handle, rows, &n))
		return -1;
	op = emit(d, store ? emu_h_sust : emu_h_suld, handle, rows, n);
	if (!op)
		return -1;
	op->vec = m->vec;
	op->boolop = dims;
	op->sub = (uint8_t)clamp;
	op->size = (uint8_t)(decode_bits(m->type[0]) / 8);
	op->wide = kind == EMU_K_U64;
	return 0;
}

static int query(struct decoder *d, const struct ptx_insn *in, struct mods *m, int of_surface)
{
	static const char *const names[] = { "width", "height", "depth", "normalized_coords" };
	int32_t row, handle, fix;
	struct emu_op *op;
	int sub = -1;

	for (int k = 0; k < 4; k++)
		if (decode_has(m, names[k]))
			sub = k;
	if (decode_has(m, "array_size"))
		sub = 2;
	if (sub < 0 || m->ntoken || m->ntype != 1 || in->nopd != 2 ||
	    in->opd[1].kind != PTX_OPD_ADDR || in->opd[1].nsub != 1)
		return decode_unknown(d, in);
	handle = decode_source(d, &in->opd[1].sub[0], EMU_K_U64, PTX_T_U64);
	row = decode_dest(d, &in->opd[0], EMU_K_U32, &fix);
	op = handle == EMU_NO_ROW || row == EMU_NO_ROW ? NULL :
							 decode_emit(d, EMU_C_ALU, emu_h_txq);
	if (!op)
		return -1;
	op->s[0] = handle;
	op->d = row;
	op->sub = (uint8_t)sub;
	op->vec = 0; /* any geometry */
	op->is_signed = (uint8_t)of_surface;
	return decode_fix(d, row, EMU_K_U32, fix);
}

int decode_texture(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	if (strcmp(m->base, "tex") == 0 || strcmp(m->base, "tld4") == 0)
		return texture(d, in, m, m->base[1] == 'l');
	if (strcmp(m->base, "suld") == 0 || strcmp(m->base, "sust") == 0)
		return surface(d, in, m, m->base[2] == 's');
	if (strcmp(m->base, "txq") == 0 || strcmp(m->base, "suq") == 0)
		return query(d, in, m, m->base[0] == 's');
	return 1;
}
