/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guard in front of the only kernel of a cubin that was cut. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/cubin/guard_info.h"
#include "device/cubin/image.h"
#include "device/fatbin/bytes.h"
#include "device/ptx/guard.h"

#define BARRIERS_SHIFT 20 /* in the flags of the code's section, up to CUDA 12 */
#define BARRIERS_BITS 0x7fu
#define BARRIERS_OF_GUARD 1u
#define REGISTERS_SHIFT 24 /* in its sh_info */

static int find_kernel(struct cubin_guarding *g)
{
	for (uint32_t y = 1; y < g->e->symbols && !g->symbol; y++)
		if (cubin_elf_is_kernel(g->e, y) &&
		    strcmp(cubin_elf_symbol_name(g->e, y), g->name) == 0)
			g->symbol = y;
	g->text = cubin_elf_find(g->e, CUBIN_SECTION_TEXT, g->name);
	g->info = cubin_elf_find(g->e, CUBIN_SECTION_INFO, g->name);
	g->params = cubin_elf_find(g->e, CUBIN_SECTION_PARAMS, g->name);
	if (!g->symbol || !g->text || !g->info || !g->params)
		return CUBIN_GUARD_REFUSE(g, CODE, "cubin: the kernel's parts are not found");
	for (uint32_t y = 1; y < g->e->symbols && !g->params_symbol; y++)
		if (ELF64_ST_TYPE(g->e->symbol[y].st_info) == STT_SECTION &&
		    g->e->symbol[y].st_shndx == g->params)
			g->params_symbol = y;
	return 0;
}

/* A kernel without parameters has no symbol for their section. */
static int add_params_symbol(struct cubin_guarding *g)
{
	struct cubin_elf *e = g->e;
	struct cubin_section *names = &e->section[e->strtab], *s = &e->section[e->symtab];
	size_t n = strlen(e->section[g->params].name) + 1;
	uint8_t *text = malloc(names->h.sh_size + n);
	Elf64_Sym *grown = realloc(e->symbol, (e->symbols + 1u) * sizeof(*grown)), *y;

	if (grown)
		e->symbol = grown;
	if (!text || !grown) {
		free(text);
		return gs_fail(g->err, "no memory");
	}
	y = &e->symbol[e->symbols];
	memset(y, 0, sizeof(*y));
	y->st_name = (uint32_t)names->h.sh_size;
	y->st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
	y->st_shndx = (uint16_t)g->params;
	memcpy(text, names->data, names->h.sh_size);
	memcpy(text + names->h.sh_size, e->section[g->params].name, n);
	cubin_elf_replace(e, e->strtab, text, names->h.sh_size + n);
	if (s->h.sh_info == e->symbols)
		s->h.sh_info++;
	g->params_symbol = e->symbols++;
	return 0;
}

static int guard_code(struct cubin_guarding *g, uint32_t registers)
{
	struct cubin_section *s = &g->e->section[g->text];
	size_t size = g->t->code_size + s->h.sh_size;
	uint8_t *code = malloc(size);
	uint32_t in_header = s->h.sh_info >> REGISTERS_SHIFT;
	uint64_t barriers = s->h.sh_flags >> BARRIERS_SHIFT & BARRIERS_BITS;

	if (!code)
		return gs_fail(g->err, "no memory");
	cubin_template_copy(g->t, g->param_at, code);
	memcpy(code + g->t->code_size, s->data, s->h.sh_size);
	cubin_elf_replace(g->e, g->text, code, size);
	if (in_header && in_header < g->t->registers)
		s->h.sh_info = (s->h.sh_info & 0xffffff) | g->t->registers << REGISTERS_SHIFT;
	if (!in_header && !registers)
		return CUBIN_GUARD_REFUSE(g, FORMAT,
					  "cubin: it does not say how many registers it has");
	if (g->e->h.e_ident[EI_ABIVERSION] < 8 && barriers < BARRIERS_OF_GUARD)
		s->h.sh_flags |= (uint64_t)BARRIERS_OF_GUARD << BARRIERS_SHIFT;
	return 0;
}

/* The kernel grows; what is inside it moves up. */
static void guard_symbols(struct cubin_guarding *g)
{
	for (uint32_t i = 1; i < g->e->symbols; i++) {
		Elf64_Sym *y = &g->e->symbol[i];

		if (i == g->symbol)
			y->st_size += g->t->code_size;
		else if (y->st_shndx == g->text && ELF64_ST_TYPE(y->st_info) != STT_SECTION)
			y->st_value += g->t->code_size;
	}
}

static int guard_relocation(struct cubin_guarding *g, uint8_t *r, int in_code, int has_addend)
{
	uint64_t place = get64(r), symbol = get64(r + 8) >> 32, addend;
	const Elf64_Sym *y;

	if (symbol >= g->e->symbols || symbol == g->symbol)
		return CUBIN_GUARD_REFUSE(g, RELOCATION,
					  "cubin: a relocation is against the kernel itself");
	y = &g->e->symbol[symbol];
	if (y->st_shndx == SHN_UNDEF)
		return CUBIN_GUARD_REFUSE(g, FUNCTIONS, "cubin: a relocation is against %.100s",
					  cubin_elf_symbol_name(g->e, (uint32_t)symbol));
	if (in_code) {
		place += g->t->code_size;
		memcpy(r, &place, sizeof(place));
	}
	if (y->st_shndx != g->text || ELF64_ST_TYPE(y->st_info) != STT_SECTION)
		return 0;
	if (!has_addend)
		return CUBIN_GUARD_REFUSE(g, RELOCATION,
					  "cubin: a relocation against its code has no addend");
	addend = get64(r + 16) + g->t->code_size;
	memcpy(r + 16, &addend, sizeof(addend));
	return 0;
}

static int guard_relocations(struct cubin_guarding *g)
{
	for (uint32_t i = 1; i < g->e->sections; i++) {
		struct cubin_section *s = &g->e->section[i];
		int has_addend = s->h.sh_type == SHT_RELA;
		size_t each = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
		uint8_t *copy;

		if ((s->h.sh_type != SHT_RELA && s->h.sh_type != SHT_REL) ||
		    s->belongs != CUBIN_KERNEL || !s->h.sh_size)
			continue;
		if (s->h.sh_size % each)
			return CUBIN_GUARD_REFUSE(g, RELOCATION,
						  "cubin: relocations of another size");
		copy = malloc(s->h.sh_size);
		if (!copy)
			return gs_fail(g->err, "no memory");
		memcpy(copy, s->data, s->h.sh_size);
		cubin_elf_replace(g->e, i, copy, s->h.sh_size);
		for (size_t at = 0; at < s->h.sh_size; at += each)
			if (guard_relocation(g, copy + at, s->h.sh_info == g->text, has_addend) < 0)
				return -1;
	}
	return 0;
}

static int guard_params(struct cubin_guarding *g)
{
	const struct cubin_section *s = &g->e->section[g->params];
	size_t size = CUBIN_PARAMS_AT + g->param_at + GS_GUARD_PARAM_BYTES;
	uint8_t *bank = calloc(1, size);

	if (!bank)
		return gs_fail(g->err, "no memory");
	memcpy(bank, s->data, s->h.sh_size < size ? s->h.sh_size : size);
	cubin_elf_replace(g->e, g->params, bank, size);
	return 0;
}

static int guard_all(struct cubin_guarding *g, struct cubin_guarded *out)
{
	if (find_kernel(g) < 0 || (!g->params_symbol && add_params_symbol(g) < 0) ||
	    cubin_guard_module_info(g, &out->registers_before) < 0)
		return -1;
	if (!out->registers_before)
		out->registers_before = g->e->section[g->text].h.sh_info >> REGISTERS_SHIFT;
	if (guard_code(g, out->registers_before) < 0 || guard_params(g) < 0 ||
	    cubin_guard_info(g) < 0 || guard_relocations(g) < 0)
		return -1;
	guard_symbols(g);
	out->registers =
		out->registers_before > g->t->registers ? out->registers_before : g->t->registers;
	out->guard_bytes = (uint32_t)g->t->code_size;
	return cubin_elf_store_symbols(g->e) < 0 ? gs_fail(g->err, "no memory") : 0;
}

/* As cubin_guard_kernel(), for kernel i; -1 also where out->reason says why. */
static int guard(const struct cubin *c, uint32_t i, int clusters, struct cubin_guarded *out,
		 struct gs_error *err)
{
	struct cubin_elf cut = { 0 };
	struct cubin_kernel k;
	struct cubin_guarding g = { .e = &cut, .reason = &out->reason, .err = err };
	int rc = -1;

	cubin_facts(c, i, &k, err);
	out->reason = k.reason;
	if (k.reason != CUBIN_REASON_NONE || cubin_cut_model(c, i, &cut, &out->reason, err) < 0)
		return -1;
	g.name = k.name;
	g.t = cubin_template_find(out->kind, clusters || k.cluster[0]);
	g.param = out->param = k.params;
	g.param_at = (k.param_bytes + GS_GUARD_PARAM_ALIGN - 1) & ~(GS_GUARD_PARAM_ALIGN - 1);
	out->param_offset = g.param_at;
	out->param_bytes = g.param_at + GS_GUARD_PARAM_BYTES;
	if (g.t && guard_all(&g, out) == 0) {
		out->image = cubin_elf_write(&cut, &out->size, err);
		rc = out->image ? 0 : -1;
	}
	cubin_elf_free(&cut);
	return rc;
}

int cubin_guard_kernel(const void *image, size_t size, const char *kernel, enum cubin_guard kind,
		       int clusters, struct cubin_guarded *out, struct gs_error *err)
{
	struct cubin *c;
	int64_t i;
	int rc;

	memset(out, 0, sizeof(*out));
	out->kind = kind;
	c = cubin_open(image, size, err);
	if (!c)
		return -1;
	i = cubin_find(c, kernel);
	rc = i < 0 ? gs_fail(err, "cubin: there is no kernel %.200s", kernel) :
		     guard(c, (uint32_t)i, clusters, out, err);
	cubin_close(c);
	if (rc == 0)
		return 1;
	return out->reason == CUBIN_REASON_NONE ? -1 : 0;
}

uint8_t *cubin_cut(const struct cubin *c, uint32_t i, size_t *size, enum cubin_reason *reason,
		   struct gs_error *err)
{
	struct cubin_elf cut = { 0 };
	struct cubin_kernel k;
	uint8_t *image = NULL;

	*reason = CUBIN_REASON_NONE;
	if (i >= c->kernels) {
		gs_fail(err, "cubin: there is no kernel %u", i);
		return NULL;
	}
	cubin_facts(c, i, &k, err);
	*reason = k.reason;
	if (k.reason == CUBIN_REASON_NONE && cubin_cut_model(c, i, &cut, reason, err) == 0)
		image = cubin_elf_write(&cut, size, err);
	cubin_elf_free(&cut);
	return image;
}
