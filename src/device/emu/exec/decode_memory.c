/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ld, st, atom, red, fences, prefetches, asynchronous copies. */
#define _GNU_SOURCE
#include <string.h>

#include "device/emu/exec/decode.h"

/*
 * Words for ordering, scope and caching that change nothing, as the host's memory model is
 * stronger.
 */
static const char *const hints[] = { "weak",
				     "relaxed",
				     "acquire",
				     "release",
				     "acq_rel",
				     "volatile",
				     "mmio",
				     "sc",
				     "cta",
				     "cluster",
				     "gpu",
				     "sys",
				     "ca",
				     "cg",
				     "cs",
				     "cv",
				     "lu",
				     "wb",
				     "wt",
				     "nc",
				     "L1::evict_normal",
				     "L1::evict_unchanged",
				     "L1::evict_first",
				     "L1::evict_last",
				     "L1::no_allocate",
				     "L2::evict_first",
				     "L2::evict_last",
				     "L2::evict_normal",
				     "L2::64B",
				     "L2::128B",
				     "L2::256B",
				     "L2::cache_hint",
				     "noftz",
				     NULL };

static enum emu_space space_of(const struct mods *m)
{
	if (!m->has_space)
		return EMU_S_GENERIC;
	switch (m->space) {
	case PTX_SPACE_SHARED:
		return EMU_S_SHARED;
	case PTX_SPACE_LOCAL:
		return EMU_S_LOCAL;
	case PTX_SPACE_PARAM:
		return EMU_S_PARAM;
	default:
		return EMU_S_GLOBAL;
	}
}

/* In a .func, parameters live in the local frame. */
static enum emu_space param_space(const struct decoder *d, enum emu_space space)
{
	return space == EMU_S_PARAM && d->func_index ? EMU_S_LOCAL : space;
}

static int vector(const struct ptx_operand *o, const struct ptx_operand **list, uint32_t *n)
{
	if (o->kind == PTX_OPD_VEC) {
		*list = o->sub;
		*n = o->nsub;
	} else {
		*list = o;
		*n = 1;
	}
	return *n > 4;
}

/* Vectors of eight as two of four. */
static int halves(struct decoder *d, const struct ptx_insn *in, const struct mods *m, int store,
		  int (*each)(struct decoder *, const struct ptx_insn *, struct mods *))
{
	const struct ptx_operand *list = &in->opd[store], *at = &in->opd[!store];

	if (in->nopd < 2 || m->ntype != 1 || list->kind != PTX_OPD_VEC || list->nsub != 8 ||
	    at->kind != PTX_OPD_ADDR)
		return decode_unknown(d, in);
	for (uint32_t k = 0; k < 2; k++) {
		struct ptx_operand opd[2];
		struct ptx_insn half = *in;
		struct mods four = *m;

		opd[store] = *list;
		opd[store].sub = list->sub + 4 * k;
		opd[store].nsub = 4;
		opd[!store] = *at;
		opd[!store].bits += k * 4 * decode_bits(m->type[0]) / 8;
		half.opd = opd;
		half.nopd = 2;
		four.vec = 4;
		if (each(d, &half, &four))
			return -1;
	}
	return 0;
}

/* An operation on memory at the address of `a` in that space; NULL: no memory. */
static struct emu_op *emit_at(struct decoder *d, emu_handler *fn, const struct emu_op *a,
			      enum emu_space space)
{
	struct emu_op *op = decode_emit(d, EMU_C_ALU, fn);

	if (!op)
		return NULL;
	op->s[0] = a->s[0];
	op->imm = a->imm;
	op->mode.flags = a->mode.flags;
	op->space = (uint8_t)space;
	return op;
}

static int load(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	enum ptx_type type = m->type[0], reg = PTX_T_NONE;
	enum emu_space space = param_space(d, space_of(m));
	int32_t rows[4] = { EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW };
	const struct ptx_operand *list;
	struct emu_op a = { 0 }, *op;
	uint32_t n, bits = 0;

	if (m->vec == 8)
		return halves(d, in, m, 0, load);
	decode_ignore(m, hints);
	if (m->ntoken || m->ntype != 1 || in->nopd < 2 || vector(&in->opd[0], &list, &n) ||
	    n != m->vec || decode_bits(type) == 128 || !decode_bits(type))
		return decode_unknown(d, in);
	for (uint32_t i = 0; i < n; i++) {
		if (list[i].kind == PTX_OPD_SINK)
			continue;
		rows[i] = decode_register(d, &list[i], &reg);
		if (rows[i] == EMU_NO_ROW || reg == PTX_T_PRED ||
		    (bits && bits != decode_bits(reg)))
			return decode_fail(d, "destination of %.*s", (int)in->opcode.len,
					   in->opcode.s);
		bits = decode_bits(reg);
	}
	if (decode_address(d, &in->opd[1], &space, &a))
		return -1;
	op = emit_at(d, emu_h_ld, &a, space);
	if (!op)
		return -1;
	op->size = (uint8_t)(decode_bits(type) / 8);
	op->vec = (uint8_t)n;
	op->is_signed = (uint8_t)ptx_is_signed(type);
	op->wide = bits == 64;
	op->boolop = (uint8_t)(bits < 32 ? 16 : 32);
	op->d = rows[0];
	memcpy(op->extra, rows + 1, 3 * sizeof(rows[0]));
	if (space == EMU_S_PARAM && (a.mode.flags & EMU_F_NOBASE)) {
		if (a.imm < 0 || (uint64_t)a.imm + op->size * n > d->program->params.bytes)
			return decode_fail(d, "parameter out of bounds");
		op->fn = emu_h_ld_param;
	} else if ((space == EMU_S_GLOBAL || space == EMU_S_GENERIC) &&
		   (a.mode.flags & EMU_F_ADDR64) && n == 1 && op->size == 4 && bits == 32) {
		op->fn = emu_h_ld_fast32;
	}
	return 0;
}

static int store(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	enum ptx_type type = m->type[0], reg;
	enum emu_space space = param_space(d, space_of(m));
	int32_t rows[4] = { EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW, EMU_NO_ROW };
	const struct ptx_operand *list;
	struct emu_op a = { 0 }, *op;
	int wide;
	uint32_t n;

	if (m->vec == 8)
		return halves(d, in, m, 1, store);
	decode_ignore(m, hints);
	if (m->ntoken || m->ntype != 1 || in->nopd < 2 || vector(&in->opd[1], &list, &n) ||
	    n != m->vec || decode_bits(type) == 128 || !decode_bits(type))
		return decode_unknown(d, in);
	/* the value is read at the type's width, or at the registers' if they are all wider */
	wide = decode_bits(type) == 64;
	if (n == 1 && decode_register(d, &list[0], &reg) != EMU_NO_ROW && decode_bits(reg) == 64)
		wide = 1;
	for (uint32_t i = 0; i < n; i++) {
		rows[i] = decode_source(d, &list[i], wide ? EMU_K_U64 : EMU_K_U32, type);
		if (rows[i] == EMU_NO_ROW)
			return -1;
	}
	if (space == EMU_S_PARAM)
		space = EMU_S_LOCAL;
	if (decode_address(d, &in->opd[0], &space, &a))
		return -1;
	op = emit_at(d, emu_h_st, &a, space);
	if (!op)
		return -1;
	op->size = (uint8_t)(decode_bits(type) / 8);
	op->vec = (uint8_t)n;
	op->wide = (uint8_t)wide;
	op->s[1] = rows[0];
	memcpy(op->extra, rows + 1, 3 * sizeof(rows[0]));
	if ((space == EMU_S_GLOBAL || space == EMU_S_GENERIC) && (a.mode.flags & EMU_F_ADDR64) &&
	    n == 1 && op->size == 4 && !wide)
		op->fn = emu_h_st_fast32;
	return 0;
}

/* One element of an atomic: k of the vectors, if it has them. */
static int atomic_element(struct decoder *d, const struct ptx_insn *in, const struct mods *m,
			  int red, int sub, uint32_t k)
{
	const struct ptx_operand *opd = in->opd + (red ? 0 : 1), *value = &opd[1],
				 *to = red ? NULL : &in->opd[0];
	enum emu_kind kind = decode_bits(m->type[0]) == 64 ? EMU_K_U64 : EMU_K_U32;
	enum emu_space space = space_of(m);
	struct emu_op a = { 0 }, *op;
	int32_t dst = EMU_NO_ROW, fix = EMU_NO_ROW, b, c = EMU_NO_ROW;

	if (m->vec > 1) {
		if (value->kind != PTX_OPD_VEC || value->nsub != m->vec ||
		    (to && (to->kind != PTX_OPD_VEC || to->nsub != m->vec)))
			return decode_unknown(d, in);
		value = &value->sub[k];
		to = to ? &to->sub[k] : NULL;
	}
	b = decode_source(d, value, kind, m->type[0]);
	if (b == EMU_NO_ROW)
		return -1;
	if (sub == EMU_A_CAS) {
		c = decode_source(d, &opd[2], kind, m->type[0]);
		if (c == EMU_NO_ROW)
			return -1;
	}
	if (to && to->kind != PTX_OPD_SINK) {
		dst = decode_dest(d, to, kind, &fix);
		if (dst == EMU_NO_ROW)
			return -1;
	}
	if (decode_address(d, &opd[0], &space, &a))
		return -1;
	op = emit_at(d, emu_h_atom, &a, space);
	if (!op)
		return -1;
	op->size = (uint8_t)(decode_bits(m->type[0]) / 8);
	op->imm += (int64_t)k * op->size;
	op->type = (uint8_t)m->type[0];
	op->wide = kind == EMU_K_U64;
	op->sub = (uint8_t)sub;
	op->s[1] = b;
	op->s[2] = c;
	op->d = dst;
	return decode_fix(d, dst, kind, fix);
}

/* A .b128 register; EMU_NO_ROW: it is none. */
static int32_t register128(struct decoder *d, const struct ptx_operand *o)
{
	enum ptx_type type = PTX_T_NONE;
	int32_t row = decode_register(d, o, &type);

	return type == PTX_T_B128 ? row : EMU_NO_ROW;
}

/* atom.exch.b128 and atom.cas.b128 */
static int atomic128(struct decoder *d, const struct ptx_insn *in, const struct mods *m, int sub)
{
	enum emu_space space = space_of(m);
	struct emu_op a = { 0 }, *op;
	int32_t dst, b, c = EMU_NO_ROW;

	if (m->base[0] != 'a' || (sub != EMU_A_CAS && sub != EMU_A_EXCH) ||
	    in->nopd != (sub == EMU_A_CAS ? 4u : 3u))
		return decode_unknown(d, in);
	dst = register128(d, &in->opd[0]);
	b = register128(d, &in->opd[2]);
	if (sub == EMU_A_CAS)
		c = register128(d, &in->opd[3]);
	if (dst == EMU_NO_ROW || b == EMU_NO_ROW || (sub == EMU_A_CAS && c == EMU_NO_ROW))
		return decode_fail(d, "operands of %.*s", (int)in->opcode.len, in->opcode.s);
	if (decode_address(d, &in->opd[1], &space, &a))
		return -1;
	op = emit_at(d, emu_h_atom128, &a, space);
	if (!op)
		return -1;
	op->s[1] = b;
	op->s[2] = c;
	op->d = dst;
	op->sub = (uint8_t)sub;
	return 0;
}

static int atomic(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	static const struct {
		const char *name;
		enum emu_atom op;
	} ops[] = {
		{ "add", EMU_A_ADD },   { "and", EMU_A_AND }, { "or", EMU_A_OR },
		{ "xor", EMU_A_XOR },   { "min", EMU_A_MIN }, { "max", EMU_A_MAX },
		{ "exch", EMU_A_EXCH }, { "cas", EMU_A_CAS }, { "inc", EMU_A_INC },
		{ "dec", EMU_A_DEC },
	};
	int red = strcmp(m->base, "red") == 0, sub = -1;
	uint32_t left = in->nopd - (red ? 0 : 1);

	decode_ignore(m, hints);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (decode_has(m, ops[i].name))
			sub = (int)ops[i].op;
	if (m->ntoken || sub < 0 || m->ntype != 1 || in->nopd < (red ? 2u : 3u) ||
	    (sub == EMU_A_CAS && left < 3) || (m->vec > 1 && !decode_is_float(m->type[0])))
		return decode_unknown(d, in);
	if (decode_bits(m->type[0]) == 128)
		return atomic128(d, in, m, sub);
	for (uint32_t k = 0; k < m->vec; k++)
		if (atomic_element(d, in, m, red, sub, k))
			return -1;
	return 0;
}

/* ld.b128, st.b128: as two halves of 8 bytes. */
static int move128(struct decoder *d, const struct ptx_insn *in, struct mods *m, int store)
{
	enum emu_space space = param_space(d, space_of(m));
	struct emu_op a = { 0 }, *op;
	int32_t row;

	decode_ignore(m, hints);
	if (m->ntoken || m->vec != 1 || in->nopd < 2)
		return decode_unknown(d, in);
	row = register128(d, &in->opd[store]);
	if (row == EMU_NO_ROW)
		return decode_fail(d, "operand of %.*s", (int)in->opcode.len, in->opcode.s);
	if (store && space == EMU_S_PARAM)
		space = EMU_S_LOCAL;
	if (decode_address(d, &in->opd[!store], &space, &a))
		return -1;
	op = emit_at(d, store ? emu_h_st : emu_h_ld, &a, space);
	if (!op)
		return -1;
	op->size = 8;
	op->vec = 2;
	op->wide = 1;
	if (store)
		op->s[1] = row;
	else
		op->d = row;
	op->extra[0] = row + 256;
	return 0;
}

/* How much of the source cp.async reads: src-size, or nothing where the predicate ignore-src is
 * true.  EMU_NO_ROW: failed. */
static int32_t copied_bytes(struct decoder *d, const struct ptx_operand *o, uint64_t size)
{
	enum ptx_type type = PTX_T_NONE;
	struct ptx_operand plain = *o;
	int32_t p, row, rows[2];
	struct emu_op *op;
	int negated;

	plain.negated = 0;
	decode_register(d, &plain, &type);
	if (type != PTX_T_PRED)
		return decode_source(d, o, EMU_K_U32, PTX_T_U32);
	p = decode_predicate(d, o, &negated);
	rows[0] = decode_constant(d, negated ? size : 0, 0);
	rows[1] = decode_constant(d, negated ? 0 : size, 0);
	row = decode_temp(d);
	if (p == EMU_NO_ROW || rows[0] == EMU_NO_ROW || rows[1] == EMU_NO_ROW || row == EMU_NO_ROW)
		return EMU_NO_ROW;
	op = decode_emit(d, EMU_C_ALU, decode_handler("selp", PTX_T_B32));
	if (!op)
		return EMU_NO_ROW;
	op->s[0] = rows[0];
	op->s[1] = rows[1];
	op->s[2] = p;
	op->d = row;
	return row;
}

/* cp.async.ca|cg.shared.global [dst], [src], size{, src-size}; and its group bookkeeping, which has
 * nothing to wait for. */
static int copy_async(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	enum emu_space space = EMU_S_SHARED, from = EMU_S_GLOBAL;
	struct emu_op a = { 0 }, b = { 0 }, *op;
	int32_t n = EMU_NO_ROW, base;
	uint32_t left = in->nopd;

	if (!decode_has(m, "async"))
		return decode_unknown(d, in);
	if (decode_has(m, "bulk"))
		return decode_bulk(d, in, m);
	if (decode_has(m, "mbarrier"))
		return decode_copy_arrive(d, in, m);
	if (decode_has(m, "commit_group") || decode_has(m, "wait_group") ||
	    decode_has(m, "wait_all"))
		return m->ntoken                            ? decode_unknown(d, in) :
		       decode_emit(d, EMU_C_ALU, emu_h_nop) ? 0 :
							      -1;
	left -= decode_has(m, "L2::cache_hint") != 0; /* the policy comes last */
	decode_ignore(m, hints);
	decode_has(m, "global");
	if (m->ntoken || left < 3 || in->opd[2].kind != PTX_OPD_INT)
		return decode_unknown(d, in);
	if (left > 3) {
		n = copied_bytes(d, &in->opd[3], in->opd[2].bits);
		if (n == EMU_NO_ROW)
			return -1;
	}
	if (decode_address(d, &in->opd[1], &from, &b) || decode_address(d, &in->opd[0], &space, &a))
		return -1;
	base = b.s[0];
	if (base == EMU_NO_ROW || !(b.mode.flags & EMU_F_ADDR64) || b.imm < 0 ||
	    b.imm > UINT32_MAX) {
		base = EMU_NO_ROW;
		return decode_unknown(d, in);
	}
	if (a.s[0] == EMU_NO_ROW) {
		a.s[0] = decode_constant(d, 0, 0);
		a.mode.flags = 0;
	}
	op = emit_at(d, emu_h_cp_async, &a, EMU_S_SHARED);
	if (!op)
		return -1;
	op->s[1] = base;
	op->target = (uint32_t)b.imm;
	op->s[2] = n;
	op->size = (uint8_t)in->opd[2].bits;
	return 0;
}

int decode_memory(struct decoder *d, const struct ptx_insn *in, struct mods *m)
{
	static const char *const nothing[] = { "prefetch",   "prefetchu", "applypriority",
					       "discard",    "pmevent",   "griddepcontrol",
					       "setmaxnreg", NULL };
	static const char *const fences[] = { "membar", "fence", NULL };

	if ((strcmp(m->base, "ld") == 0 || strcmp(m->base, "st") == 0) && m->ntype == 1 &&
	    m->type[0] == PTX_T_B128)
		return move128(d, in, m, m->base[0] == 's');
	if (strcmp(m->base, "ld") == 0 || strcmp(m->base, "ldu") == 0)
		return load(d, in, m);
	if (strcmp(m->base, "st") == 0)
		return store(d, in, m);
	if (strcmp(m->base, "atom") == 0 || strcmp(m->base, "red") == 0)
		return atomic(d, in, m);
	if (strcmp(m->base, "cp") == 0)
		return copy_async(d, in, m);
	for (int i = 0; fences[i]; i++)
		if (strcmp(m->base, fences[i]) == 0)
			return decode_emit(d, EMU_C_ALU, emu_h_fence) ? 0 : -1;
	for (int i = 0; nothing[i]; i++)
		if (strcmp(m->base, nothing[i]) == 0)
			return decode_emit(d, EMU_C_ALU, emu_h_nop) ? 0 : -1;
	return 1;
}
