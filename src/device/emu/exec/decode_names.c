/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names to what they stand for: scoped symbols in a hash table, register ranges, functions; and the
 * first error. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/decode.h"

void *emu_grow(void *p, uint32_t *cap, uint32_t need, size_t size)
{
	uint32_t n = *cap ? *cap : 64;
	void *q;

	if (need <= *cap)
		return p;
	while (n < need)
		n *= 2;
	q = realloc(p, (size_t)n * size);
	if (q)
		*cap = n;
	else
		free(p);
	return q;
}

int decode_fail(struct decoder *d, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	if (d->err->text[0]) /* the first reason counts */
		return -1;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return gs_fail(d->err, "line %u: %s", d->line, text);
}

int decode_unknown(struct decoder *d, const struct ptx_insn *in)
{
	return decode_fail(d, "unknown instruction %.*s", (int)in->opcode.len, in->opcode.s);
}

static uint32_t hash(struct ptx_slice s)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < s.len; i++)
		h = (h ^ (uint8_t)s.s[i]) * 16777619u;
	return h & 1023;
}

struct sym *decode_declare(struct decoder *d, struct ptx_slice name, enum sym_kind kind)
{
	uint32_t h = hash(name);
	struct sym *s;

	d->names.sym =
		emu_grow(d->names.sym, &d->names.capsym, d->names.nsym + 2, sizeof(*d->names.sym));
	if (!d->names.sym)
		return NULL;
	if (!d->names.nsym)
		d->names.nsym = 1;
	s = &d->names.sym[d->names.nsym];
	memset(s, 0, sizeof(*s));
	s->name = name;
	s->scope = d->names.scope;
	s->kind = kind;
	s->next = d->names.bucket[h];
	d->names.bucket[h] = d->names.nsym++;
	return s;
}

static struct sym *find(struct decoder *d, struct ptx_slice name, uint32_t scope)
{
	for (uint32_t i = d->names.bucket[hash(name)]; i; i = d->names.sym[i].next)
		if (d->names.sym[i].scope == scope && ptx_same(d->names.sym[i].name, name))
			return &d->names.sym[i];
	return NULL;
}

struct sym *decode_lookup(struct decoder *d, struct ptx_slice name, int *index)
{
	struct ptx_slice stem = name;
	uint64_t number = 0, unit = 1;

	while (stem.len && stem.s[stem.len - 1] >= '0' && stem.s[stem.len - 1] <= '9' &&
	       unit <= 1000000000u) {
		number += unit * (uint64_t)(stem.s[stem.len - 1] - '0');
		unit *= 10;
		stem.len--;
	}
	*index = 0;
	for (uint32_t scope = d->names.scope;; scope = d->names.parent[scope]) {
		struct sym *s = find(d, name, scope);

		if (s && !s->range)
			return s;
		if (stem.len < name.len) {
			s = find(d, stem, scope);
			if (s && s->range > number) {
				*index = (int)number;
				return s;
			}
		}
		if (!scope)
			return NULL;
	}
}

const struct ptx_func *decode_find_func(const struct ptx_module *m, struct ptx_slice name,
					uint32_t *index)
{
	const struct ptx_func *decl = NULL;

	for (uint32_t i = 0; i < m->nfunc; i++) {
		if (!ptx_same(m->func[i].name, name))
			continue;
		*index = i;
		if (!m->func[i].is_decl)
			return &m->func[i];
		decl = &m->func[i];
	}
	return decl;
}

void emu_program_free(struct emu_program *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->nfunc; i++) {
		free(p->func[i].param_at);
		free(p->func[i].ret_at);
		free(p->func[i].param_row);
		free(p->func[i].ret_row);
	}
	for (uint32_t i = 0; i < p->ncall; i++) {
		free(p->call[i].in);
		free(p->call[i].out);
		free(p->call[i].rin);
		free(p->call[i].rout);
	}
	for (uint32_t i = 0; i < p->ntable; i++)
		free(p->table[i].pc);
	for (uint32_t i = 0; i < p->source.nfiles; i++)
		free(p->source.file[i].name);
	free(p->source.file);
	free(p->source.lines);
	free(p->rows);
	free(p->mma);
	free(p->op);
	free(p->func);
	free(p->call);
	free(p->table);
	free(p->constant);
	free(p->params.param);
	free(p);
}

int decode_add_fixup(struct decoder *d, uint32_t op, struct ptx_slice label, uint32_t table,
		     uint32_t slot)
{
	d->fixups.fixup = emu_grow(d->fixups.fixup, &d->fixups.capfixup, d->fixups.nfixup + 1,
				   sizeof(*d->fixups.fixup));
	if (!d->fixups.fixup)
		return decode_fail(d, "out of memory");
	d->fixups.fixup[d->fixups.nfixup++] = (struct fixup) { .op = op,
							       .label = label,
							       .scope = d->names.scope,
							       .line = d->line,
							       .table = table,
							       .slot = slot };
	return 0;
}
