/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel as a module of its own; see bind.h.  All is done by edits of the module's text. */
#define _GNU_SOURCE
#include "device/ptx/bind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/ptx/facts.h"
#include "device/ptx/opcode.h"
#include "device/ptx/out.h"
#include "device/ptx/symtab.h"

/* So many variables one instruction may name; each has a register while it runs. */
#define NAMES_MAX 4

enum fate { DROPPED, KEPT, BOUND, COPIED };

struct ptx_bind {
	struct ptx_module *m;
	struct ptx_symtab vars, funcs; /* a name's number is that of its first declaration */
	uint8_t *var_fate;             /* by number of the name */
	uint8_t *func_kept;            /* the same */
	uint32_t *var_need;            /* by number: its need */
	uint32_t *var_at;              /* by number: its index in the module */
	struct ptx_need *need;
	uint32_t nneed;
	uint8_t names_const; /* an instruction of it works on constant space */
	enum ptx_reason why; /* known beforehand */
};

/* One body under way. */
struct body {
	struct ptx_bind *b;
	struct ptx_out *out;
	uint32_t at; /* the text up to here is written */
};

static const struct ptx_var *var_of(const struct ptx_bind *b, struct ptx_slice name, uint32_t *id)
{
	*id = ptx_symtab_get(&b->vars, name);
	return *id == PTX_SYM_NONE ? NULL : &b->m->var[b->var_at[*id]];
}

static int is_opaque(const struct ptx_var *v)
{
	return v->type == PTX_T_TEXREF || v->type == PTX_T_SAMPLERREF || v->type == PTX_T_SURFREF ||
	       v->space == PTX_SPACE_TEX;
}

/* ---- what the kernel needs ---------------------------------------------------------- */

static int need_var(struct ptx_bind *b, uint32_t id, const struct ptx_var *v)
{
	if (b->var_fate[id] != DROPPED)
		return 0;
	if (is_opaque(v))
		b->why = PTX_REASON_UNBOUND;
	if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST) {
		b->var_fate[id] = KEPT;
		return 0;
	}
	b->var_fate[id] = BOUND;
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
			if (var_of(b, f->stmt[i].decl.var[n].name, &id))
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
	v = var_of(b, o->name, &id);
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

			v = reloc->generic ? NULL : var_of(b, reloc->symbol, &id);
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

/* ---- the text ------------------------------------------------------------------------ */

/* Nobody writes it: a constant that the host does not find either, or what a compiler has made of
 * a literal. */
static int may_copy(const struct ptx_var *v)
{
	return !v->nrelocs && v->linkage != PTX_LINK_EXTERN && !is_opaque(v) &&
	       (v->space == PTX_SPACE_CONST || ptx_starts(v->name, "$str"));
}

static enum ptx_reason decide_fates(struct ptx_bind *b)
{
	for (uint32_t id = 0; id < b->vars.n; id++) {
		if (b->var_fate[id] != BOUND && b->var_fate[id] != COPIED)
			continue;
		b->var_fate[id] = BOUND;
		if (b->need[b->var_need[id]].address)
			continue;
		if (!may_copy(&b->m->var[b->var_at[id]]))
			return PTX_REASON_UNBOUND;
		b->var_fate[id] = COPIED;
	}
	return PTX_REASON_NONE;
}

static void copy_to(struct body *w, uint32_t to)
{
	if (to > w->at)
		ptx_out_put(w->out, w->b->m->text + w->at, to - w->at);
	w->at = to;
}

/* The bound variables that the operand names, in the order of the text: at most NAMES_MAX. */
static uint32_t bound_names(struct ptx_bind *b, const struct ptx_operand *opd, uint32_t n,
			    const struct ptx_operand **name, uint32_t found)
{
	uint32_t id;

	for (uint32_t i = 0; i < n; i++) {
		const struct ptx_operand *o = &opd[i];

		if (o->nsub)
			found = bound_names(b, o->sub, o->nsub, name, found);
		else if (o->kind == PTX_OPD_SYM && var_of(b, o->name, &id) &&
			 b->var_fate[id] == BOUND && found <= NAMES_MAX)
			name[found++] = o;
	}
	return found;
}

static uint32_t offset_in(const struct ptx_bind *b, struct ptx_slice s)
{
	return (uint32_t)(s.s - b->m->text);
}

/* "ld.const.f32" is "ld.global.f32", and addresses need no conversion. */
static void put_opcode(struct body *w, const struct ptx_insn *i)
{
	const char *at = memmem(i->opcode.s, i->opcode.len, ".const", strlen(".const"));

	if (!w->b->names_const || !at || !ptx_has_modifier(i->opcode, ".const"))
		return;
	copy_to(w, offset_in(w->b, i->opcode));
	if (ptx_starts(i->opcode, "cvta")) {
		ptx_out_str(w->out, "mov.u64");
	} else {
		ptx_out_put(w->out, i->opcode.s, (size_t)(at - i->opcode.s));
		ptx_out_str(w->out, ".global");
		at += strlen(".const");
		ptx_out_put(w->out, at, (size_t)(i->opcode.s + i->opcode.len - at));
	}
	w->at = offset_in(w->b, i->opcode) + i->opcode.len;
}

static enum ptx_reason put_insn(struct body *w, const struct ptx_stmt *s)
{
	const struct ptx_operand *name[NAMES_MAX + 1];
	uint32_t n = bound_names(w->b, s->insn.opd, s->insn.nopd, name, 0), id;

	if (n > NAMES_MAX)
		return PTX_REASON_UNBOUND;
	if (n)
		copy_to(w, s->span.begin);
	for (uint32_t i = 0; i < n; i++) {
		var_of(w->b, name[i]->name, &id);
		ptx_out_fmt(w->out, "mov.u64 %%__gpushare_v%u, 0x%" PRIx64 ";\n\t", i,
			    w->b->need[w->b->var_need[id]].address);
	}
	put_opcode(w, &s->insn);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = offset_in(w->b, name[i]->name);

		/* a[3], an address without brackets around it, is not written by compilers. */
		if (w->b->m->text[at + name[i]->name.len] == '[')
			return PTX_REASON_UNBOUND;
		copy_to(w, at);
		ptx_out_fmt(w->out, "%%__gpushare_v%u", i);
		w->at = at + name[i]->name.len;
	}
	return PTX_REASON_NONE;
}

/* var+8 outside of an address is no operand of a register: it becomes an addition before. */
static int has_bare_sum(const struct ptx_bind *b, const struct ptx_insn *i)
{
	uint32_t id;

	for (uint32_t n = 0; n < i->nopd; n++)
		if (i->opd[n].kind == PTX_OPD_SYM && i->opd[n].bits &&
		    var_of(b, i->opd[n].name, &id) && b->var_fate[id] == BOUND)
			return 1;
	return 0;
}

/* mov.u64 d, var+8: the only such instruction that compilers write. */
static enum ptx_reason put_sum(struct body *w, const struct ptx_stmt *s)
{
	const struct ptx_operand *o = &s->insn.opd[1];
	uint32_t id;

	if (!ptx_starts(s->insn.opcode, "mov.") || s->insn.nopd != 2 || o->kind != PTX_OPD_SYM)
		return PTX_REASON_UNBOUND;
	var_of(w->b, o->name, &id);
	copy_to(w, offset_in(w->b, o->name));
	ptx_out_fmt(w->out, "0x%" PRIx64, w->b->need[w->b->var_need[id]].address + o->bits);
	w->at = s->span.end - 1; /* the semicolon */
	return w->b->m->text[w->at] == ';' ? PTX_REASON_NONE : PTX_REASON_UNBOUND;
}

static enum ptx_reason put_func(struct body *w, const struct ptx_func *f)
{
	enum ptx_reason why = PTX_REASON_NONE;

	if (f->is_decl)
		return why;
	copy_to(w, f->body_begin);
	ptx_out_fmt(w->out, "\n\t.reg .b64 %%__gpushare_v<%u>;", NAMES_MAX);
	for (uint32_t i = 0; i < f->nstmt && why == PTX_REASON_NONE; i++)
		if (f->stmt[i].kind == PTX_STMT_INSN)
			why = has_bare_sum(w->b, &f->stmt[i].insn) ? put_sum(w, &f->stmt[i]) :
								     put_insn(w, &f->stmt[i]);
	return why;
}

/* Its declaration, or nothing; a constant is one of global memory here. */
static void put_var(struct body *w, const struct ptx_var *v)
{
	uint32_t id;
	const char *space;

	var_of(w->b, v->name, &id);
	if (w->at > v->span.begin) /* several names of one declaration: the first decides */
		return;
	copy_to(w, v->span.begin);
	if (w->b->var_fate[id] == DROPPED || w->b->var_fate[id] == BOUND) {
		w->at = v->span.end;
		return;
	}
	space = memmem(w->b->m->text + v->span.begin, v->span.end - v->span.begin, ".const",
		       strlen(".const"));
	if (v->space == PTX_SPACE_CONST && space) {
		copy_to(w, (uint32_t)(space - w->b->m->text));
		ptx_out_str(w->out, ".global");
		w->at += (uint32_t)strlen(".const");
	}
	copy_to(w, v->span.end);
}

char *ptx_bind_text(struct ptx_bind *b, size_t *len, enum ptx_reason *why)
{
	struct ptx_out out = { 0 };
	struct body w = { b, &out, 0 };
	const struct ptx_module *m = b->m;
	uint32_t var = 0;

	*why = b->why == PTX_REASON_NONE ? decide_fates(b) : b->why;
	for (uint32_t i = 0; i <= m->nfunc && *why == PTX_REASON_NONE; i++) {
		const struct ptx_func *f = i < m->nfunc ? &m->func[i] : NULL;

		while (var < m->nvar && (!f || m->var[var].span.begin < f->span.begin))
			put_var(&w, &m->var[var++]);
		if (!f)
			break;
		copy_to(&w, f->span.begin);
		if (b->func_kept[ptx_symtab_get(&b->funcs, f->name)]) {
			*why = put_func(&w, f);
			copy_to(&w, f->span.end);
		}
		w.at = f->span.end;
	}
	copy_to(&w, m->len);
	ptx_out_put(&out, "", 1);
	if (*why == PTX_REASON_NONE && !out.failed) {
		*len = out.len - 1;
		return out.text;
	}
	free(out.text);
	return NULL;
}
