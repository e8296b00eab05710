/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PTX to program.  First the functions that the kernel can reach and the
 * shared memory they use; then every function in turn, its declarations in
 * scopes as PTX has them; then branches to their targets.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/decode.h"

/* Pass 1: functions reached and module-scope shared variables used. */
static int add_function(struct decoder *d, const struct ptx_func *f, uint32_t index)
{
	struct emu_program *p = d->program;

	for (uint32_t i = 0; i < p->nfunc; i++)
		if (p->func[i].ast == f)
			return 0;
	p->func = emu_grow(p->func, &d->room.func, p->nfunc + 1, sizeof(*p->func));
	if (!p->func)
		return decode_fail(d, "out of memory");
	memset(&p->func[p->nfunc], 0, sizeof(*p->func));
	p->func[p->nfunc].ast = f;
	p->func[p->nfunc].name = f->name;
	p->func[p->nfunc++].module_index = index;
	return 0;
}

static int scan_operand(struct decoder *d, const struct ptx_operand *o)
{
	const struct ptx_func *f;
	uint32_t index;

	if (o->kind == PTX_OPD_SYM) {
		f = decode_find_func(d->module, o->name, &index);
		if (f)
			return f->is_decl ? 0 : add_function(d, f, index);
		return decode_use_shared(d, o->name);
	}
	for (uint32_t i = 0; i < o->nsub; i++)
		if (scan_operand(d, &o->sub[i]))
			return -1;
	return 0;
}

static int all_functions(struct decoder *d)
{
	const struct ptx_module *m = d->module;

	for (uint32_t i = 0; i < m->nfunc; i++)
		if (!m->func[i].is_decl && !m->func[i].is_entry && add_function(d, &m->func[i], i))
			return -1;
	return 0;
}

static int scan(struct decoder *d)
{
	for (uint32_t i = 0; i < d->program->nfunc; i++) {
		const struct ptx_func *f = d->program->func[i].ast;

		for (uint32_t k = 0; k < f->nstmt; k++) {
			const struct ptx_stmt *s = &f->stmt[k];

			d->line = s->span.line;
			/* an indirect call may reach any function whose address someone took */
			if (s->kind == PTX_STMT_CALLPROTOTYPE && all_functions(d))
				return -1;
			if (s->kind != PTX_STMT_INSN)
				continue;
			for (uint32_t o = 0; o < s->insn.nopd; o++)
				if (scan_operand(d, &s->insn.opd[o]))
					return -1;
		}
	}
	return 0;
}

static int instruction(struct decoder *d, const struct ptx_insn *in)
{
	static int (*const family[])(struct decoder *, const struct ptx_insn *, struct mods *) = {
		decode_control, decode_memory,  decode_sync,  decode_mbarrier,
		decode_matrix,  decode_texture, decode_video, decode_arith,
	};
	struct mods m;
	int rc = 1;

	d->ntemp = 0;
	d->guard = EMU_NO_ROW;
	d->guard_negated = in->guard_negated;
	if (in->guard.len) {
		struct ptx_operand g = { .kind = PTX_OPD_REG, .name = in->guard };
		enum ptx_type type = PTX_T_NONE;

		d->guard = decode_register(d, &g, &type);
		if (d->guard == EMU_NO_ROW || type != PTX_T_PRED)
			return decode_fail(d, "guard %.*s is no predicate", (int)in->guard.len,
					   in->guard.s);
	}
	if (decode_mods(d, in->opcode, &m))
		return -1;
	for (size_t i = 0; rc > 0 && i < sizeof(family) / sizeof(family[0]); i++)
		rc = family[i](d, in, &m);
	if (rc && !d->err->text[0])
		return decode_fail(d, "%.*s: out of memory", (int)in->opcode.len, in->opcode.s);
	return rc;
}

static void scope_open(struct decoder *d)
{
	d->names.parent = emu_grow(d->names.parent, &d->names.capscope, d->names.nscope + 1,
				   sizeof(*d->names.parent));
	if (!d->names.parent)
		return;
	d->names.parent[d->names.nscope] = d->names.nscope ? d->names.scope : 0;
	d->names.scope = d->names.nscope++;
}

static void forget(struct decoder *d)
{
	for (uint32_t i = 1; i < d->names.nsym; i++)
		free(d->names.sym[i].row);
	d->names.nsym = 0;
	memset(d->names.bucket, 0, sizeof(d->names.bucket));
	d->names.nscope = 0;
	d->names.scope = 0;
	d->fixups.nfixup = 0;
}

static int statements(struct decoder *d, const struct ptx_func *f)
{
	for (uint32_t k = 0; k < f->nstmt; k++) {
		const struct ptx_stmt *s = &f->stmt[k];
		struct sym *sym;

		d->line = s->span.line;
		switch (s->kind) {
		case PTX_STMT_OPEN:
			scope_open(d);
			if (!d->names.parent)
				return decode_fail(d, "out of memory");
			break;
		case PTX_STMT_CLOSE:
			d->names.scope = d->names.parent[d->names.scope];
			break;
		case PTX_STMT_LABEL:
			sym = decode_declare(d, s->label, SYM_LABEL);
			if (!sym)
				return decode_fail(d, "out of memory");
			sym->value = d->program->nop;
			break;
		case PTX_STMT_DECL:
			for (uint32_t v = 0; v < s->decl.n; v++)
				if (decode_declare_var(d, &s->decl.var[v]))
					return -1;
			break;
		case PTX_STMT_BRANCHTARGETS:
			sym = decode_declare(d, s->targets.label, SYM_TABLE);
			if (!sym)
				return decode_fail(d, "out of memory");
			sym->stmt = s;
			break;
		case PTX_STMT_INSN:
			if (instruction(d, &s->insn))
				return -1;
			break;
		case PTX_STMT_DIRECTIVE:
			if (decode_loc(d, s->directive))
				return -1;
			break;
		case PTX_STMT_CALLPROTOTYPE:
			break;
		}
	}
	return 0;
}

static int resolve(struct decoder *d)
{
	for (uint32_t i = 0; i < d->fixups.nfixup; i++) {
		const struct fixup *x = &d->fixups.fixup[i];
		struct sym *s;
		int index;

		d->names.scope = x->scope;
		d->line = x->line;
		s = decode_lookup(d, x->label, &index);
		if (!s || s->kind != SYM_LABEL)
			return decode_fail(d, "no label %.*s", (int)x->label.len, x->label.s);
		if (x->slot == UINT32_MAX)
			d->program->op[x->op].target = (uint32_t)s->value;
		else
			d->program->table[x->table].pc[x->slot] = (uint32_t)s->value;
	}
	return 0;
}

/* Formal parameters of all functions come first: calls refer to them. */
static int prepare(struct decoder *d, uint32_t index)
{
	d->func = &d->program->func[index];
	d->func_index = index;
	forget(d);
	scope_open(d);
	if (!d->names.parent)
		return decode_fail(d, "out of memory");
	if (!index)
		return decode_kernel_params(d, d->func->ast);
	d->func->frame_bytes = 0;
	d->func->local_bytes = 0;
	free(d->func->param_at);
	free(d->func->param_row);
	free(d->func->ret_at);
	free(d->func->ret_row);
	d->func->param_at = d->func->param_row = d->func->ret_at = d->func->ret_row = NULL;
	if (decode_formals(d, d->func->ast->param, d->func->ast->nparam, &d->func->param_at,
			   &d->func->param_row))
		return -1;
	return decode_formals(d, d->func->ast->ret, d->func->ast->nret, &d->func->ret_at,
			      &d->func->ret_row);
}

static int function(struct decoder *d, uint32_t index)
{
	struct emu_program *p = d->program;
	uint32_t first = p->nop;
	struct emu_op *op;

	if (index == 0 && p->params.param) {
		free(p->params.param);
		p->params.param = NULL;
	}
	if (prepare(d, index))
		return -1;
	d->carry = EMU_NO_ROW;
	for (size_t i = 0; i < sizeof(d->temp) / sizeof(d->temp[0]); i++)
		d->temp[i] = EMU_NO_ROW;
	d->func->entry = first;
	if (decode_loc_reset(d) || statements(d, d->func->ast))
		return -1;
	/* the end of a body is a return */
	d->guard = EMU_NO_ROW;
	op = decode_emit(d, EMU_C_RET, emu_h_nop);
	if (!op)
		return decode_fail(d, "out of memory");
	op->target = index;
	d->func->frame_bytes = (uint32_t)decode_align(d->func->frame_bytes, 256);
	d->func->local_bytes = (uint32_t)decode_align(d->func->local_bytes, 16);
	for (uint32_t i = first; i < p->nop; i++) {
		if (p->op[i].cls == EMU_C_CALL || p->op[i].cls == EMU_C_CALL_INDIRECT) {
			p->op[i].imm = d->func->frame_bytes;
			p->op[i].extra[0] = (int32_t)d->func->local_bytes;
		}
		if (p->op[i].fn == emu_h_alloca || p->op[i].fn == emu_h_stacksave ||
		    p->op[i].fn == emu_h_stackrestore)
			p->op[i].imm = d->func->local_bytes;
	}
	return resolve(d);
}

#define RECURSION_FRAMES (512u << 10)
#define RECURSION_LOCAL (32u << 10)

/* The deepest chain of calls; recursion and indirect calls get a stack. */
static void add_sizes(struct emu_program *p, uint32_t f, uint32_t depth, uint8_t *on_path,
		      uint32_t frame, uint32_t local)
{
	uint32_t end = f + 1 < p->nfunc ? p->func[f + 1].entry : p->nop;

	frame += p->func[f].frame_bytes;
	local += p->func[f].local_bytes;
	if (frame > p->needs.frame_total)
		p->needs.frame_total = frame;
	if (local > p->needs.local_total)
		p->needs.local_total = local;
	if (depth + 2 > p->needs.max_depth)
		p->needs.max_depth = depth + 2;
	on_path[f] = 1;
	for (uint32_t i = p->func[f].entry; i < end && !p->needs.uses_recursion; i++) {
		if (p->op[i].cls == EMU_C_CALL_INDIRECT || p->op[i].fn == emu_h_alloca) {
			p->needs.uses_recursion = 1; /* as deep as it gets, nobody knows */
		} else if (p->op[i].cls == EMU_C_CALL) {
			uint32_t callee = p->call[p->op[i].target].func;

			if (on_path[callee] || depth > 64)
				p->needs.uses_recursion = 1;
			else
				add_sizes(p, callee, depth + 1, on_path, frame, local);
		}
	}
	on_path[f] = 0;
}

static int finish(struct decoder *d)
{
	struct emu_program *p = d->program;
	uint8_t *on_path = calloc(p->nfunc, 1);

	if (!on_path)
		return decode_fail(d, "out of memory");
	add_sizes(p, 0, 0, on_path, 0, 0);
	free(on_path);
	if (p->needs.uses_recursion) {
		p->needs.frame_total += RECURSION_FRAMES;
		p->needs.local_total += RECURSION_LOCAL;
		p->needs.max_depth = 1024;
	}
	p->needs.nreg = p->func[0].frame_bytes / 128 < 16 ? 16 : p->func[0].frame_bytes / 128;
	if (p->needs.nreg > 255)
		p->needs.nreg = 255;
	return 0;
}

struct emu_program *emu_decode(const struct ptx_module *module, const struct ptx_func *func,
			       const struct emu_symbols *symbols, struct gs_error *err)
{
	struct decoder *d = calloc(1, sizeof(*d));
	struct emu_program *p = calloc(1, sizeof(*p));
	struct gs_error local;
	int rc = -1;

	err = err ? err : &local;
	err->text[0] = '\0';
	if (!d || !p) {
		gs_fail(err, "out of memory");
		goto out;
	}
	d->module = module;
	d->symbols = symbols;
	d->program = p;
	d->err = err;
	d->line = func->span.line;
	if (add_function(d, func, (uint32_t)(func - module->func)) || scan(d) ||
	    decode_place_shared(d))
		goto out;
	for (uint32_t i = 1; i < p->nfunc; i++)
		if (prepare(d, i))
			goto out;
	for (uint32_t i = 0; i < p->nfunc; i++)
		if (function(d, i))
			goto out;
	rc = finish(d);
out:
	if (d) {
		forget(d);
		free(d->names.sym);
		free(d->names.parent);
		free(d->fixups.fixup);
		free(d->shared);
		free(d->constants.constant);
		free(d);
	}
	if (rc) {
		emu_program_free(p);
		return NULL;
	}
	return p;
}
