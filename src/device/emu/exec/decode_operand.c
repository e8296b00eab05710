/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operands to rows: registers, literals, special registers, addresses of symbols. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/decode.h"
#include "device/emu/exec/half.h"

/* Without the guard. */
static struct emu_op *emit_plain(struct decoder *d, emu_handler *fn)
{
	struct emu_program *p = d->program;
	struct emu_op *op;

	p->op = emu_grow(p->op, &d->room.op, p->nop + 1, sizeof(*p->op));
	if (!p->op)
		return NULL;
	op = &p->op[p->nop++];
	memset(op, 0, sizeof(*op));
	op->fn = fn;
	op->cls = EMU_C_ALU;
	op->guard = op->d = EMU_NO_ROW;
	op->vec = 1;
	for (int i = 0; i < 4; i++)
		op->s[i] = op->extra[i] = EMU_NO_ROW;
	op->line = d->line;
	return op;
}

struct emu_op *decode_emit(struct decoder *d, enum emu_class cls, emu_handler *fn)
{
	struct emu_op *op = emit_plain(d, fn);

	if (op) {
		op->cls = (uint8_t)cls;
		op->guard = d->guard;
		op->guard_negated = d->guard_negated;
	}
	return op;
}

int32_t decode_new_row(struct decoder *d, uint32_t bytes)
{
	uint32_t align = bytes >= 64 ? 64 : 4,
		 at = (d->func->frame_bytes + align - 1) & ~(align - 1);

	d->func->frame_bytes = at + bytes;
	return (int32_t)at;
}

int32_t decode_temp(struct decoder *d)
{
	if (d->ntemp == sizeof(d->temp) / sizeof(d->temp[0]))
		return decode_new_row(d, 256);
	if (d->temp[d->ntemp] == EMU_NO_ROW)
		d->temp[d->ntemp] = decode_new_row(d, 256);
	return d->temp[d->ntemp++];
}

uint32_t decode_rows(struct decoder *d, const int32_t *rows, uint32_t n)
{
	struct emu_program *p = d->program;
	uint32_t at = p->nrows;

	p->rows = emu_grow(p->rows, &d->room.rows, at + n, sizeof(*p->rows));
	if (!p->rows) {
		p->nrows = 0;
		return UINT32_MAX;
	}
	memcpy(p->rows + at, rows, n * sizeof(*rows));
	p->nrows += n;
	return at;
}

int32_t decode_constant(struct decoder *d, uint64_t bits, int wide)
{
	struct emu_program *p = d->program;
	uint32_t bytes = wide ? 256 : 128, at = p->constant_bytes;

	for (uint32_t i = 0; i < d->constants.nconstant; i++)
		if (d->constants.constant[i].bits == bits &&
		    d->constants.constant[i].wide == (uint32_t)wide)
			return d->constants.constant[i].row;
	p->constant = emu_grow(p->constant, &d->room.constant, at + bytes, 1);
	d->constants.constant =
		emu_grow(d->constants.constant, &d->constants.capconstant,
			 d->constants.nconstant + 1, sizeof(*d->constants.constant));
	if (!p->constant || !d->constants.constant)
		return EMU_NO_ROW;
	for (int i = 0; i < EMU_LANES; i++) {
		uint32_t low = (uint32_t)bits;

		if (wide)
			memcpy(p->constant + at + 8 * i, &bits, 8);
		else
			memcpy(p->constant + at + 4 * i, &low, 4);
	}
	p->constant_bytes += bytes;
	d->constants.constant[d->constants.nconstant].bits = bits;
	d->constants.constant[d->constants.nconstant].wide = (uint32_t)wide;
	d->constants.constant[d->constants.nconstant].row = ~(int32_t)at;
	return d->constants.constant[d->constants.nconstant++].row;
}

int decode_kind_wide(enum emu_kind kind)
{
	if (kind == EMU_K_PRED)
		return 2;
	return kind == EMU_K_U64 || kind == EMU_K_S64 || kind == EMU_K_F64;
}

enum emu_kind decode_type_kind(enum ptx_type t)
{
	if (t == PTX_T_PRED)
		return EMU_K_PRED;
	switch (decode_bits(t)) {
	case 64:
		return EMU_K_U64;
	case 16:
		return EMU_K_U16;
	default:
		return EMU_K_U32;
	}
}

static uint32_t row_bytes(enum ptx_type t)
{
	return t == PTX_T_PRED ? 4 : t == PTX_T_B128 ? 512 : decode_bits(t) == 64 ? 256 : 128;
}

int32_t decode_register(struct decoder *d, const struct ptx_operand *o, enum ptx_type *type)
{
	struct sym *s;
	int index;

	if (o->kind != PTX_OPD_REG && o->kind != PTX_OPD_SYM)
		return EMU_NO_ROW;
	s = decode_lookup(d, o->name, &index);
	if (!s || s->kind != SYM_REG)
		return EMU_NO_ROW;
	if (s->row[index] == EMU_NO_ROW)
		s->row[index] = decode_new_row(d, row_bytes(s->type));
	*type = s->type;
	return s->row[index];
}

/* Row `from` (wide or not) as the kind wants it. */
static int32_t adapt(struct decoder *d, int32_t from, int wide, enum emu_kind kind)
{
	int want = decode_kind_wide(kind);
	struct emu_op *op;

	if (want == wide)
		return from;
	if (want == 2 || wide == 2) {
		decode_fail(d, "a predicate and a value are mixed");
		return EMU_NO_ROW;
	}
	op = emit_plain(d, want ? emu_h_widen : emu_h_narrow);
	if (!op)
		return EMU_NO_ROW;
	op->s[0] = from;
	op->sub = kind == EMU_K_S64;
	return op->d = decode_temp(d);
}

static uint64_t literal(const struct ptx_operand *o, enum ptx_type type)
{
	double dv;
	float fv;
	uint64_t u;

	if (o->kind == PTX_OPD_INT)
		return o->bits;
	if (o->single) {
		fv = emu_float_of_bits((uint32_t)o->bits);
		dv = (double)fv;
	} else {
		memcpy(&dv, &o->bits, 8);
		fv = (float)dv;
	}
	switch (type) {
	case PTX_T_F64:
	case PTX_T_B64:
		memcpy(&u, &dv, 8);
		return u;
	case PTX_T_F16:
		return emu_half_of_double(dv);
	case PTX_T_BF16:
		return emu_bf16_of_float(fv);
	default:
		return o->single ? o->bits : emu_bits_of_float(fv);
	}
}

static const char *const sreg_names[] = {
#define S(id, name, wide, expr) name,
#include "device/emu/exec/sregs.def"
#undef S
};
static const uint8_t sreg_wide[] = {
#define S(id, name, wide, expr) wide,
#include "device/emu/exec/sregs.def"
#undef S
};

static int32_t special(struct decoder *d, const struct ptx_operand *o, enum emu_kind kind)
{
	char name[64];
	struct emu_op *op;

	snprintf(name, sizeof(name), "%.*s", (int)(o->name.len + o->ncomp), o->name.s);
	for (unsigned int i = 0; i < EMU_SR_COUNT; i++) {
		if (strcmp(name, sreg_names[i]) != 0)
			continue;
		op = emit_plain(d, emu_h_sreg);
		if (!op)
			return EMU_NO_ROW;
		op->sub = (uint8_t)i;
		op->d = decode_temp(d);
		return adapt(d, op->d, sreg_wide[i], kind);
	}
	decode_fail(d, "unknown special register %s", name);
	return EMU_NO_ROW;
}

/* The address of a variable or function. */
static int32_t symbol(struct decoder *d, const struct ptx_operand *o, enum emu_kind kind)
{
	int wide = decode_kind_wide(kind) == 1, index;
	struct sym *s = decode_lookup(d, o->name, &index);
	const struct shared_var *sv;
	enum ptx_space space;
	struct emu_op *op;
	uint64_t address;
	uint32_t fi;

	if (s && s->kind == SYM_LOCAL) {
		op = emit_plain(d, emu_h_frame_address);
		if (!op)
			return EMU_NO_ROW;
		op->imm = (int64_t)(s->value + o->bits);
		op->wide = (uint8_t)wide;
		return op->d = decode_temp(d);
	}
	if (s && (s->kind == SYM_SHARED || s->kind == SYM_KPARAM))
		return decode_constant(d, s->value + o->bits, wide);
	sv = decode_find_shared(d, o->name);
	if (sv)
		return decode_constant(d,
				       (sv->offset == UINT32_MAX ?
						d->program->needs.dynamic_align_base :
						sv->offset) +
					       o->bits,
				       wide);
	if (decode_find_func(d->module, o->name, &fi))
		return decode_constant(d, EMU_FUNC_BASE + fi, 1);
	if (!d->symbols->variable(d->symbols->user, o->name, &space, &address))
		return decode_constant(d, address + o->bits, wide);
	decode_fail(d, "unknown symbol %.*s", (int)o->name.len, o->name.s);
	return EMU_NO_ROW;
}

int32_t decode_source(struct decoder *d, const struct ptx_operand *o, enum emu_kind kind,
		      enum ptx_type type)
{
	enum ptx_type reg;
	uint64_t v;
	int32_t row;

	switch (o->kind) {
	case PTX_OPD_REG:
	case PTX_OPD_SYM:
		row = decode_register(d, o, &reg);
		if (row == EMU_NO_ROW)
			return symbol(d, o, kind);
		if (reg == PTX_T_B128) {
			decode_fail(d, "a register of 128 bits where none can be");
			return EMU_NO_ROW;
		}
		if (o->negated && reg == PTX_T_PRED) {
			struct emu_op *op = emit_plain(d, emu_h_not_mask);

			if (!op)
				return EMU_NO_ROW;
			op->s[0] = row;
			return op->d = decode_temp(d);
		}
		return adapt(d, row, reg == PTX_T_PRED ? 2 : decode_bits(reg) == 64, kind);
	case PTX_OPD_SREG:
		return special(d, o, kind);
	case PTX_OPD_INT:
	case PTX_OPD_FLOAT:
		v = literal(o, type);
		if (kind == EMU_K_PRED)
			return decode_constant(d, v ? EMU_FULL : 0, 0);
		if (kind == EMU_K_U16 || kind == EMU_K_S16 || kind == EMU_K_F16 ||
		    kind == EMU_K_BF16)
			v &= 0xffff;
		return decode_constant(d, decode_kind_wide(kind) ? v : (uint32_t)v,
				       decode_kind_wide(kind) == 1);
	default:
		decode_fail(d, "operand that this instruction does not take");
		return EMU_NO_ROW;
	}
}

int32_t decode_dest(struct decoder *d, const struct ptx_operand *o, enum emu_kind kind,
		    int32_t *fix)
{
	enum ptx_type type;
	int32_t row;

	*fix = EMU_NO_ROW;
	if (o->kind == PTX_OPD_SINK)
		return decode_temp(d);
	row = decode_register(d, o, &type);
	if (row == EMU_NO_ROW) {
		decode_fail(d, "unknown register %.*s", (int)o->name.len, o->name.s);
		return EMU_NO_ROW;
	}
	if ((type == PTX_T_PRED) != (kind == EMU_K_PRED) || type == PTX_T_B128) {
		decode_fail(d, "a predicate and a value are mixed");
		return EMU_NO_ROW;
	}
	if (type == PTX_T_PRED || (decode_bits(type) == 64) == decode_kind_wide(kind))
		return row;
	*fix = row;
	return decode_temp(d);
}

int decode_fix(struct decoder *d, int32_t row, enum emu_kind kind, int32_t fix)
{
	struct emu_op *op;

	if (fix == EMU_NO_ROW)
		return 0;
	op = decode_emit(d, EMU_C_ALU, decode_kind_wide(kind) ? emu_h_narrow : emu_h_widen);
	if (!op)
		return -1;
	op->s[0] = row;
	op->d = fix;
	op->sub = kind == EMU_K_S32 || kind == EMU_K_S16;
	return 0;
}

int32_t decode_predicate(struct decoder *d, const struct ptx_operand *o, int *negated)
{
	struct ptx_operand plain = *o;

	*negated = o->negated;
	plain.negated = 0;
	return decode_source(d, &plain, EMU_K_PRED, PTX_T_PRED);
}

int decode_address(struct decoder *d, const struct ptx_operand *o, enum emu_space *space,
		   struct emu_op *out)
{
	const struct ptx_operand *base = o->kind == PTX_OPD_ADDR && o->nsub ? &o->sub[0] : o;
	int64_t off = o->kind == PTX_OPD_ADDR ? (int64_t)o->bits : 0;
	const struct shared_var *sv;
	enum ptx_type type;
	enum ptx_space vs;
	uint64_t address;
	struct sym *s;
	int32_t row;
	int index;

	out->s[0] = EMU_NO_ROW;
	out->mode.flags = 0;
	if (base->kind == PTX_OPD_INT) {
		out->imm = off + (int64_t)base->bits;
		out->mode.flags = EMU_F_NOBASE;
		return 0;
	}
	row = decode_register(d, base, &type);
	if (row != EMU_NO_ROW) {
		out->s[0] = row;
		out->imm = off;
		out->mode.flags = decode_bits(type) == 64 ? EMU_F_ADDR64 : 0;
		return 0;
	}
	off += (int64_t)base->bits;
	out->imm = off;
	s = decode_lookup(d, base->name, &index);
	if (s && s->kind == SYM_LOCAL) {
		out->imm += (int64_t)s->value;
		out->mode.flags = EMU_F_FRAME;
		*space = EMU_S_LOCAL;
		return 0;
	}
	out->mode.flags = EMU_F_NOBASE;
	if (s && s->kind == SYM_KPARAM) {
		out->imm += (int64_t)s->value;
		*space = EMU_S_PARAM;
		return 0;
	}
	if (s && s->kind == SYM_SHARED) {
		out->imm += (int64_t)s->value;
		*space = EMU_S_SHARED;
		return 0;
	}
	sv = decode_find_shared(d, base->name);
	if (sv) {
		out->imm += sv->offset == UINT32_MAX ? d->program->needs.dynamic_align_base :
						       sv->offset;
		*space = EMU_S_SHARED;
		return 0;
	}
	if (!d->symbols->variable(d->symbols->user, base->name, &vs, &address)) {
		out->imm += (int64_t)address;
		*space = EMU_S_GLOBAL;
		return 0;
	}
	return decode_fail(d, "unknown symbol %.*s", (int)base->name.len, base->name.s);
}
