/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where threads may part: a branch whose condition differs between threads
 * parts them until its immediate post-dominator.  A barrier in between may
 * be missed by those who took the other arm and left.
 */
#define _GNU_SOURCE
#include "device/ptx/uniform.h"
#include "device/ptx/level.h"
#include "device/ptx/opcode.h"

#include <stdlib.h>
#include <string.h>

#define PASSES_MAX 64

struct walk {
	struct ptx_levels l;
	struct ptx_cfg cfg;
	uint32_t *stamp; /* by block: the last branch in whose arms it was */
	uint32_t *stack;
	uint32_t mark, ninside; /* blocks of the current walk: stack[0, ninside) */
	uint64_t budget;        /* blocks that may still be visited */
};

/* The blocks between block i's branch and where its arms meet, into stack[]; -1: out of budget. */
static int walk_arms(struct walk *w, uint32_t i)
{
	uint32_t stop = w->cfg.block[i].ipdom, todo = 0;

	w->mark++;
	w->ninside = 0;
	do {
		const struct ptx_block *b = &w->cfg.block[w->ninside ? w->stack[todo - 1] : i];

		for (uint32_t e = b->succ; e < b->succ + b->nsucc; e++) {
			uint32_t s = w->cfg.edge[e];

			if (s == stop || s == w->cfg.exit_block || w->stamp[s] == w->mark)
				continue;
			w->stamp[s] = w->mark;
			w->stack[w->ninside++] = s;
		}
		if (w->budget < b->nsucc + 1)
			return -1;
		w->budget -= b->nsucc + 1;
		if (todo == w->ninside)
			break;
		todo++;
	} while (1);
	return 0;
}

/* Blocks in the arms of a branch inherit its level; 1 if one rose. */
static int mark_arms(struct walk *w, uint32_t i, enum ptx_level level)
{
	int rose = 0;

	if (walk_arms(w, i) < 0)
		return -1;
	for (uint32_t k = 0; k < w->ninside; k++)
		if (w->l.block[w->stack[k]] < level) {
			w->l.block[w->stack[k]] = (uint8_t)level;
			rose = 1;
		}
	return rose;
}

static int mark_branches(struct walk *w, uint8_t *done)
{
	int rose = 0;

	for (uint32_t i = 0; i < w->cfg.nblock; i++) {
		enum ptx_level level;
		int rc;

		if (w->cfg.block[i].branch == PTX_BLOCK_NONE)
			continue;
		level = ptx_level_of_branch(&w->l, w->cfg.block[i].branch);
		if (level <= (enum ptx_level)done[i])
			continue;
		done[i] = (uint8_t)level;
		rc = mark_arms(w, i, level);
		if (rc < 0)
			return -1;
		rose |= rc;
	}
	return rose;
}

static int find_levels(struct walk *w)
{
	uint8_t *done = calloc(w->cfg.nblock, 1);
	int rose = 1;

	if (!done)
		return -1;
	for (unsigned pass = 0; rose > 0; pass++) {
		rose = pass == PASSES_MAX ? -1 : 0;
		for (uint32_t i = 0; rose >= 0 && i < w->l.f->nstmt; i++)
			rose |= ptx_level_step(&w->l, i);
		if (rose >= 0) {
			int rc = mark_branches(w, done);

			rose = rc < 0 ? -1 : rose | rc;
		}
	}
	free(done);
	return rose;
}

/* The member mask of a warp-wide instruction; NULL: it names no lanes. */
static const struct ptx_operand *member_mask(const struct ptx_insn *insn)
{
	enum ptx_op op = (enum ptx_op)insn->op;

	if (!insn->nopd)
		return NULL;
	switch (op) {
	case PTX_OP_SHFL:
	case PTX_OP_VOTE:
	case PTX_OP_MATCH:
	case PTX_OP_REDUX:
	case PTX_OP_ELECT:
		return ptx_has_modifier(insn->opcode, ".sync") ? &insn->opd[insn->nopd - 1] : NULL;
	case PTX_OP_BAR:
		return ptx_has_modifier(insn->opcode, ".warp") ? &insn->opd[insn->nopd - 1] : NULL;
	default:
		return NULL;
	}
}

static const struct ptx_insn *only_def(const struct walk *w, struct ptx_slice name, uint16_t scope)
{
	uint32_t id = ptx_level_reg(&w->l, name, scope);

	if (id >= w->l.nreg || w->l.def[id] == PTX_BLOCK_NONE)
		return NULL;
	return &w->l.f->stmt[w->l.def[id]].insn;
}

/* The same value wherever it is read: a constant, or a register written once. */
static int same_value(const struct walk *w, const struct ptx_operand *a,
		      const struct ptx_operand *b)
{
	if (a->kind == PTX_OPD_INT && b->kind == PTX_OPD_INT)
		return a->bits == b->bits;
	return a->kind == PTX_OPD_REG && b->kind == PTX_OPD_REG && a->scope == b->scope &&
	       ptx_same(a->name, b->name) && only_def(w, a->name, a->scope);
}

/* setp.lt.s32 against setp.ge.s32: one holds where the other does not. */
static int are_opposite(struct ptx_slice a, struct ptx_slice b)
{
	static const char *const pairs[][2] = {
		{ "lt", "ge" }, { "le", "gt" }, { "eq", "ne" }, { "lo", "hs" }, { "ls", "hi" },
	};

	if (a.len != b.len || a.len < 8 || memcmp(a.s, "setp.", 5) != 0 ||
	    memcmp(a.s + 7, b.s + 7, a.len - 7) != 0 || a.s[8] == 'f')
		return 0;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (unsigned k = 0; k < 2; k++)
			if (memcmp(a.s + 5, pairs[i][k], 2) == 0 &&
			    memcmp(b.s + 5, pairs[i][1 - k], 2) == 0)
				return 1;
	return 0;
}

/* Do the operand and the branch's guard stand for one condition, or for it and its opposite? */
static int same_condition(const struct walk *w, const struct ptx_operand *a,
			  const struct ptx_insn *branch)
{
	const struct ptx_insn *x = only_def(w, a->name, a->scope);
	const struct ptx_insn *y = only_def(w, branch->guard, branch->guard_scope);

	if (ptx_same(a->name, branch->guard) && a->scope == branch->guard_scope)
		return 1;
	return x && y && x->nopd == 3 && y->nopd == 3 && !x->guard.len && !y->guard.len &&
	       (ptx_same(x->opcode, y->opcode) || are_opposite(x->opcode, y->opcode)) &&
	       same_value(w, &x->opd[1], &y->opd[1]) && same_value(w, &x->opd[2], &y->opd[2]);
}

/*
 * Does the mask leave out who took the other arm of the branch?  It does if
 * it was found inside this arm (activemask, or a vote among those here), or
 * if it is the ballot of the branch's own condition.
 */
static int excludes_leavers(const struct walk *w, const struct ptx_operand *mask, uint32_t branch)
{
	const struct ptx_stmt *by;
	uint32_t id, def;
	enum ptx_op op;

	if (mask->kind != PTX_OPD_REG)
		return 0;
	id = ptx_level_reg(&w->l, mask->name, mask->scope);
	def = id < w->l.nreg ? w->l.def[id] : PTX_BLOCK_NONE;
	if (def == PTX_BLOCK_NONE)
		return 0;
	by = &w->l.f->stmt[def];
	op = (enum ptx_op)by->insn.op;
	if (op != PTX_OP_MATCH && op != PTX_OP_VOTE)
		return 0;
	if (w->stamp[w->cfg.block_of[def]] == w->mark)
		return 1;
	return ptx_has_modifier(by->insn.opcode, ".ballot") && by->insn.nopd > 1 &&
	       by->insn.opd[1].kind == PTX_OPD_REG &&
	       same_condition(w, &by->insn.opd[1], &w->l.f->stmt[branch].insn);
}

static int call_has(const struct walk *w, const struct ptx_insn *insn, uint32_t fact)
{
	uint32_t callee = ptx_callee(w->l.a, insn);

	if (callee != PTX_SYM_NONE)
		return (w->l.a->func[callee].facts & fact) != 0;
	return ptx_call_target(insn) &&
	       ptx_call_target(insn)->kind != PTX_OPD_SYM; /* through a pointer */
}

static void note_barrier(struct ptx_meeting *m, uint32_t line, enum ptx_level level)
{
	if (!m->barrier_line)
		m->barrier_line = line;
	if (!m->lane_line && level == PTX_LEVEL_THREAD)
		m->lane_line = line;
}

static void check_insn(const struct walk *w, uint32_t i, uint32_t branch, enum ptx_level level,
		       struct ptx_meeting *m)
{
	const struct ptx_stmt *s = &w->l.f->stmt[i];
	enum ptx_op op = (enum ptx_op)s->insn.op;
	const struct ptx_operand *mask;
	struct ptx_barrier b;

	if (op == PTX_OP_BAR) {
		b = ptx_barrier_of(&s->insn);
		if (b.of_block && !b.counted)
			note_barrier(m, s->span.line, level);
	} else if (op == PTX_OP_CALL && call_has(w, &s->insn, PTX_FACT_BARRIER)) {
		note_barrier(m, s->span.line, level);
	}
	if (level < PTX_LEVEL_THREAD || m->warp_line)
		return;
	mask = member_mask(&s->insn);
	if ((mask && !excludes_leavers(w, mask, branch)) ||
	    (op == PTX_OP_CALL && call_has(w, &s->insn, PTX_FACT_WARP_SYNC)))
		m->warp_line = s->span.line;
}

static int check_branches(struct walk *w, struct ptx_meeting *m)
{
	for (uint32_t i = 0; i < w->cfg.nblock; i++) {
		uint32_t branch = w->cfg.block[i].branch;
		enum ptx_level level;

		if (branch == PTX_BLOCK_NONE)
			continue;
		level = ptx_level_of_branch(&w->l, branch);
		if (level == PTX_LEVEL_BLOCK)
			continue;
		if (walk_arms(w, i) < 0)
			return -1;
		for (uint32_t k = 0; k < w->ninside; k++) {
			const struct ptx_block *b = &w->cfg.block[w->stack[k]];

			if (w->budget < b->end - b->begin)
				return -1;
			w->budget -= b->end - b->begin;
			for (uint32_t s = b->begin; s < b->end; s++)
				if (w->l.f->stmt[s].kind == PTX_STMT_INSN)
					check_insn(w, s, branch, level, m);
		}
	}
	return 0;
}

static int find_meetings(struct walk *w, struct ptx_meeting *m, const struct ptx_func *f)
{
	w->stamp = calloc(w->cfg.nblock, sizeof(*w->stamp));
	w->stack = malloc((size_t)w->cfg.nblock * sizeof(*w->stack));
	w->budget = (uint64_t)f->nstmt * 256 + 1000000;
	if (!w->stamp || !w->stack || find_levels(w) < 0 || check_branches(w, m) < 0)
		return -1;
	m->whole_warps = w->l.used_tid_x;
	return 0;
}

/* A predicated barrier (@p bar.sync) parts the threads by itself. */
static void check_guarded(const struct ptx_levels *l, struct ptx_meeting *m)
{
	for (uint32_t i = 0; i < l->f->nstmt; i++) {
		const struct ptx_stmt *s = &l->f->stmt[i];
		struct ptx_barrier b;
		enum ptx_level level;

		if (s->kind != PTX_STMT_INSN || !s->insn.guard.len || s->insn.op != PTX_OP_BAR)
			continue;
		level = ptx_level_of_branch(l, i);
		b = ptx_barrier_of(&s->insn);
		if (b.of_block && !b.counted && level != PTX_LEVEL_BLOCK)
			note_barrier(m, s->span.line, level);
	}
}

int ptx_meeting_points(struct ptx_meeting *m, const struct ptx_analysis *a, uint32_t func)
{
	const struct ptx_func *f = &a->module->func[func];
	struct walk w = { 0 };
	int rc = -1;

	memset(m, 0, sizeof(*m));
	if (!f->nstmt)
		return 0;
	if (ptx_cfg_build(&w.cfg, a, f) == 0) {
		if (ptx_levels_init(&w.l, a, f, &w.cfg) == 0) {
			rc = find_meetings(&w, m, f);
			check_guarded(&w.l, m);
		}
		ptx_levels_free(&w.l);
	}
	ptx_cfg_free(&w.cfg);
	free(w.stamp);
	free(w.stack);
	return rc;
}
