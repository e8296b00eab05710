/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Video instructions (PTX ISA, "Video Instructions"): v<op>, v<op>2, v<op>4 with their selectors.
 */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/decode.h"
#include "device/emu/exec/video.h"

static const struct {
	const char *name;
	enum emu_video op;
} names[] = {
	{ "vadd", EMU_VID_ADD }, { "vsub", EMU_VID_SUB }, { "vabsdiff", EMU_VID_ABSDIFF },
	{ "vmin", EMU_VID_MIN }, { "vmax", EMU_VID_MAX }, { "vavrg", EMU_VID_AVRG },
	{ "vshl", EMU_VID_SHL }, { "vshr", EMU_VID_SHR }, { "vset", EMU_VID_SET },
	{ "vmad", EMU_VID_MAD },
};

/* .b0 to .b3, .h0, .h1, or nothing: where and how wide.  0: no such selector. */
static int scalar_selector(struct ptx_slice comp, int32_t *shift, uint32_t *bits)
{
	*shift = 0;
	*bits = 32;
	if (!comp.len)
		return 1;
	if (comp.len != 3 || comp.s[2] < '0')
		return 0;
	*bits = comp.s[1] == 'b' ? 8 : 16;
	*shift = (comp.s[2] - '0') * (int32_t)*bits;
	return (comp.s[1] == 'b' || comp.s[1] == 'h') && *shift < 32;
}

/* .h10, .b7610: an element a lane, the highest lane first.  0: no such selector. */
static int lane_selector(struct ptx_slice comp, uint32_t lanes, int32_t *out)
{
	char kind = lanes == 2 ? 'h' : 'b';

	if (comp.len != lanes + 2 || comp.s[1] != kind)
		return 0;
	*out = 0;
	for (uint32_t k = 0; k < lanes; k++) {
		uint32_t element = (uint32_t)(comp.s[lanes + 1 - k] - '0');

		if (element >= 2 * lanes)
			return 0;
		*out |= (int32_t)(element << 4 * k);
	}
	return 1;
}

/* .h10, .b320: the lanes of d that are written. */
static int lane_mask(struct ptx_slice comp, uint32_t lanes, int32_t *out)
{
	*out = 0;
	if (!comp.len)
		*out = (1 << lanes) - 1;
	for (uint32_t k = 2; k < comp.len; k++) {
		if (comp.s[k] < '0' || comp.s[k] >= (char)('0' + (int)lanes))
			return 0;
		*out |= 1 << (comp.s[k] - '0');
	}
	return *out != 0;
}

static int32_t source(struct decoder *d, const struct ptx_operand *o)
{
	struct ptx_operand plain = *o;

	plain.ncomp = 0;
	plain.negated = 0;
	return decode_source(d, &plain, EMU_K_U32, PTX_T_U32);
}

static int set_compare(struct mods *m, struct emu_op *op)
{
	static const char *const compare[] = { "eq", "ne", "lt", "le", "gt", "ge" };

	for (uint8_t k = 0; k < 6; k++) {
		if (decode_has(m, compare[k])) {
			op->type = k; /* as in enum emu_cmp */
			return 1;
		}
	}
	return 0;
}

/* What is common: types, saturation, the second operation.  0: unknown. */
static int modifiers(struct mods *m, struct emu_op *op)
{
	int is_set = op->sub == EMU_VID_SET,
	    shifts = op->sub == EMU_VID_SHL || op->sub == EMU_VID_SHR;
	enum ptx_type dt = is_set ? PTX_T_U32 : m->type[0], at = m->type[is_set ? 0 : 1],
		      bt = m->type[is_set ? 1 : 2];

	if (m->ntype != (is_set ? 2u : 3u) || (is_set && !set_compare(m, op)))
		return 0;
	op->extra[3] = (ptx_is_signed(at) ? EMU_VIDF_A_SIGNED : 0) |
		       (ptx_is_signed(bt) ? EMU_VIDF_B_SIGNED : 0) |
		       (ptx_is_signed(dt) ? EMU_VIDF_D_SIGNED : 0) | (m->sat ? EMU_VIDF_SAT : 0);
	if (shifts && decode_has(m, "wrap"))
		op->extra[3] |= EMU_VIDF_WRAP;
	else if (shifts && !decode_has(m, "clamp"))
		return 0;
	if (op->sub == EMU_VID_MAD) {
		op->imm = decode_has(m, "shr7") ? 7 : decode_has(m, "shr15") ? 15 : 0;
		op->extra[3] |= decode_has(m, "po") ? EMU_VIDF_PLUS_ONE : 0;
	} else {
		op->boolop = decode_has(m, "add") ? EMU_VID2_ADD :
			     decode_has(m, "min") ? EMU_VID2_MIN :
			     decode_has(m, "max") ? EMU_VID2_MAX :
						    EMU_VID2_NONE;
	}
	return !m->ntoken;
}

static int selectors(const struct ptx_insn *in, struct emu_op *op)
{
	const struct ptx_operand *a = &in->opd[1], *b = &in->opd[2];
	uint32_t bits[3];
	int32_t shift;

	if (op->vec > 1) {
		op->extra[0] = op->vec == 2 ? 0x10 : 0x3210;
		op->extra[1] = op->vec == 2 ? 0x32 : 0x7654;
		return (!a->ncomp || lane_selector(ptx_comp(a), op->vec, &op->extra[0])) &&
		       (!b->ncomp || lane_selector(ptx_comp(b), op->vec, &op->extra[1])) &&
		       lane_mask(ptx_comp(&in->opd[0]), op->vec, &op->extra[2]) &&
		       op->boolop <= EMU_VID2_ADD;
	}
	if (!scalar_selector(ptx_comp(a), &op->extra[0], &bits[0]) ||
	    !scalar_selector(ptx_comp(b), &op->extra[1], &bits[1]) ||
	    !scalar_selector(ptx_comp(&in->opd[0]), &shift, &bits[2]))
		return 0;
	op->extra[2] = (int32_t)(shift << 8 | (int32_t)(bits[2] << 16));
	op->extra[3] |= (int32_t)(bits[0] << 8 | bits[1] << 16);
	if (in->opd[0].ncomp)
		op->boolop = EMU_VID2_MERGE;
	if (op->sub == EMU_VID_MAD) {
		op->extra[3] |= (a->negated != b->negated ? EMU_VIDF_NEG_PRODUCT : 0) |
				(in->opd[3].negated ? EMU_VIDF_NEG_C : 0);
		return op->boolop == EMU_VID2_NONE;
	}
	return (in->nopd == 4) == (op->boolop != EMU_VID2_NONE);
}

int decode_video(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	size_t len = strlen(m->base), stem = len;
	struct emu_op dims = { .vec = 1, .sub = 255 }, *op;
	struct ptx_operand dst;
	int32_t s[3] = { EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW }, row, fix;

	if (m->base[0] != 'v')
		return 1;
	if (m->base[len - 1] == '2' || m->base[len - 1] == '4') {
		dims.vec = (uint8_t)(m->base[len - 1] - '0');
		stem--;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == stem && strncmp(m->base, names[i].name, stem) == 0)
			dims.sub = (uint8_t)names[i].op;
	if (dims.sub == 255)
		return 1;
	if ((dims.vec > 1 &&
	     (dims.sub == EMU_VID_SHL || dims.sub == EMU_VID_SHR || dims.sub == EMU_VID_MAD)) ||
	    (dims.vec == 1 && dims.sub == EMU_VID_AVRG) || in->nopd < 3 || in->nopd > 4 ||
	    ((dims.vec > 1 || dims.sub == EMU_VID_MAD) && in->nopd != 4) || !modifiers(m, &dims) ||
	    !selectors(in, &dims))
		return decode_unknown(d, in);
	for (uint32_t i = 0; i + 1 < in->nopd; i++) {
		s[i] = source(d, &in->opd[i + 1]);
		if (s[i] == EMU_NO_ROW)
			return -1;
	}
	dst = in->opd[0];
	dst.ncomp = 0;
	row = decode_dest(d, &dst, EMU_K_U32, &fix);
	if (row == EMU_NO_ROW)
		return -1;
	op = decode_emit(d, EMU_C_ALU,
			 dims.vec > 1            ? emu_h_video_simd :
			 dims.sub == EMU_VID_MAD ? emu_h_vmad :
						   emu_h_video);
	if (!op)
		return -1;
	op->sub = dims.sub;
	op->boolop = dims.boolop;
	op->vec = dims.vec;
	op->type = dims.type;
	op->imm = dims.imm;
	op->d = row;
	memcpy(op->s, s, sizeof(s));
	memcpy(op->extra, dims.extra, sizeof(dims.extra));
	return decode_fix(d, row, EMU_K_U32, fix);
}
