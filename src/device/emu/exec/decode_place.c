/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a program's variables go: shared memory of the module and of its
 * functions, one after the other and the dynamic part behind; local frames
 * (depots, parameters of calls); the kernel's parameter block.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/decode.h"

const struct shared_var *decode_find_shared(struct decoder *d, struct ptx_slice name)
{
	for (uint32_t i = 0; i < d->nshared; i++)
		if (ptx_same(d->shared[i].var->name, name))
			return &d->shared[i];
	return NULL;
}

int decode_use_shared(struct decoder *d, struct ptx_slice name)
{
	const struct ptx_module *m = d->module;

	if (decode_find_shared(d, name))
		return 0;
	for (uint32_t i = 0; i < m->nvar; i++) {
		const struct ptx_var *v = &m->var[i];
		uint64_t size;

		if (v->space != PTX_SPACE_SHARED || !ptx_same(v->name, name))
			continue;
		size = ptx_var_size(v);
		d->shared = emu_grow(d->shared, &d->capshared, d->nshared + 1, sizeof(*d->shared));
		if (!d->shared)
			return decode_fail(d, "out of memory");
		d->shared[d->nshared].var = v;
		d->shared[d->nshared].offset = UINT32_MAX; /* unsized: dynamic */
		if (size) {
			uint64_t at = decode_align(d->program->needs.shared_bytes, v->align);

			if (at + size > UINT32_MAX / 2)
				return decode_fail(d, "shared memory too large");
			d->shared[d->nshared].offset = (uint32_t)at;
			d->program->needs.shared_bytes = (uint32_t)(at + size);
		}
		d->nshared++;
		return 0;
	}
	return 0;
}

/* Function-scope shared variables, before anything depends on where dynamic memory begins. */
int decode_place_shared(struct decoder *d)
{
	uint64_t at = d->program->needs.shared_bytes;

	for (uint32_t i = 0; i < d->program->nfunc; i++) {
		const struct ptx_func *f = d->program->func[i].ast;

		for (uint32_t k = 0; k < f->nstmt; k++) {
			const struct ptx_stmt *s = &f->stmt[k];

			if (s->kind != PTX_STMT_DECL)
				continue;
			for (uint32_t v = 0; v < s->decl.n; v++)
				if (s->decl.var[v].space == PTX_SPACE_SHARED)
					at = decode_align(at, s->decl.var[v].align) +
					     ptx_var_size(&s->decl.var[v]);
		}
	}
	if (at > UINT32_MAX / 2)
		return decode_fail(d, "shared memory too large");
	d->program->needs.dynamic_align_base = (uint32_t)decode_align(at, 16);
	for (uint32_t i = 0; i < d->nshared; i++)
		if (d->shared[i].offset == UINT32_MAX)
			d->program->needs.dynamic_align_base = (uint32_t)decode_align(
				d->program->needs.dynamic_align_base, d->shared[i].var->align);
	return 0;
}

int decode_declare_var(struct decoder *d, const struct ptx_var *v)
{
	struct emu_func *f = d->func;
	struct emu_program *p = d->program;
	uint64_t size = ptx_var_size(v);
	struct sym *s;

	switch (v->space) {
	case PTX_SPACE_REG: {
		uint32_t n = v->range ? v->range : 1;

		if (v->vec > 1)
			return decode_fail(d, "register %.*s of an unknown type", (int)v->name.len,
					   v->name.s);
		s = decode_declare(d, v->name, SYM_REG);
		if (!s || n > 1u << 24)
			return decode_fail(d, "out of memory");
		s->type = v->type;
		s->range = v->range;
		s->row = malloc(n * sizeof(*s->row));
		if (!s->row)
			return decode_fail(d, "out of memory");
		for (uint32_t i = 0; i < n; i++)
			s->row[i] = EMU_NO_ROW;
		return 0;
	}
	case PTX_SPACE_SHARED:
		s = decode_declare(d, v->name, SYM_SHARED);
		if (!s)
			return decode_fail(d, "out of memory");
		if (!size) {
			s->value = p->needs.dynamic_align_base;
			return 0;
		}
		p->needs.shared_bytes = (uint32_t)decode_align(p->needs.shared_bytes, v->align);
		s->value = p->needs.shared_bytes;
		p->needs.shared_bytes += (uint32_t)size;
		return 0;
	case PTX_SPACE_LOCAL:
	case PTX_SPACE_PARAM:
		s = decode_declare(d, v->name, SYM_LOCAL);
		if (!s || size > 1u << 26)
			return decode_fail(d, "local memory too large");
		f->local_bytes = (uint32_t)decode_align(f->local_bytes, v->align ? v->align : 1);
		s->value = f->local_bytes;
		s->size = size;
		f->local_bytes += (uint32_t)size;
		return 0;
	default:
		return decode_fail(d, "declaration of %.*s", (int)v->name.len, v->name.s);
	}
}

int decode_formals(struct decoder *d, const struct ptx_var *v, uint32_t n, int32_t **at,
		   int32_t **row)
{
	*at = calloc(n ? n : 1, sizeof(**at));
	*row = calloc(n ? n : 1, sizeof(**row));
	if (!*at || !*row)
		return decode_fail(d, "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		struct sym *s;
		int index;

		(*row)[i] = EMU_NO_ROW;
		if (decode_declare_var(d, &v[i]))
			return -1;
		s = decode_lookup(d, v[i].name, &index);
		if (v[i].space == PTX_SPACE_REG) {
			s->row[0] = decode_new_row(d, v[i].type == PTX_T_PRED      ? 4 :
						      decode_bits(v[i].type) == 64 ? 256 :
										     128);
			(*row)[i] = s->row[0];
		} else {
			(*at)[i] = (int32_t)s->value;
		}
	}
	return 0;
}

int decode_kernel_params(struct decoder *d, const struct ptx_func *f)
{
	struct emu_program *p = d->program;
	uint64_t at = 0;

	p->params.n = f->nparam;
	p->params.param = calloc(f->nparam ? f->nparam : 1, sizeof(*p->params.param));
	if (!p->params.param)
		return decode_fail(d, "out of memory");
	for (uint32_t i = 0; i < f->nparam; i++) {
		struct sym *s = decode_declare(d, f->param[i].name, SYM_KPARAM);
		uint64_t size = ptx_var_size(&f->param[i]);

		at = decode_align(at, f->param[i].align);
		if (!s || at + size > 32764 + 4)
			return decode_fail(d, "parameters too large");
		s->value = at;
		s->size = size;
		p->params.param[i].offset = (uint32_t)at;
		p->params.param[i].size = (uint32_t)size;
		at += size;
	}
	p->params.bytes = (uint32_t)at;
	return 0;
}
