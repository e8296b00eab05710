/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel as a module of its own: which variables and functions it needs; see bind.h. */
#define _GNU_SOURCE
#include "device/ptx/bind.h"

#include <stdlib.h>
#include <string.h>

#include "device/ptx/bind_state.h"
#include "device/ptx/facts.h"
#include "device/ptx/opcode.h"

static int need_var(struct ptx_bind *b, uint32_t id, const struct ptx_var *v)
{
	if (b->var_fate[id] != PTX_FATE_DROPPED)
		return 0;
	if (ptx_bind_is_opaque(v))
		b->why = PTX_REASON_UNBOUND;
	if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST) {
		b->var_fate[id] = PTX_FATE_KEPT;
		return 0;
	}
	b->var_fate[id] = PTX_FATE_BOUND;
	b->var_need[id] = b->nneed;
	b->need[b->nneed].name = strndup(v->name.s, v->name.len);
	return b->need[b->nneed++].name ? 0 : -1;
}

/* Is it a variable of the function's own?  One that has the name of a module's is out of the
 * ordinary, and then the kernel stays as it is. */
static int is_shadowed(const struct ptx_bind *b, const struct ptx_func *f)
{
	uint32_t id;

	for (uint32_t i = 0; i < f->nstmt; i++) {
		if (f->stmt[i].kind != PTX_STMT_DECL)
			continue;
		for (uint32_t n = 0; n < f->stmt[i].decl.n; n++)
			if (ptx_bind_var_of(b, f->stmt[i].decl.var[n].name, &id))
				return 1;
	}
	return 0;
}

static int need_operand(struct ptx_bind *b, const struct ptx_operand *o, int is_target)
{
	uint32_t id = PTX_SYM_NONE;
	const struct ptx_var *v;

	for (uint32_t i = 0; i < o->nsub; i++)
		if (need_operand(b, &o->sub[i], 0) < 0)
			return -1;
	if (o->nsub || o->kind != PTX_OPD_SYM)
		return 0;
	v = ptx_bind_var_of(b, o->name, &id);
	if (v)
		return need_var(b, id, v);
	id = ptx_symtab_get(&b->funcs, o->name);
	if (id == PTX_SYM_NONE)
		return 0;
	b->func_kept[id] = 1;
	if (!is_target)
		b->why = PTX_REASON_FUNCTION_ADDRESS;
	return 0;
}

/* Constant space beyond loads and conversions of addresses has no counterpart. */
static void need_const(struct ptx_bind *b, const struct ptx_insn *i)
{
	if (!ptx_has_modifier(i->opcode, ".const"))
		return;
	b->names_const = 1;
	if (!ptx_starts(i->opcode, "ld.const") && !ptx_starts(i->opcode, "cvta"))
		b->why = PTX_REASON_UNBOUND;
}

static int need_insn(struct ptx_bind *b, const struct ptx_insn *i)
{
	const struct ptx_operand *target = i->op == PTX_OP_CALL ? ptx_call_target(i) : NULL;

	if (target && target->kind != PTX_OPD_SYM)
		b->why = PTX_REASON_FUNCTION_ADDRESS;
	need_const(b, i);
	for (uint32_t n = 0; n < i->nopd; n++)
		if (need_operand(b, &i->opd[n], &i->opd[n] == target) < 0)
			return -1;
	return 0;
}

static int need_func(struct ptx_bind *b, const struct ptx_func *f)
{
	if (is_shadowed(b, f))
		b->why = PTX_REASON_UNBOUND;
	for (uint32_t i = 0; i < f->nstmt; i++)
		if (f->stmt[i].kind == PTX_STMT_INSN && need_insn(b, &f->stmt[i].insn) < 0)
			return -1;
	return 0;
}

/* A pointer into constant space in a table leads to the program's copy, and a load would go
 * elsewhere. */
static int has_const_pointers(const struct ptx_bind *b)
{
	for (uint32_t i = 0; i < b->m->nvar; i++)
		for (uint32_t r = 0; r < b->m->var[i].nrelocs; r++) {
			const struct ptx_reloc *reloc = &b->m->var[i].relocs[r];
			const struct ptx_var *v;
			uint32_t id;

			v = reloc->generic ? NULL : ptx_bind_var_of(b, reloc->symbol, &id);
			if (v && v->space == PTX_SPACE_CONST)
				return 1;
		}
	return 0;
}

/* The functions to be kept, again and again until there are no more: calls are mostly few deep. */
static int need_all(struct ptx_bind *b)
{
	uint8_t *seen = calloc(b->m->nfunc + 1, 1);
	int more = 1, rc = seen ? 0 : -1;

	while (more && rc == 0) {
		more = 0;
		for (uint32_t i = 0; i < b->m->nfunc && rc == 0; i++) {
			uint32_t id = ptx_symtab_get(&b->funcs, b->m->func[i].name);

			if (seen[i] || !b->func_kept[id])
				continue;
			seen[i] = 1;
			more = 1;
			rc = need_func(b, &b->m->func[i]);
		}
	}
	free(seen);
	if (b->names_const && has_const_pointers(b))
		b->why = PTX_REASON_UNBOUND;
	return rc;
}

static int name_all(struct ptx_bind *b)
{
	const struct ptx_module *m = b->m;

	for (uint32_t i = 0; i < m->nvar; i++) {
		uint32_t n = b->vars.n, id = ptx_symtab_put(&b->vars, m->var[i].name);

		if (id == PTX_SYM_NONE)
			return -1;
		/* A declaration says less than the definition. */
		if (b->vars.n > n || m->var[i].linkage != PTX_LINK_EXTERN)
			b->var_at[id] = i;
	}
	for (uint32_t i = 0; i < m->nfunc; i++)
		if (ptx_symtab_put(&b->funcs, m->func[i].name) == PTX_SYM_NONE)
			return -1;
	return 0;
}

static int open_kernel(struct ptx_bind *b, const char *kernel, struct gs_error *err)
{
	const struct ptx_module *m = b->m;
	uint32_t at = 0;

	b->var_fate = calloc(m->nvar + 1, 1);
	b->func_kept = calloc(m->nfunc + 1, 1);
	b->var_need = calloc(m->nvar + 1, sizeof(*b->var_need));
	b->var_at = calloc(m->nvar + 1, sizeof(*b->var_at));
	b->need = calloc(m->nvar + 1, sizeof(*b->need));
	if (!b->var_fate || !b->func_kept || !b->var_need || !b->var_at || !b->need ||
	    name_all(b) < 0)
		return gs_fail(err, "line 1: no memory");
	while (at < m->nfunc &&
	       (!m->func[at].is_entry || m->func[at].is_decl || !ptx_is(m->func[at].name, kernel)))
		at++;
	if (at == m->nfunc)
		return gs_fail(err, "line 1: there is no kernel %s", kernel);
	b->func_kept[ptx_symtab_get(&b->funcs, m->func[at].name)] = 1;
	if (m->address_size != 64)
		b->why = PTX_REASON_ADDRESS_SIZE;
	return need_all(b) < 0 ? gs_fail(err, "line 1: no memory") : 0;
}

struct ptx_bind *ptx_bind_open(const char *text, size_t len, const char *kernel,
			       struct gs_error *err)
{
	struct ptx_module *m = ptx_parse(text, len, err);
	struct ptx_bind *b;

	if (!m)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b) {
		ptx_module_free(m);
		gs_fail(err, "line 1: no memory");
		return NULL;
	}
	b->m = m;
	if (open_kernel(b, kernel, err) == 0)
		return b;
	ptx_bind_close(b);
	return NULL;
}

void ptx_bind_close(struct ptx_bind *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->nneed; i++)
		free(b->need[i].name);
	free(b->need);
	free(b->var_fate);
	free(b->func_kept);
	free(b->var_need);
	free(b->var_at);
	ptx_symtab_free(&b->vars);
	ptx_symtab_free(&b->funcs);
	ptx_module_free(b->m);
	free(b);
}

struct ptx_need *ptx_bind_needs(struct ptx_bind *b, uint32_t *n)
{
	*n = b->nneed;
	return b->need;
}
