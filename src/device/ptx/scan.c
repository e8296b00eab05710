/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over a function's instructions: facts, and reasons to refuse (doc/ptx-transform.md). */
#define _GNU_SOURCE
#include "device/ptx/facts.h"
#include "device/ptx/opcode.h"
#include "device/ptx/scan.h"

#include <string.h>

void ptx_facts_add_reason(struct ptx_facts *f, enum ptx_reason reason, uint32_t line)
{
	if (!(f->reasons & 1u << reason))
		f->line[reason] = line;
	f->reasons |= 1u << reason;
}

/* Special registers (PTX ISA, "Special Registers") that mean the same for a block-task. */
static const char *const harmless[] = {
	"%tid",
	"%ntid",
	"%laneid",
	"%warpid",
	"%nwarpid",
	"%smid",
	"%nsmid",
	"%lanemask_eq",
	"%lanemask_le",
	"%lanemask_lt",
	"%lanemask_ge",
	"%lanemask_gt",
	"%clock",
	"%clock_hi",
	"%clock64",
	"%globaltimer",
	"%globaltimer_lo",
	"%globaltimer_hi",
	"%dynamic_smem_size",
	"%reserved_smem_offset_begin",
	"%reserved_smem_offset_end",
	"%reserved_smem_offset_cap",
};

static int is_harmless(struct ptx_slice name)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (ptx_is(name, harmless[i]))
			return 1;
	return ptx_starts(name, "%pm") || ptx_starts(name, "%reserved_smem_offset_");
}

/* The type that an instruction reads, the last of its modifiers, has 16 bits: the register of old
 * ISAs. */
static int reads_16_bits(const struct ptx_insn *insn)
{
	struct ptx_slice s = insn->opcode;

	return s.len > 4 && s.s[s.len - 4] == '.' && memchr("usb", s.s[s.len - 3], 3) &&
	       memcmp(s.s + s.len - 2, "16", 2) == 0;
}

/* .x, .y, .z as 1, 2, 4; 0: another form, read as a vector or in 16 bits. */
static uint8_t component(const struct ptx_operand *o, const struct ptx_insn *insn)
{
	static const char letters[] = "xyz";
	const char *at;

	if (o->ncomp != 2 || reads_16_bits(insn))
		return 0;
	at = strchr(letters, ptx_comp(o).s[1]);
	return at && *at ? (uint8_t)(1u << (at - letters)) : 0;
}

static void scan_special(struct ptx_facts *f, const struct ptx_operand *o,
			 const struct ptx_insn *insn)
{
	int is_grid = ptx_is(o->name, "%nctaid");

	if (is_grid || ptx_is(o->name, "%ctaid")) {
		uint8_t bit = component(o, insn);

		f->index |= (uint8_t)(is_grid ? bit << PTX_INDEX_GRID_SHIFT : bit);
		if (!bit)
			ptx_facts_add_reason(f, PTX_REASON_SPECIAL_REGISTER, o->span.line);
	} else if (ptx_starts(o->name, "%envreg")) {
		ptx_facts_add_reason(f, PTX_REASON_COOPERATIVE, o->span.line);
	} else if (ptx_starts(o->name, "%cluster") || ptx_starts(o->name, "%ncluster") ||
		   ptx_is(o->name, "%is_explicit_cluster")) {
		ptx_facts_add_reason(f, PTX_REASON_CLUSTER, o->span.line);
	} else if (!is_harmless(o->name)) {
		ptx_facts_add_reason(f, PTX_REASON_SPECIAL_REGISTER, o->span.line);
	}
}

static void scan_operand(struct ptx_scan *s, const struct ptx_insn *insn,
			 const struct ptx_operand *o)
{
	if (o->kind == PTX_OPD_SREG)
		scan_special(s->f, o, insn);
	else if (o->kind == PTX_OPD_SYM)
		ptx_scan_symbol(s, o);
	for (uint32_t i = 0; i < o->nsub; i++)
		scan_operand(s, insn, &o->sub[i]);
}

struct ptx_barrier ptx_barrier_of(const struct ptx_insn *insn)
{
	struct ptx_barrier b = { 0 };
	uint32_t first;

	if (ptx_has_modifier(insn->opcode, ".warp") || ptx_has_modifier(insn->opcode, ".cluster"))
		return b;
	b.of_block = 1;
	b.is_arrive = (uint8_t)ptx_has_modifier(insn->opcode, ".arrive");
	b.is_red = (uint8_t)ptx_has_modifier(insn->opcode, ".red");
	first = b.is_red ? 1 : 0;
	if (insn->nopd <= first)
		return b;
	b.number = &insn->opd[first];
	if (b.is_red) {
		b.dest = &insn->opd[0];
		b.pred = &insn->opd[insn->nopd - 1];
		b.counted = insn->nopd > 3;
	} else {
		b.counted = insn->nopd > 1;
	}
	return b;
}

static void scan_barrier(struct ptx_facts *f, const struct ptx_insn *insn, uint32_t line)
{
	struct ptx_barrier b = ptx_barrier_of(insn);

	if (!b.of_block) {
		if (ptx_has_modifier(insn->opcode, ".cluster"))
			ptx_facts_add_reason(f, PTX_REASON_CLUSTER, line);
		else
			f->facts |= PTX_FACT_WARP_SYNC;
		return;
	}
	f->facts |= PTX_FACT_BARRIER;
	if (!f->barrier_line)
		f->barrier_line = line;
	if (!b.number) {
		ptx_facts_add_reason(f, PTX_REASON_UNKNOWN_INSTRUCTION, line);
	} else if (b.is_arrive) { /* an arrival nobody waited for would count for the next
				     block-task */
		ptx_facts_add_reason(f, PTX_REASON_ARRIVAL, line);
	} else if (b.counted && b.number->kind == PTX_OPD_INT && b.number->bits < 16) {
		f->counted_barriers |= (uint16_t)(1u << b.number->bits);
	} else if (b.counted) {
		f->counted_unknown = 1;
	} else if (b.is_red) {
		f->barrier_red = 1;
	}
}

static void scan_copy(struct ptx_facts *f, const struct ptx_insn *insn, uint32_t line)
{
	if (ptx_has_modifier(insn->opcode, ".bulk") ||
	    ptx_has_modifier(insn->opcode, ".mbarrier") ||
	    ptx_has_modifier(insn->opcode, ".reduce") || !ptx_has_modifier(insn->opcode, ".async"))
		ptx_facts_add_reason(f, PTX_REASON_ASYNC_STATE, line);
	else
		f->facts |= PTX_FACT_CP_ASYNC | PTX_FACT_SHARED;
}

static void scan_class(struct ptx_scan *s, const struct ptx_stmt *stmt, enum ptx_op op)
{
	const struct ptx_insn *insn = &stmt->insn;
	struct ptx_facts *f = s->f;
	uint32_t line = stmt->span.line;

	switch (op) {
	case PTX_OP_UNKNOWN:
		ptx_facts_add_reason(f, PTX_REASON_UNKNOWN_INSTRUCTION, line);
		break;
	case PTX_OP_STACK:
		ptx_facts_add_reason(f, PTX_REASON_STACK, line);
		break;
	case PTX_OP_ASYNC:
		ptx_facts_add_reason(f, PTX_REASON_ASYNC_STATE, line);
		break;
	case PTX_OP_CLUSTER:
		ptx_facts_add_reason(f, PTX_REASON_CLUSTER, line);
		break;
	case PTX_OP_SETMAXNREG:
		ptx_facts_add_reason(f, PTX_REASON_SETMAXNREG, line);
		break;
	case PTX_OP_PDL:
		ptx_facts_add_reason(f, PTX_REASON_PDL, line);
		break;
	case PTX_OP_ATOM:
		f->facts |= PTX_FACT_ATOMIC;
		break;
	case PTX_OP_RED:
	case PTX_OP_ST:
		if (op == PTX_OP_RED)
			f->facts |= PTX_FACT_ATOMIC;
		if (ptx_has_modifier(insn->opcode, ".async"))
			ptx_facts_add_reason(f, PTX_REASON_ASYNC_STATE, line);
		break;
	case PTX_OP_SURFACE:
		f->facts |= PTX_FACT_SURFACE;
		break;
	case PTX_OP_CP:
		scan_copy(f, insn, line);
		break;
	case PTX_OP_BAR:
		scan_barrier(f, insn, line);
		break;
	case PTX_OP_SHFL:
	case PTX_OP_VOTE:
	case PTX_OP_MATCH:
	case PTX_OP_REDUX:
	case PTX_OP_ELECT:
		if (ptx_has_modifier(insn->opcode, ".sync"))
			f->facts |= PTX_FACT_WARP_SYNC;
		break;
	case PTX_OP_CALL:
		ptx_scan_call(s, stmt);
		break;
	case PTX_OP_EXIT:
		if (!s->func->is_entry)
			ptx_facts_add_reason(f, PTX_REASON_EXIT_IN_FUNCTION, line);
		break;
	default:
		break;
	}
}

/* The state space of an access: shared memory carries over to the next block-task. */
static void scan_space(struct ptx_facts *f, const struct ptx_insn *insn, uint32_t line)
{
	if (!ptx_has_modifier(insn->opcode, ".shared"))
		return;
	f->facts |= PTX_FACT_SHARED;
	if (ptx_has_modifier(insn->opcode, ".shared::cluster"))
		ptx_facts_add_reason(f, PTX_REASON_CLUSTER, line);
}

void ptx_scan_insn(struct ptx_scan *s, const struct ptx_stmt *stmt)
{
	const struct ptx_insn *insn = &stmt->insn;
	enum ptx_op op = (enum ptx_op)insn->op;

	scan_class(s, stmt, op);
	if (insn->op != PTX_OP_PLAIN || ptx_starts(insn->opcode, "cvta"))
		scan_space(s->f, insn, stmt->span.line);
	if (op == PTX_OP_CALL || op == PTX_OP_BRA || op == PTX_OP_BRX) {
		if (op != PTX_OP_BRA)
			for (uint32_t i = 0; i < insn->nopd; i++)
				if (&insn->opd[i] != ptx_call_target(insn))
					scan_operand(s, insn, &insn->opd[i]);
		return;
	}
	for (uint32_t i = 0; i < insn->nopd; i++)
		if (insn->opd[i].kind != PTX_OPD_REG)
			scan_operand(s, insn, &insn->opd[i]);
}
