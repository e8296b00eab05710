/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a kernel's own module, by edits of that of the program's; see bind.h. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/ptx/bind_state.h"
#include "device/ptx/opcode.h"
#include "device/ptx/out.h"

/* So many variables one instruction may name; each has a register while it runs. */
#define NAMES_MAX 4

/* One body under way. */
struct body {
	struct ptx_bind *b;
	struct ptx_out *out;
	uint32_t at; /* the text up to here is written */
};

/* Nobody writes it: a constant that the host does not find either, or what a compiler has made of
 * a literal. */
static int may_copy(const struct ptx_var *v)
{
	return !v->nrelocs && v->linkage != PTX_LINK_EXTERN && !ptx_bind_is_opaque(v) &&
	       (v->space == PTX_SPACE_CONST || ptx_starts(v->name, "$str"));
}

static enum ptx_reason decide_fates(struct ptx_bind *b)
{
	for (uint32_t id = 0; id < b->vars.n; id++) {
		if (b->var_fate[id] != PTX_FATE_BOUND && b->var_fate[id] != PTX_FATE_COPIED)
			continue;
		b->var_fate[id] = PTX_FATE_BOUND;
		if (b->need[b->var_need[id]].address)
			continue;
		if (!may_copy(&b->m->var[b->var_at[id]]))
			return PTX_REASON_UNBOUND;
		b->var_fate[id] = PTX_FATE_COPIED;
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
		else if (o->kind == PTX_OPD_SYM && ptx_bind_var_of(b, o->name, &id) &&
			 b->var_fate[id] == PTX_FATE_BOUND && found <= NAMES_MAX)
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
		ptx_bind_var_of(w->b, name[i]->name, &id);
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
		    ptx_bind_var_of(b, i->opd[n].name, &id) && b->var_fate[id] == PTX_FATE_BOUND)
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
	ptx_bind_var_of(w->b, o->name, &id);
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

	ptx_bind_var_of(w->b, v->name, &id);
	if (w->at > v->span.begin) /* several names of one declaration: the first decides */
		return;
	copy_to(w, v->span.begin);
	if (w->b->var_fate[id] == PTX_FATE_DROPPED || w->b->var_fate[id] == PTX_FATE_BOUND) {
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
