/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call graph: what a function's callees do, it does. */
#define _GNU_SOURCE
#include "device/ptx/opcode.h"
#include "device/ptx/scan.h"

#include <stdlib.h>
#include <string.h>

/* Passes over the functions until callees' facts have reached all callers; deeper chains are
 * refused. */
#define PASSES_MAX 256

const struct ptx_operand *ptx_call_target(const struct ptx_insn *call)
{
	if (!ptx_starts(call->opcode, "call"))
		return NULL;
	for (uint32_t i = 0; i < call->nopd; i++)
		if (call->opd[i].kind != PTX_OPD_LIST)
			return &call->opd[i];
	return NULL;
}

uint32_t ptx_callee(const struct ptx_analysis *a, const struct ptx_insn *call)
{
	const struct ptx_operand *target = ptx_call_target(call);
	uint32_t id;

	if (!target || target->kind != PTX_OPD_SYM)
		return PTX_SYM_NONE;
	id = ptx_symtab_get(&a->names, target->name);
	return id < a->nbody ? a->body[id] : PTX_SYM_NONE;
}

int ptx_call_never_returns(const struct ptx_analysis *a, const struct ptx_insn *call)
{
	const struct ptx_operand *target = ptx_call_target(call);
	uint32_t i = ptx_callee(a, call);

	return (target && ptx_is(target->name, "__assertfail")) ||
	       (i != PTX_SYM_NONE && a->module->func[i].noreturn);
}

static void add_callee(struct ptx_scan *s, uint32_t callee)
{
	struct ptx_facts *f = s->f;

	if (f->ncallee && f->callee[f->ncallee - 1] == callee)
		return;
	if (f->ncallee == s->callee_cap) {
		uint32_t cap = s->callee_cap ? s->callee_cap * 2 : 8;
		uint32_t *grown = realloc(f->callee, cap * sizeof(*grown));

		if (!grown) {
			s->no_memory = 1;
			return;
		}
		f->callee = grown;
		s->callee_cap = cap;
	}
	f->callee[f->ncallee++] = callee;
}

/* Functions of the driver's and the compiler's that are none of the module's. */
static void scan_foreign(struct ptx_scan *s, struct ptx_slice name, uint32_t line)
{
	static const char *const known[] = { "vprintf", "malloc", "free", "__assertfail" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (ptx_is(name, known[i])) {
			if (i == 0)
				s->f->facts |= PTX_FACT_PRINTF;
			return;
		}
	if (ptx_starts(name, "cudaCG"))
		ptx_facts_add_reason(s->f, PTX_REASON_COOPERATIVE, line);
	else if (ptx_starts(name, "cuda") || ptx_starts(name, "__cuda"))
		ptx_facts_add_reason(s->f, PTX_REASON_DYNAMIC_PARALLELISM, line);
	else
		ptx_facts_add_reason(s->f, PTX_REASON_FOREIGN_FUNCTION, line);
}

void ptx_scan_call(struct ptx_scan *s, const struct ptx_stmt *stmt)
{
	const struct ptx_operand *target = ptx_call_target(&stmt->insn);
	uint32_t callee = ptx_callee(s->a, &stmt->insn);

	if (callee != PTX_SYM_NONE)
		add_callee(s, callee);
	else if (target && target->kind == PTX_OPD_SYM)
		scan_foreign(s, target->name, stmt->span.line);
	else
		s->f->facts |= PTX_FACT_INDIRECT;
}

void ptx_take_address(struct ptx_analysis *a, struct ptx_slice name)
{
	uint32_t id = ptx_symtab_get(&a->names, name);

	if (id < a->nbody && a->body[id] != PTX_SYM_NONE)
		a->func[a->body[id]].address_taken = 1;
}

void ptx_scan_symbol(struct ptx_scan *s, const struct ptx_operand *o)
{
	uint32_t id = ptx_symtab_get(&s->a->shared, o->name);
	uint32_t self = (uint32_t)(s->func - s->a->module->func) + 1;

	ptx_take_address(s->a, o->name);
	if (id < s->a->nshared && s->a->shared_stamp[id] != self) {
		s->a->shared_stamp[id] = self;
		s->f->facts |= PTX_FACT_SHARED;
		s->f->shared_bytes +=
			ptx_var_size(s->a->shared_var[id]) + s->a->shared_var[id]->align - 1;
	}
}

static void scan_decl(struct ptx_scan *s, const struct ptx_stmt *stmt)
{
	for (uint32_t i = 0; i < stmt->decl.n; i++) {
		const struct ptx_var *v = &stmt->decl.var[i];

		if (v->space == PTX_SPACE_SHARED) {
			s->f->facts |= PTX_FACT_SHARED;
			s->f->shared_bytes += ptx_var_size(v) + v->align - 1;
		} else if (v->space == PTX_SPACE_GLOBAL) {
			s->f->static_line = stmt->span.line;
		}
	}
}

/* A directive that is not known may change what the statements mean. */
static int is_known_directive(struct ptx_slice text)
{
	return ptx_starts(text, ".loc") || ptx_starts(text, ".file") ||
	       ptx_starts(text, ".pragma") || ptx_starts(text, "@@") ||
	       ptx_starts(text, ".section");
}

int ptx_scan_func(struct ptx_analysis *a, uint32_t i)
{
	struct ptx_scan s = { .a = a, .func = &a->module->func[i], .f = &a->func[i] };

	for (uint32_t k = 0; k < s.func->nstmt; k++) {
		const struct ptx_stmt *stmt = &s.func->stmt[k];

		if (stmt->kind == PTX_STMT_INSN)
			ptx_scan_insn(&s, stmt);
		else if (stmt->kind == PTX_STMT_DECL)
			scan_decl(&s, stmt);
		else if (stmt->kind == PTX_STMT_DIRECTIVE && !is_known_directive(stmt->directive))
			ptx_facts_add_reason(s.f, PTX_REASON_UNKNOWN_INSTRUCTION, stmt->span.line);
	}
	if (s.func->bounds.has_cluster)
		ptx_facts_add_reason(s.f, PTX_REASON_CLUSTER, s.func->span.line);
	s.f->own_facts = s.f->facts;
	return s.no_memory ? -1 : 0;
}

/* The callee's facts and reasons into the caller's; 1 if that changed anything. */
static int inherit(struct ptx_facts *to, const struct ptx_facts *from)
{
	uint32_t facts = to->facts, reasons = to->reasons;
	uint8_t index = to->index;

	to->facts |= from->facts;
	to->index |= from->index;
	for (unsigned r = 0; from->reasons & ~reasons && r < PTX_CODE_REASONS; r++)
		if (from->reasons & 1u << r)
			ptx_facts_add_reason(to, (enum ptx_reason)r, from->line[r]);
	if (!to->barrier_line)
		to->barrier_line = from->barrier_line;
	return facts != to->facts || reasons != to->reasons || index != to->index;
}

/*
 * A call through a pointer may be to any function whose address is taken.  The
 * pointers are to the originals, which know of no block-task.
 */
static int inherit_indirect(struct ptx_analysis *a, struct ptx_facts *any)
{
	int changed = 0;

	for (uint32_t i = 0; i < a->module->nfunc; i++) {
		struct ptx_facts g = a->func[i];

		if (!g.address_taken)
			continue;
		if (g.index)
			ptx_facts_add_reason(&g, PTX_REASON_BLOCK_ID_IN_FUNCTION,
					     a->module->func[i].span.line);
		g.index = 0;
		changed |= inherit(any, &g);
	}
	return changed;
}

/* A function whose text cannot stand in the module once more, with more parameters. */
static void refuse_clone(struct ptx_facts *facts, const struct ptx_module *m,
			 const struct ptx_func *f)
{
	const struct ptx_var *last = f->nparam ? &f->param[f->nparam - 1] : NULL;
	const char *head = m->text + f->span.begin;

	if (facts->static_line)
		ptx_facts_add_reason(facts, PTX_REASON_STATIC_VARIABLE, facts->static_line);
	if ((last && last->is_array && !last->elements) || /* takes any number of arguments */
	    memmem(head, (size_t)(f->name.s - head), ".attribute", 10))
		ptx_facts_add_reason(facts, PTX_REASON_BLOCK_ID_IN_FUNCTION, f->span.line);
}

/* Entries have variants; functions that need the index have clones. */
static void refuse_copies(struct ptx_analysis *a)
{
	for (uint32_t i = 0; i < a->module->nfunc; i++) {
		const struct ptx_func *f = &a->module->func[i];

		if (f->is_entry && a->func[i].static_line)
			ptx_facts_add_reason(&a->func[i], PTX_REASON_STATIC_VARIABLE,
					     a->func[i].static_line);
		else if (!f->is_entry && !f->is_decl && a->func[i].index)
			refuse_clone(&a->func[i], a->module, f);
	}
}

static int propagate(struct ptx_analysis *a)
{
	struct ptx_facts any = { 0 }; /* stands for every function whose address is taken */
	int changed = 1;

	for (unsigned pass = 0; changed && pass < PASSES_MAX; pass++) {
		changed = inherit_indirect(a, &any);
		for (uint32_t i = 0; i < a->module->nfunc; i++) {
			struct ptx_facts *f = &a->func[i];

			for (uint32_t k = 0; k < f->ncallee; k++)
				changed |= inherit(f, &a->func[f->callee[k]]);
			if (f->facts & PTX_FACT_INDIRECT)
				changed |= inherit(f, &any);
		}
	}
	return changed;
}

void ptx_propagate(struct ptx_analysis *a)
{
	int endless = propagate(a);

	refuse_copies(a);
	endless |= propagate(a);
	for (uint32_t i = 0; endless && i < a->module->nfunc; i++)
		if (a->func[i].ncallee || a->func[i].facts & PTX_FACT_INDIRECT)
			ptx_facts_add_reason(&a->func[i], PTX_REASON_CALLS,
					     a->module->func[i].span.line);
}
