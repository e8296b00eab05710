/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Levels of registers, one instruction at a time; see level.h. */
#define _GNU_SOURCE
#include "device/ptx/level.h"
#include "device/ptx/opcode.h"

#include <stdlib.h>
#include <string.h>

uint32_t ptx_level_reg(const struct ptx_levels *l, struct ptx_slice name, uint16_t scope)
{
	return ptx_symtab_get_tagged(&l->names, name, scope);
}

/* The same of an operand, which keeps it: names are hashed once, in number_operand(). */
static uint32_t number_of(const struct ptx_operand *o)
{
	return (uint32_t)o->bits;
}

static enum ptx_level higher(enum ptx_level a, enum ptx_level b)
{
	return a > b ? a : b;
}

static enum ptx_level level_of_special(const struct ptx_operand *o)
{
	static const char *const same[] = {
		"%ctaid", "%nctaid", "%ntid", "%smid", "%nsmid", "%nwarpid", "%dynamic_smem_size",
	};

	if (ptx_is(o->name, "%tid") && ptx_is(ptx_comp(o), ".x"))
		return PTX_LEVEL_TID_X;
	if (ptx_is(o->name, "%warpid"))
		return PTX_LEVEL_WARP;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (ptx_is(o->name, same[i]))
			return PTX_LEVEL_BLOCK;
	return PTX_LEVEL_THREAD;
}

/*
 * The address of a .local variable is one number in all threads, but not
 * what is there.  A function's parameters are whatever its callers pass.
 */
static enum ptx_level level_of_symbol(const struct ptx_levels *l, struct ptx_slice name)
{
	return ptx_symtab_get(&l->locals, name) == PTX_SYM_NONE ? PTX_LEVEL_BLOCK :
								  PTX_LEVEL_THREAD;
}

static enum ptx_level level_of(const struct ptx_levels *l, const struct ptx_operand *o)
{
	enum ptx_level level = PTX_LEVEL_BLOCK;
	uint32_t id;

	switch (o->kind) {
	case PTX_OPD_REG:
		id = number_of(o);
		return id < l->nreg ? (enum ptx_level)l->reg[id] : PTX_LEVEL_THREAD;
	case PTX_OPD_SREG:
		return level_of_special(o);
	case PTX_OPD_SYM:
		return level_of_symbol(l, o->name);
	default:
		for (uint32_t i = 0; i < o->nsub; i++)
			level = higher(level, level_of(l, &o->sub[i]));
		return level;
	}
}

/* Is the operand a constant, or a register that only ever holds one? */
static int constant_of(const struct ptx_levels *l, const struct ptx_operand *o, uint64_t *value)
{
	const struct ptx_insn *by;
	uint32_t id;

	if (o->kind == PTX_OPD_REG) {
		id = number_of(o);
		if (id >= l->nreg || l->def[id] == PTX_BLOCK_NONE)
			return 0;
		by = &l->f->stmt[l->def[id]].insn;
		if (by->guard.len || by->nopd != 2 || by->opd[0].kind != PTX_OPD_REG ||
		    !ptx_starts(by->opcode, "mov."))
			return 0;
		o = &by->opd[1];
	}
	*value = o->bits;
	return o->kind == PTX_OPD_INT;
}

/* Are these constants the edge between two warps for this comparison with %tid.x? */
static int splits_at_warp(struct ptx_slice opcode, uint64_t constant)
{
	static const char *const below[] = { ".lt", ".lo", ".ge", ".hs" };
	static const char *const upto[] = { ".gt", ".hi", ".le", ".ls" };

	for (unsigned i = 0; i < 4; i++) {
		if (ptx_has_modifier(opcode, below[i]))
			return constant % 32 == 0;
		if (ptx_has_modifier(opcode, upto[i]))
			return constant % 32 == 31;
	}
	return 0;
}

/* setp.lt tid.x, 64; shr tid.x, 5; and tid.x, ~31: the same in a warp, for rows of whole warps. */
static int warp_rule(const struct ptx_levels *l, const struct ptx_insn *insn, enum ptx_op op)
{
	uint64_t b;

	if (insn->nopd != 3 || level_of(l, &insn->opd[1]) != PTX_LEVEL_TID_X ||
	    !constant_of(l, &insn->opd[2], &b))
		return 0;
	if (op == PTX_OP_SETP)
		return splits_at_warp(insn->opcode, b);
	if (op == PTX_OP_SHR)
		return b >= 5;
	return ptx_starts(insn->opcode, "and.") && (b & 31) == 0;
}

/* shfl.sync.idx of a constant lane over the whole warp gives every lane the same. */
static int is_broadcast(const struct ptx_levels *l, const struct ptx_insn *insn)
{
	uint64_t clamp;

	return ptx_has_modifier(insn->opcode, ".idx") && insn->nopd >= 4 &&
	       level_of(l, &insn->opd[2]) <= PTX_LEVEL_WARP &&
	       constant_of(l, &insn->opd[3], &clamp) && clamp == 31;
}

/* Votes, matches and reductions agree among those that the mask names: half a warp may be asked at
 * a time. */
static int is_of_warp(const struct ptx_levels *l, const struct ptx_insn *insn)
{
	uint64_t mask;

	if (ptx_starts(insn->opcode, "activemask") || ptx_starts(insn->opcode, "match.any"))
		return 0;
	if (!ptx_has_modifier(insn->opcode, ".sync")) /* of old ISAs: the whole warp */
		return 1;
	return insn->nopd && constant_of(l, &insn->opd[insn->nopd - 1], &mask) &&
	       (uint32_t)mask == UINT32_MAX;
}

static enum ptx_level level_of_sources(const struct ptx_levels *l, const struct ptx_insn *insn)
{
	enum ptx_level level = PTX_LEVEL_BLOCK;

	for (uint32_t i = 1; i < insn->nopd; i++)
		level = higher(level, level_of(l, &insn->opd[i]));
	return level;
}

/* A weak load of one address gives all threads one value: a race would be undefined (PTX ISA,
 * "Memory Consistency Model"); a strong load may differ, and .local is each thread's own. */
static enum ptx_level level_of_load(const struct ptx_levels *l, const struct ptx_insn *insn)
{
	static const char *const differ[] = { ".volatile", ".relaxed", ".acquire", ".mmio",
					      ".local" };

	for (size_t i = 0; i < sizeof(differ) / sizeof(differ[0]); i++)
		if (ptx_has_modifier(insn->opcode, differ[i]))
			return PTX_LEVEL_THREAD;
	return level_of_sources(l, insn);
}

static enum ptx_level result_level(struct ptx_levels *l, const struct ptx_insn *insn)
{
	enum ptx_op op = (enum ptx_op)insn->op;
	enum ptx_level level;

	switch (op) {
	case PTX_OP_LD:
		level = level_of_load(l, insn);
		break;
	case PTX_OP_COPY:
		return level_of_sources(l, insn);
	case PTX_OP_BAR:
		return PTX_LEVEL_BLOCK; /* a reduction over the block */
	case PTX_OP_SHFL:
		return is_broadcast(l, insn) ? PTX_LEVEL_WARP : PTX_LEVEL_THREAD;
	case PTX_OP_VOTE:
	case PTX_OP_MATCH:
	case PTX_OP_REDUX:
		return is_of_warp(l, insn) ? PTX_LEVEL_WARP : PTX_LEVEL_THREAD;
	case PTX_OP_ATOM:
	case PTX_OP_ELECT:
	case PTX_OP_MATRIX:
	case PTX_OP_CALL:
		return PTX_LEVEL_THREAD;
	default:
		if (warp_rule(l, insn, op)) {
			l->used_tid_x = 1;
			return PTX_LEVEL_WARP;
		}
		level = level_of_sources(l, insn);
		break;
	}
	return level == PTX_LEVEL_TID_X ? PTX_LEVEL_THREAD : level;
}

static int raise_operand(struct ptx_levels *l, const struct ptx_operand *o, enum ptx_level level)
{
	int rose = 0;

	if (o->kind == PTX_OPD_REG) {
		uint32_t id = number_of(o);

		if (id < l->nreg && l->reg[id] < level) {
			l->reg[id] = (uint8_t)level;
			return 1;
		}
		return 0;
	}
	if (o->kind != PTX_OPD_ADDR)
		for (uint32_t i = 0; i < o->nsub; i++)
			rose |= raise_operand(l, &o->sub[i], level);
	return rose;
}

static enum ptx_level level_of_guard(const struct ptx_levels *l, const struct ptx_insn *insn)
{
	uint32_t id;

	if (!insn->guard.len)
		return PTX_LEVEL_BLOCK;
	id = ptx_level_reg(l, insn->guard, insn->guard_scope);
	return id < l->nreg ? (enum ptx_level)l->reg[id] : PTX_LEVEL_THREAD;
}

int ptx_level_step(struct ptx_levels *l, uint32_t i)
{
	const struct ptx_insn *insn = &l->f->stmt[i].insn;
	enum ptx_level level;

	if (l->f->stmt[i].kind != PTX_STMT_INSN || !insn->nopd || insn->opd[0].kind == PTX_OPD_ADDR)
		return 0;
	level = higher(result_level(l, insn), level_of_guard(l, insn));
	level = higher(level, (enum ptx_level)l->block[l->cfg->block_of[i]]);
	return raise_operand(l, &insn->opd[0], level);
}

enum ptx_level ptx_level_of_branch(const struct ptx_levels *l, uint32_t i)
{
	const struct ptx_insn *insn = &l->f->stmt[i].insn;
	enum ptx_level level = level_of_guard(l, insn);

	if (insn->op == PTX_OP_BRX && insn->nopd)
		level = higher(level, level_of(l, &insn->opd[0]));
	return level == PTX_LEVEL_TID_X ? PTX_LEVEL_THREAD : level;
}

static int number_operand(struct ptx_levels *l, const struct ptx_operand *o)
{
	if (o->kind == PTX_OPD_REG) {
		uint32_t id = ptx_symtab_put_tagged(&l->names, o->name, o->scope);

		if (id == PTX_SYM_NONE)
			return -1;
		((struct ptx_operand *)(uintptr_t)o)->bits =
			id; /* a note on the node, which is the arena's */
	}
	for (uint32_t i = 0; i < o->nsub; i++)
		if (number_operand(l, &o->sub[i]) < 0)
			return -1;
	return 0;
}

static int note_private(struct ptx_levels *l, const struct ptx_var *v)
{
	if (v->space != PTX_SPACE_LOCAL && v->space != PTX_SPACE_PARAM)
		return 0;
	return ptx_symtab_put(&l->locals, v->name) == PTX_SYM_NONE ? -1 : 0;
}

static int number_params(struct ptx_levels *l)
{
	for (uint32_t i = 0; !l->f->is_entry && i < l->f->nparam; i++)
		if (note_private(l, &l->f->param[i]) < 0)
			return -1;
	for (uint32_t i = 0; i < l->a->module->nvar; i++)
		if (l->a->module->var[i].space == PTX_SPACE_LOCAL &&
		    note_private(l, &l->a->module->var[i]) < 0)
			return -1;
	return 0;
}

static int number_registers(struct ptx_levels *l)
{
	for (uint32_t i = 0; i < l->f->nstmt; i++) {
		const struct ptx_stmt *s = &l->f->stmt[i];

		for (uint32_t k = 0; s->kind == PTX_STMT_DECL && k < s->decl.n; k++)
			if (note_private(l, &s->decl.var[k]) < 0)
				return -1;
		for (uint32_t k = 0; s->kind == PTX_STMT_INSN && k < s->insn.nopd; k++)
			if (number_operand(l, &s->insn.opd[k]) < 0)
				return -1;
	}
	return 0;
}

static void note_def(struct ptx_levels *l, const struct ptx_operand *o, uint32_t i, uint8_t *seen)
{
	uint32_t id;

	if (o->kind == PTX_OPD_REG) {
		id = number_of(o);
		l->def[id] = seen[id] ? PTX_BLOCK_NONE : i;
		seen[id] = 1;
	}
	for (uint32_t k = 0; o->kind != PTX_OPD_ADDR && k < o->nsub; k++)
		note_def(l, &o->sub[k], i, seen);
}

static int note_defs(struct ptx_levels *l)
{
	uint8_t *seen = calloc(l->nreg + 1, 1);

	if (!seen)
		return -1;
	for (uint32_t i = 0; i < l->nreg; i++)
		l->def[i] = PTX_BLOCK_NONE;
	for (uint32_t i = 0; i < l->f->nstmt; i++)
		if (l->f->stmt[i].kind == PTX_STMT_INSN && l->f->stmt[i].insn.nopd)
			note_def(l, &l->f->stmt[i].insn.opd[0], i, seen);
	free(seen);
	return 0;
}

int ptx_levels_init(struct ptx_levels *l, const struct ptx_analysis *a, const struct ptx_func *f,
		    const struct ptx_cfg *cfg)
{
	memset(l, 0, sizeof(*l));
	l->a = a;
	l->f = f;
	l->cfg = cfg;
	if (number_params(l) < 0 || number_registers(l) < 0)
		return -1;
	l->nreg = l->names.n;
	l->reg = calloc(l->nreg + 1, 1);
	l->def = malloc((l->nreg + 1) * sizeof(*l->def));
	l->block = calloc(cfg->nblock, 1);
	if (!l->reg || !l->def || !l->block)
		return -1;
	for (uint32_t i = 0; !f->is_entry && i < f->nparam; i++) {
		uint32_t id = ptx_level_reg(l, f->param[i].name, 0);

		if (id < l->nreg)
			l->reg[id] = PTX_LEVEL_THREAD;
	}
	return note_defs(l);
}

void ptx_levels_free(struct ptx_levels *l)
{
	ptx_symtab_free(&l->names);
	ptx_symtab_free(&l->locals);
	free(l->reg);
	free(l->def);
	free(l->block);
	memset(l, 0, sizeof(*l));
}
