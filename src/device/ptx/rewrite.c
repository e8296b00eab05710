/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body of a kernel with block-task indices for block indices (EffiSha,
 * section 5).  As the body of a loop it has also a branch to the boundary for
 * every way out, and barriers that threads which are already done can answer.
 */
#define _GNU_SOURCE
#include "device/ptx/opcode.h"
#include "device/ptx/variant.h"

struct rewriter {
	struct ptx_out *out;
	const struct ptx_analysis *a;
	const char *text;
	uint32_t at;                 /* the body's text up to here is written */
	const struct ptx_plan *plan; /* NULL: of a clone */
	uint8_t reads;               /* the index, somewhere in this body */
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
			which |= (uint8_t)(1u << (ptx_comp(&opd[i]).s[1] - 'x'));
		if (opd[i].nsub)
			which |= grid_sizes_of(opd[i].sub, opd[i].nsub);
	}
	return which;
}

/*
 * The original grid's size is read where it is used, so that no register holds
 * it elsewhere.  A clone has it as a parameter.
 */
static void load_grid_sizes(struct rewriter *r, unsigned which)
{
	int sliced = r->plan && r->plan->transform == PTX_TRANSFORM_SLICED;

	if (!which || !r->plan)
		return;
	if (!sliced)
		ptx_out_str(r->out, "ld.param.u64 %__gpushare_ctl, [__gpushare_ctl];\n\t"
				    "cvta.to.global.u64 %__gpushare_ctl, %__gpushare_ctl;\n\t");
	for (unsigned i = 0; i < 3; i++)
		if (which & 1u << i && sliced)
			ptx_out_fmt(r->out,
				    "ld.param.u32 %%__gpushare_n%c, [__gpushare_slice+%u];\n\t",
				    'x' + (int)i, 12 + 4 * i);
		else if (which & 1u << i)
			ptx_out_fmt(r->out,
				    "ld.global.nc.u32 %%__gpushare_n%c, [%%__gpushare_ctl+%u];\n\t",
				    'x' + (int)i, 88 + 4 * i);
}

static void rewrite_operands(struct rewriter *r, const struct ptx_operand *opd, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (is_block_id(&opd[i]) || is_grid_size(&opd[i])) {
			copy_to(r, opd[i].span.begin);
			ptx_out_fmt(r->out, "%%__gpushare_%s%c", is_grid_size(&opd[i]) ? "n" : "",
				    ptx_comp(&opd[i]).s[1]);
			r->at = opd[i].span.end;
		}
		if (opd[i].nsub)
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
	ptx_out_str(r->out, ptx_has_modifier(s->insn.opcode, ".uni") ? "bra.uni $__gpushare_next;" :
								       "bra $__gpushare_next;");
	r->at = s->span.end;
}

static void put_operand(struct rewriter *r, const struct ptx_operand *o)
{
	ptx_out_put(r->out, r->text + o->span.begin, o->span.end - o->span.begin);
}

void ptx_put_clear_count(struct ptx_out *out)
{
	ptx_out_str(out, "add.u32 %__gpushare_r1, %__gpushare_round, 2;\n\t"
			 "and.b32 %__gpushare_r1, %__gpushare_r1, 3;\n\t"
			 "shl.b32 %__gpushare_r1, %__gpushare_r1, 2;\n\t"
			 "mov.u32 %__gpushare_r2, __gpushare_slot;\n\t"
			 "add.u32 %__gpushare_r1, %__gpushare_r1, %__gpushare_r2;\n\t"
			 "mov.u32 %__gpushare_r2, 0;\n\t"
			 "st.shared.u32 [%__gpushare_r1+80], %__gpushare_r2;");
}

/* r1: where this round counts; the predicate, or for .and its opposite, is counted. */
static void put_count(struct rewriter *r, const struct ptx_insn *insn, const struct ptx_barrier *b)
{
	int opposite = (b->pred->negated != 0) != ptx_has_modifier(insn->opcode, ".and");

	ptx_out_str(r->out, "and.b32 %__gpushare_r1, %__gpushare_round, 3;\n\t"
			    "shl.b32 %__gpushare_r1, %__gpushare_r1, 2;\n\t"
			    "mov.u32 %__gpushare_r2, __gpushare_slot;\n\t"
			    "add.u32 %__gpushare_r1, %__gpushare_r1, %__gpushare_r2;\n\t");
	ptx_out_fmt(r->out, "selp.u32 %%__gpushare_r2, %u, %u, ", !opposite, opposite);
	ptx_out_slice(r->out, b->pred->name);
	ptx_out_str(r->out, ";\n\t");
	put_guard(r, insn);
	ptx_out_str(r->out, "red.shared.add.u32 [%__gpushare_r1+80], %__gpushare_r2;\n\t");
}

/* The result of a reduction, from its count in r0. */
static void put_result(struct rewriter *r, const struct ptx_insn *insn, const struct ptx_barrier *b)
{
	ptx_out_str(r->out, "\n\tld.shared.u32 %__gpushare_r0, [%__gpushare_r1+80];\n\t");
	put_guard(r, insn);
	if (ptx_has_modifier(insn->opcode, ".popc")) {
		ptx_out_str(r->out, "mov.b32 ");
		put_operand(r, b->dest);
		ptx_out_str(r->out, ", %__gpushare_r0;");
	} else {
		ptx_out_fmt(r->out, "setp.%s.u32 ",
			    ptx_has_modifier(insn->opcode, ".and") ? "eq" : "ne");
		put_operand(r, b->dest);
		ptx_out_str(r->out, ", %__gpushare_r0, 0;");
	}
}

/*
 * A barrier of the whole block, where threads may be done already: they learn
 * from the round's number that others are not.  A reduction is done in shared
 * memory: only plain barriers may be mixed on one number.
 */
static void rewrite_barrier(struct rewriter *r, const struct ptx_stmt *s)
{
	struct ptx_barrier b = ptx_barrier_of(&s->insn);
	int aligned =
		ptx_starts(s->insn.opcode, "bar.") || ptx_has_modifier(s->insn.opcode, ".aligned");

	if (!r->plan || !r->plan->sync_aware || !b.of_block || b.counted)
		return;
	copy_to(r, s->span.begin);
	put_guard(r, &s->insn);
	ptx_out_str(r->out, "add.u32 %__gpushare_round, %__gpushare_round, 1;\n\t");
	ptx_out_str(r->out, "and.b32 %__gpushare_r0, %__gpushare_round, 1;\n\t"
			    "shl.b32 %__gpushare_r0, %__gpushare_r0, 2;\n\t"
			    "mov.u32 %__gpushare_r1, __gpushare_slot;\n\t"
			    "add.u32 %__gpushare_r0, %__gpushare_r0, %__gpushare_r1;\n\t");
	put_guard(r, &s->insn);
	ptx_out_str(r->out, "st.shared.u32 [%__gpushare_r0+72], %__gpushare_round;\n\t");
	if (b.is_red)
		put_count(r, &s->insn, &b);
	put_guard(r, &s->insn);
	ptx_out_fmt(r->out, "%s %u;", aligned ? "bar.sync" : "barrier.sync", r->plan->barrier);
	if (b.is_red)
		put_result(r, &s->insn, &b);
	if (r->plan->reduces) {
		ptx_out_str(r->out, "\n\t");
		ptx_put_clear_count(r->out);
	}
	r->at = s->span.end;
}

/* call (ret), f, (a): the clone takes the index as well. */
static void rewrite_call(struct rewriter *r, const struct ptx_stmt *s, uint8_t index)
{
	const struct ptx_operand *target = ptx_call_target(&s->insn);
	const struct ptx_operand *args =
		target + 1 < s->insn.opd + s->insn.nopd && target[1].kind == PTX_OPD_LIST ?
			&target[1] :
			NULL;
	const char *comma = args && args->nsub ? ", " : "";

	copy_to(r, s->span.begin);
	load_grid_sizes(r, index >> PTX_INDEX_GRID_SHIFT);
	copy_to(r, target->span.end);
	ptx_out_str(r->out, PTX_CLONE_SUFFIX);
	if (args)
		copy_to(r, args->span.end - 1);
	else
		ptx_out_str(r->out, ", (");
	for (unsigned i = 0; i < 6; i++)
		if (index & 1u << i) {
			ptx_out_fmt(r->out, "%s%%__gpushare_%s%c", comma, i < 3 ? "" : "n",
				    "xyz"[i % 3]);
			comma = ", ";
		}
	if (!args)
		ptx_out_str(r->out, ")");
}

static void rewrite_insn(struct rewriter *r, const struct ptx_stmt *s)
{
	uint32_t callee = s->insn.op == PTX_OP_CALL ? ptx_callee(r->a, &s->insn) : PTX_SYM_NONE;
	enum ptx_op op = (enum ptx_op)s->insn.op;
	uint8_t sizes;

	if (callee != PTX_SYM_NONE && r->a->func[callee].index) {
		rewrite_call(r, s, r->a->func[callee].index);
		return;
	}
	if (r->plan && r->plan->transform == PTX_TRANSFORM_PERSISTENT &&
	    (op == PTX_OP_RET || op == PTX_OP_EXIT)) {
		rewrite_exit(r, s);
		return;
	}
	if (op == PTX_OP_BAR) {
		rewrite_barrier(r, s);
		if (r->at == s->span.end)
			return;
	}
	if (!r->reads || !s->insn.names_sreg)
		return;
	sizes = grid_sizes_of(s->insn.opd, s->insn.nopd);
	if (sizes) {
		copy_to(r, s->span.begin);
		load_grid_sizes(r, sizes);
	}
	rewrite_operands(r, s->insn.opd, s->insn.nopd);
}

void ptx_rewrite_body(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func,
		      const struct ptx_plan *plan)
{
	const struct ptx_func *f = &a->module->func[func];
	struct rewriter r = { .out = out,
			      .a = a,
			      .text = a->module->text,
			      .at = f->body_begin,
			      .plan = plan,
			      .reads = a->func[func].index };

	for (uint32_t i = 0; i < f->nstmt; i++)
		if (f->stmt[i].kind == PTX_STMT_INSN)
			rewrite_insn(&r, &f->stmt[i]);
	copy_to(&r, f->body_end);
}

void ptx_put_clone(struct ptx_out *out, const struct ptx_analysis *a, uint32_t func, uint8_t index)
{
	const struct ptx_module *m = a->module;
	const struct ptx_func *f = &m->func[func];
	uint32_t name_end = (uint32_t)(f->name.s - m->text) + f->name.len;
	uint32_t tail = f->params_end;
	const char *comma = "";

	ptx_out_put(out, m->text + f->span.begin, name_end - f->span.begin);
	ptx_out_str(out, PTX_CLONE_SUFFIX "(");
	if (f->nparam) {
		ptx_out_put(out, m->text + f->params_begin,
			    f->param[f->nparam - 1].span.end - f->params_begin);
		comma = ",";
	}
	for (unsigned i = 0; i < 6; i++)
		if (index & 1u << i) {
			ptx_out_fmt(out, "%s\n\t.reg .b32 %%__gpushare_%s%c", comma,
				    i < 3 ? "" : "n", "xyz"[i % 3]);
			comma = ",";
		}
	ptx_out_str(out, "\n)");
	if (tail < f->span.end && m->text[tail] == ')')
		tail++;
	if (f->is_decl) {
		ptx_out_put(out, m->text + tail, f->span.end - tail);
		return;
	}
	ptx_out_put(out, m->text + tail, f->body_begin - tail);
	ptx_rewrite_body(out, a, func, NULL);
	ptx_out_str(out, "}\n");
}
