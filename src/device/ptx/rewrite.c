/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body of a kernel as the body of a loop: block-task indices for block
 * indices (seed 000, section 5), a branch to the boundary for every way out,
 * barriers that threads which are already done can answer.
 */
#define _GNU_SOURCE
#include "device/ptx/opcode.h"
#include "device/ptx/twin.h"

struct rewriter {
	struct ptx_out *out;
	const char *text;
	uint32_t at;            /* the body's text up to here is written */
	const struct ptx_plan *plan;
};

static void copy_to(struct rewriter *r, uint32_t to)
{
	ptx_out_put(r->out, r->text + r->at, to - r->at);
	r->at = to;
}

static int is_block_id(const struct ptx_operand *o)
{
	return o->kind == PTX_OPD_SREG && ptx_is(o->name, "%ctaid");
}

static int is_grid_size(const struct ptx_operand *o)
{
	return o->kind == PTX_OPD_SREG && ptx_is(o->name, "%nctaid");
}

static uint8_t grid_sizes_of(const struct ptx_operand *opd, uint32_t n)
{
	uint8_t which = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (is_grid_size(&opd[i]))
			which |= (uint8_t)(1u << (opd[i].comp.s[1] - 'x'));
		which |= grid_sizes_of(opd[i].sub, opd[i].nsub);
	}
	return which;
}

/* The original grid's size is read where it is used, so that no register holds it elsewhere. */
static void load_grid_sizes(struct rewriter *r, uint8_t which)
{
	ptx_out_str(r->out, "ld.param.u64 %__gpushare_ctl, [__gpushare_ctl];\n\t"
			    "cvta.to.global.u64 %__gpushare_ctl, %__gpushare_ctl;\n\t");
	for (unsigned i = 0; i < 3; i++)
		if (which & 1u << i)
			ptx_out_fmt(r->out, "ld.global.nc.u32 %%__gpushare_n%c, [%%__gpushare_ctl+%u];\n\t",
				    'x' + (int)i, 88 + 4 * i);
}

static void rewrite_operands(struct rewriter *r, const struct ptx_operand *opd, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (is_block_id(&opd[i]) || is_grid_size(&opd[i])) {
			copy_to(r, opd[i].span.begin);
			ptx_out_fmt(r->out, "%%__gpushare_%s%c", is_grid_size(&opd[i]) ? "n" : "",
				    opd[i].comp.s[1]);
			r->at = opd[i].span.end;
		}
		rewrite_operands(r, opd[i].sub, opd[i].nsub);
	}
}

static void put_guard(struct rewriter *r, const struct ptx_insn *insn)
{
	if (!insn->guard.len)
		return;
	ptx_out_str(r->out, insn->guard_negated ? "@!" : "@");
	ptx_out_slice(r->out, insn->guard);
	ptx_out_str(r->out, " ");
}

/* ret, exit: this thread's block-task is over. */
static void rewrite_exit(struct rewriter *r, const struct ptx_stmt *s)
{
	copy_to(r, s->span.begin);
	put_guard(r, &s->insn);
	ptx_out_str(r->out, ptx_has_modifier(s->insn.opcode, ".uni") ? "bra.uni $__gpushare_next;"
								      : "bra $__gpushare_next;");
	r->at = s->span.end;
}

static void put_operand(struct rewriter *r, const struct ptx_operand *o)
{
	ptx_out_put(r->out, r->text + o->span.begin, o->span.end - o->span.begin);
}

/* The result of a reduction over the block, made of a count: threads that are done count nothing. */
static void put_reduction(struct rewriter *r, const struct ptx_insn *insn, const struct ptx_barrier *b)
{
	int is_popc = ptx_has_modifier(insn->opcode, ".popc");
	int is_and = ptx_has_modifier(insn->opcode, ".and");
	int negated = (b->pred->negated != 0) != is_and;

	ptx_out_str(r->out, "\n\t");
	put_guard(r, insn);
	ptx_out_str(r->out, "barrier.red.popc.u32 ");
	if (is_popc)
		put_operand(r, b->dest);
	else
		ptx_out_str(r->out, "%__gpushare_r0");
	ptx_out_fmt(r->out, ", %u, %s", r->plan->barrier, negated ? "!" : "");
	ptx_out_slice(r->out, b->pred->name);
	ptx_out_str(r->out, ";");
	if (is_popc)
		return;
	ptx_out_str(r->out, "\n\t");
	put_guard(r, insn);
	ptx_out_fmt(r->out, "setp.%s.u32 ", is_and ? "eq" : "ne");
	put_operand(r, b->dest);
	ptx_out_str(r->out, ", %__gpushare_r0, 0;");
}

/* A barrier of the whole block, where threads may be done already: they learn that others wait. */
static void rewrite_barrier(struct rewriter *r, const struct ptx_stmt *s)
{
	struct ptx_barrier b = ptx_barrier_of(&s->insn);

	if (!r->plan->sync_aware || !b.of_block || b.counted)
		return;
	copy_to(r, s->span.begin);
	put_guard(r, &s->insn);
	ptx_out_fmt(r->out, "barrier.red.or.pred %%__gpushare_q, %u, %%__gpushare_true;", r->plan->barrier);
	if (b.is_red) {
		put_reduction(r, &s->insn, &b);
	} else if (r->plan->two_phase) {
		ptx_out_str(r->out, "\n\t");
		put_guard(r, &s->insn);
		ptx_out_fmt(r->out, "barrier.red.popc.u32 %%__gpushare_r0, %u, %%__gpushare_true;",
			    r->plan->barrier);
	}
	r->at = s->span.end;
}

static void rewrite_insn(struct rewriter *r, const struct ptx_stmt *s)
{
	enum ptx_op op = (enum ptx_op)s->insn.op;
	uint8_t sizes;

	if (op == PTX_OP_RET || op == PTX_OP_EXIT) {
		rewrite_exit(r, s);
		return;
	}
	if (op == PTX_OP_BAR) {
		rewrite_barrier(r, s);
		if (r->at == s->span.end)
			return;
	}
	sizes = grid_sizes_of(s->insn.opd, s->insn.nopd);
	if (sizes) {
		copy_to(r, s->span.begin);
		load_grid_sizes(r, sizes);
	}
	rewrite_operands(r, s->insn.opd, s->insn.nopd);
}

void ptx_rewrite_body(struct ptx_out *out, const struct ptx_module *m, const struct ptx_func *f,
		      const struct ptx_plan *plan)
{
	struct rewriter r = { .out = out, .text = m->text, .at = f->body_begin, .plan = plan };

	for (uint32_t i = 0; i < f->nstmt; i++)
		if (f->stmt[i].kind == PTX_STMT_INSN)
			rewrite_insn(&r, &f->stmt[i]);
	copy_to(&r, f->body_end);
}
