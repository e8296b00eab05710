/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of a kernel, and why it must stay as it is. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "device/cubin/image.h"
#include "device/cubin/info.h"
#include "device/fatbin/bytes.h"
#include "device/ptx/guard.h"

/* A kernel's facts while they are gathered; only its first reason counts. */
struct gathering {
	const struct cubin *c;
	const struct cubin_parts *p;
	struct cubin_kernel *k;
	struct gs_error *err;
	uint32_t params_at; /* in constant bank 0 */
};

__attribute__((format(printf, 3, 4))) static void
refuse(struct gathering *g, enum cubin_reason reason, const char *fmt, ...)
{
	va_list ap;

	if (g->k->reason != CUBIN_REASON_NONE)
		return;
	g->k->reason = reason;
	if (!g->err)
		return;
	va_start(ap, fmt);
	vsnprintf(g->err->text, sizeof(g->err->text), fmt, ap);
	va_end(ap);
}

/* Is symbol y the kernel of these parts, or a function or a label in its code? */
static int is_inside(const struct cubin_elf *e, const struct cubin_parts *p, uint32_t y)
{
	return y && y < e->symbols && e->symbol[y].st_shndx == p->text;
}

static const struct cubin_section *section(const struct gathering *g, uint32_t i)
{
	return &g->c->elf.section[i];
}

static void see_module(struct gathering *g)
{
	const Elf64_Ehdr *h = &g->c->elf.h;

	if (g->c->sm && g->c->sm != CUBIN_SM)
		refuse(g, CUBIN_REASON_ARCHITECTURE, "cubin: it is for sm_%u", g->c->sm);
	if (!g->c->sm)
		refuse(g, CUBIN_REASON_FORMAT, "cubin: its ABI is %u", h->e_ident[EI_ABIVERSION]);
	if (h->e_type != ET_EXEC)
		refuse(g, h->e_type == ET_REL ? CUBIN_REASON_RELOCATABLE : CUBIN_REASON_FORMAT,
		       "cubin: it is a file of type %u", h->e_type);
	if (g->c->elf.strtab == h->e_shstrndx)
		refuse(g, CUBIN_REASON_FORMAT, "cubin: one section has all names");
}

static void see_code(struct gathering *g)
{
	const Elf64_Sym *y = &g->c->elf.symbol[g->p->symbol];
	const struct cubin_section *s = section(g, g->p->text);
	int whole = g->p->text && s->kind == CUBIN_SECTION_TEXT && s->h.sh_type == SHT_PROGBITS &&
		    s->h.sh_size && s->h.sh_size % 16 == 0 && y->st_value == 0 &&
		    y->st_size == s->h.sh_size && strcmp(s->whose, g->k->name) == 0;

	if (!whole || s->h.sh_addralign < 128) {
		refuse(g, CUBIN_REASON_CODE, "cubin: its code is not a section of its own");
		return;
	}
	g->k->code_bytes = s->h.sh_size;
	g->k->uses = cubin_code_uses(s->data, s->h.sh_size);
	if (g->k->uses & CUBIN_USES_COOPERATIVE)
		refuse(g, CUBIN_REASON_COOPERATIVE, "cubin: its code has a barrier of the grid");
	if (g->k->uses & CUBIN_USES_VARIABLES &&
	    cubin_takes_constants_only(&g->c->elf, s->data, s->h.sh_size, NULL))
		g->k->uses ^= CUBIN_USES_VARIABLES | CUBIN_USES_CONSTANTS;
	if (g->k->uses & CUBIN_USES_VARIABLES)
		refuse(g, CUBIN_REASON_VARIABLES,
		       "cubin: its code reads constant bank 3 or 4, which are the module's");
	/* Up to CUDA 12 these two stand in the section's header. */
	if (cubin_abi(g->c) < 8)
		g->k->barriers = s->h.sh_flags >> 20 & 0x7f;
	g->k->registers = g->p->registers ? g->p->registers : s->h.sh_info >> 24;
}

/* Does the value consist of whole entries?  Those with counts inside are looked at by who shifts
 * them. */
static int is_whole(const struct cubin_info *i)
{
	switch (cubin_attribute_layout(i->number)) {
	case CUBIN_OFFSETS4:
	case CUBIN_SYMBOLS:
		return i->stored == CUBIN_STORED_BYTES && i->size % 4 == 0;
	case CUBIN_OFFSETS8:
	case CUBIN_SPILLS:
		return i->stored == CUBIN_STORED_BYTES && i->size % 8 == 0;
	case CUBIN_OFFSETS16:
		return i->stored == CUBIN_STORED_BYTES && i->size % 16 == 0;
	case CUBIN_PARAMETER:
		return i->stored == CUBIN_STORED_BYTES && i->size == 12;
	case CUBIN_BANK:
		return i->stored == CUBIN_STORED_BYTES && i->size == 8;
	case CUBIN_SIZE:
		return i->stored == CUBIN_STORED_HALF;
	case CUBIN_PLAIN:
	case CUBIN_BRANCHES:
		return 1;
	default:
		return 0;
	}
}

/* Functions that the kernel calls and the cubin has not. */
static void see_externs(struct gathering *g, const struct cubin_info *i)
{
	const struct cubin_elf *e = &g->c->elf;

	for (size_t at = 0; at + 4 <= i->size; at += 4) {
		uint32_t y = get32(i->value + at);

		if (!cubin_is_drivers(e, y))
			refuse(g, CUBIN_REASON_FUNCTIONS, "cubin: it calls %.100s",
			       y < e->symbols ? cubin_elf_symbol_name(e, y) : "?");
	}
}

static void see_value(struct gathering *g, const struct cubin_info *i)
{
	struct cubin_kernel *k = g->k;

	switch (i->number) {
	case CUBIN_ATTRIBUTE_PARAM_INFO:
		k->params++;
		break;
	case CUBIN_ATTRIBUTE_PARAM_CBANK:
		g->params_at = get16(i->value + 4);
		k->param_bytes = get16(i->value + 6);
		break;
	case CUBIN_ATTRIBUTE_MAX_THREADS:
		if (i->size >= 12)
			k->max_threads =
				get32(i->value) * get32(i->value + 4) * get32(i->value + 8);
		break;
	case CUBIN_ATTRIBUTE_BLOCKS_PER_CLUSTER:
		if (i->size >= 12)
			for (int d = 0; d < 3; d++)
				k->cluster[d] = get32(i->value + (size_t)4 * d);
		break;
	case CUBIN_ATTRIBUTE_BARRIERS:
		k->barriers = i->value[0];
		break;
	case CUBIN_ATTRIBUTE_EXTERNS:
		see_externs(g, i);
		break;
	default:
		break;
	}
}

static void see_attributes(struct gathering *g)
{
	const struct cubin_section *s = section(g, g->p->info);
	struct gs_error broken = { "" };
	struct cubin_info i;
	size_t at = 0;
	int rc = 0;

	g->params_at = CUBIN_PARAMS_AT;
	if (!g->p->info || !cubin_elf_has_bytes(s)) {
		refuse(g, CUBIN_REASON_FORMAT, "cubin: it has no attributes");
		return;
	}
	while ((rc = cubin_info_next(s->data, s->h.sh_size, &at, &i, &broken)) > 0) {
		if (is_whole(&i))
			see_value(g, &i);
		else
			refuse(g, CUBIN_REASON_ATTRIBUTE, "cubin: attribute %#x of %u bytes",
			       i.number, i.size);
	}
	if (rc < 0)
		refuse(g, CUBIN_REASON_ATTRIBUTE, "%s", broken.text);
}

static void see_params(struct gathering *g)
{
	const struct cubin_section *s = section(g, g->p->params);
	uint32_t at = (g->k->param_bytes + GS_GUARD_PARAM_ALIGN - 1) & ~(GS_GUARD_PARAM_ALIGN - 1);

	if (!g->p->params || !cubin_elf_has_bytes(s) || g->params_at != CUBIN_PARAMS_AT ||
	    s->h.sh_size != g->params_at + g->k->param_bytes)
		refuse(g, CUBIN_REASON_PARAMETERS,
		       "cubin: its parameters stand at %#x in %llu bytes of constants",
		       g->params_at, (unsigned long long)s->h.sh_size);
	if (at + GS_GUARD_PARAM_BYTES > CUBIN_PARAMS_MAX)
		refuse(g, CUBIN_REASON_PARAMETERS, "cubin: it has %u bytes of parameters",
		       g->k->param_bytes);
}

/* Pairs of { caller, callee }, of which negative ones and 0 are marks. */
static void see_calls(struct gathering *g)
{
	const struct cubin_elf *e = &g->c->elf;
	const struct cubin_section *s = section(g, cubin_elf_find(e, CUBIN_SECTION_CALLS, NULL));

	if (s->kind != CUBIN_SECTION_CALLS || !cubin_elf_has_bytes(s))
		return;
	for (size_t at = 0; at + 8 <= s->h.sh_size; at += 8) {
		uint32_t caller = get32(s->data + at), callee = get32(s->data + at + 4);

		if (callee <= INT32_MAX && callee && is_inside(e, g->p, caller) &&
		    !is_inside(e, g->p, callee) && !cubin_is_drivers(e, callee))
			refuse(g, CUBIN_REASON_FUNCTIONS, "cubin: it calls %.100s",
			       callee < e->symbols ? cubin_elf_symbol_name(e, callee) : "?");
	}
}

void cubin_facts(const struct cubin *c, uint32_t i, struct cubin_kernel *k, struct gs_error *err)
{
	struct gathering g = { .c = c, .p = &c->kernel[i], .k = k, .err = err };

	memset(k, 0, sizeof(*k));
	k->name = cubin_elf_symbol_name(&c->elf, g.p->symbol);
	k->local = g.p->local;
	if (g.p->shared)
		k->shared = section(&g, g.p->shared)->h.sh_size;
	if (k->shared >= c->shared_reserved)
		k->shared -= c->shared_reserved;
	see_module(&g);
	see_attributes(&g);
	see_code(&g);
	see_params(&g);
	see_calls(&g);
}

int cubin_kernel(const struct cubin *c, uint32_t i, struct cubin_kernel *k, struct gs_error *err)
{
	enum cubin_reason reason = CUBIN_REASON_NONE;
	struct cubin_elf cut = { 0 };
	int rc = 0;

	if (i >= c->kernels)
		return gs_fail(err, "cubin: there is no kernel %u", i);
	cubin_facts(c, i, k, err);
	if (k->reason == CUBIN_REASON_NONE) {
		/* What of its sections and symbols cannot be cut out shows by doing so. */
		rc = cubin_cut_model(c, i, &cut, &reason, err);
		k->reason = reason;
		cubin_elf_free(&cut);
	}
	return rc < 0 && reason == CUBIN_REASON_NONE ? -1 : 0;
}

int cubin_param(const struct cubin *c, uint32_t i, uint32_t ordinal, uint32_t *offset,
		uint32_t *size)
{
	const struct cubin_section *s;
	struct cubin_info in;
	size_t at = 0;

	if (i >= c->kernels || !c->kernel[i].info)
		return -1;
	s = &c->elf.section[c->kernel[i].info];
	while (cubin_elf_has_bytes(s) && cubin_info_next(s->data, s->h.sh_size, &at, &in, NULL) > 0)
		if (in.number == CUBIN_ATTRIBUTE_PARAM_INFO && in.size == 12 &&
		    get16(in.value + 4) == ordinal) {
			*offset = get16(in.value + 6);
			*size = get32(in.value + 8) >> 18;
			return 0;
		}
	return -1;
}
