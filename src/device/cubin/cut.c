/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One kernel of a cubin as a cubin of its own.  Sections and symbols that stay
 * get new numbers; everything that names one by its number is written anew.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/cubin/buffer.h"
#include "device/cubin/cutting.h"

/* Is a section's sh_info the number of a section? */
static int names_section(const struct cubin_section *s)
{
	return s->h.sh_info && (s->h.sh_flags & SHF_INFO_LINK || s->h.sh_type == SHT_RELA ||
				s->h.sh_type == SHT_REL ||
				(s->belongs == CUBIN_KERNEL && s->kind != CUBIN_SECTION_TEXT));
}

/* Constants that may be taken along, and where their addresses stand? */
static int has_constants(const struct cubin_section *s)
{
	return s->kind == CUBIN_SECTION_GLOBAL_INIT || s->kind == CUBIN_SECTION_CONSTANT4 ||
	       s->kind == CUBIN_SECTION_RELA_CONSTANT4;
}

/* 1: it stays; 0: it is left behind; -1: refused. */
static int stays(const struct cubin_cutting *x, uint32_t i)
{
	const struct cubin_section *s = &x->from->section[i];

	switch (s->belongs) {
	case CUBIN_KERNEL:
		if (strcmp(s->whose, x->name) != 0)
			return 0;
		if ((s->kind == CUBIN_SECTION_TEXT && i != x->kernel->text) ||
		    (s->kind == CUBIN_SECTION_INFO && i != x->kernel->info) ||
		    (s->kind == CUBIN_SECTION_PARAMS && i != x->kernel->params))
			return CUBIN_CUT_REFUSE(x, SECTION, "cubin: there are two sections %.100s",
						s->name);
		return 1;
	case CUBIN_MODULE:
		break;
	case CUBIN_OTHERS:
		return x->taken && has_constants(s);
	default:
		return 0;
	}
	if (s->kind != CUBIN_SECTION_UNKNOWN)
		return 1;
	/* Whatever it is, it belongs to another kernel. */
	if (s->h.sh_flags & SHF_INFO_LINK && s->h.sh_info < x->from->sections &&
	    x->from->section[s->h.sh_info].kind == CUBIN_SECTION_TEXT &&
	    s->h.sh_info != x->kernel->text)
		return 0;
	return CUBIN_CUT_REFUSE(x, SECTION, "cubin: section %.100s is not known", s->name);
}

static int choose_sections(struct cubin_cutting *x)
{
	uint32_t n = 1;

	for (uint32_t i = 1; i < x->from->sections; i++) {
		int rc = stays(x, i);

		if (rc < 0)
			return -1;
		if (rc)
			x->section[i] = n++;
	}
	x->to->section = calloc(n, sizeof(*x->to->section));
	if (!x->to->section)
		return gs_fail(x->err, "no memory");
	x->to->sections = n;
	for (uint32_t i = 1; i < x->from->sections; i++)
		if (x->section[i]) {
			struct cubin_section *s = &x->to->section[x->section[i]];

			*s = x->from->section[i];
			s->owned = NULL;
			s->was_at = s->was_size = 0;
		}
	x->to->section[0] = x->from->section[0];
	x->to->section[0].owned = NULL;
	x->to->section[0].was_at = x->to->section[0].was_size = 0;
	return 0;
}

static int symbol_stays(const struct cubin_cutting *x, uint32_t i)
{
	const Elf64_Sym *y = &x->from->symbol[i];

	if (cubin_elf_is_kernel(x->from, i) && i != x->kernel->symbol)
		return 0;
	if (y->st_shndx == SHN_UNDEF && ELF64_ST_TYPE(y->st_info) == STT_FUNC)
		return x->taken && x->taken[i];
	if (y->st_shndx == SHN_UNDEF)
		return ELF64_ST_BIND(y->st_info) != STB_LOCAL ||
		       ELF64_ST_TYPE(y->st_info) == STT_NOTYPE;
	if (y->st_shndx < x->from->sections &&
	    x->from->section[y->st_shndx].belongs == CUBIN_OTHERS &&
	    ELF64_ST_TYPE(y->st_info) != STT_SECTION)
		return x->taken && x->taken[i] && x->section[y->st_shndx];
	return y->st_shndx < x->from->sections && x->section[y->st_shndx];
}

static int choose_symbols(struct cubin_cutting *x)
{
	uint32_t n = x->from->symbols ? 1 : 0;

	for (uint32_t i = 1; i < x->from->symbols; i++)
		if (symbol_stays(x, i))
			x->symbol[i] = n++;
	x->to->symbol = calloc(n + 1, sizeof(*x->to->symbol));
	if (!x->to->symbol)
		return gs_fail(x->err, "no memory");
	x->to->symbols = n;
	if (n)
		x->to->symbol[0] = x->from->symbol[0];
	for (uint32_t i = 1; i < x->from->symbols; i++)
		if (x->symbol[i]) {
			Elf64_Sym *y = &x->to->symbol[x->symbol[i]];

			*y = x->from->symbol[i];
			y->st_shndx = (uint16_t)x->section[y->st_shndx];
		}
	return 0;
}

/* The numbers in a section's header. */
static int cut_header(struct cubin_cutting *x, uint32_t i)
{
	const struct cubin_section *was = &x->from->section[i];
	Elf64_Shdr *h = &x->to->section[x->section[i]].h;

	if (h->sh_link) {
		h->sh_link = h->sh_link < x->from->sections ? x->section[h->sh_link] : 0;
		if (!h->sh_link)
			return CUBIN_CUT_REFUSE(
				x, SECTION, "cubin: section %.100s belongs to another", was->name);
	}
	if (was->kind == CUBIN_SECTION_TEXT) {
		if ((h->sh_info & 0xffffff) == x->kernel->symbol)
			h->sh_info = (h->sh_info & 0xff000000) | x->symbol[x->kernel->symbol];
	} else if (names_section(was)) {
		h->sh_info = h->sh_info < x->from->sections ? x->section[h->sh_info] : 0;
		if (!h->sh_info)
			return CUBIN_CUT_REFUSE(x, SECTION, "cubin: section %.100s is of another",
						was->name);
	}
	return 0;
}

/* Names anew, so that those of all the others are not carried along. */
static int cut_names(struct cubin_cutting *x)
{
	struct cubin_elf *to = x->to;
	struct cubin_buffer symbols = { 0 }, sections = { 0 };
	uint32_t strtab = x->section[x->from->strtab], shstrtab = x->section[x->from->h.e_shstrndx];

	cubin_buffer_add(&symbols, NULL, 1);
	cubin_buffer_add(&sections, NULL, 1);
	for (uint32_t i = 1; i < x->from->symbols; i++) {
		const char *name = cubin_elf_symbol_name(x->from, i);

		if (!x->symbol[i])
			continue;
		to->symbol[x->symbol[i]].st_name = *name ? (uint32_t)symbols.size : 0;
		if (*name)
			cubin_buffer_add(&symbols, name, strlen(name) + 1);
	}
	for (uint32_t i = 1; i < to->sections; i++) {
		struct cubin_section *s = &to->section[i];

		s->h.sh_name = *s->name ? (uint32_t)sections.size : 0;
		if (*s->name)
			cubin_buffer_add(&sections, s->name, strlen(s->name) + 1);
	}
	if (cubin_cut_give(x, shstrtab, &sections) < 0 || cubin_cut_give(x, strtab, &symbols) < 0)
		return -1;
	to->strtab = strtab;
	to->h.e_shstrndx = (uint16_t)shstrtab;
	return 0;
}

/* The table of symbols as a section; how many of them come before the first that is not local. */
static int cut_symbol_table(struct cubin_cutting *x)
{
	const struct cubin_section *was = &x->from->section[x->from->symtab];
	uint32_t before = 0;

	for (uint32_t i = 0; i < x->from->symbols && i < was->h.sh_info; i++)
		before += i == 0 || x->symbol[i];
	x->to->symtab = x->section[x->from->symtab];
	x->to->section[x->to->symtab].h.sh_info = before;
	return cubin_elf_store_symbols(x->to) < 0 ? gs_fail(x->err, "no memory") : 0;
}

/* One segment for the headers, as before, and one for each run of sections of equal rights. */
static int cut_segments(struct cubin_cutting *x)
{
	const struct cubin_elf *from = x->from;
	struct cubin_elf *to = x->to;
	uint32_t n = 0, last = 0;

	if (!from->segments)
		return 0;
	to->segment = calloc((size_t)from->segments + to->sections, sizeof(*to->segment));
	if (!to->segment)
		return gs_fail(x->err, "no memory");
	for (uint32_t i = 0; i < from->segments; i++)
		if (from->segment[i].headers)
			to->segment[n++] = from->segment[i];
	for (uint32_t i = 1; i < to->sections; i++) {
		uint32_t rights = cubin_elf_rights(&to->section[i]);

		if (!rights || rights == last)
			continue;
		to->segment[n].h.p_type = PT_LOAD;
		to->segment[n].h.p_flags = last = rights;
		to->segment[n++].h.p_align = from->segment[from->segments - 1].h.p_align;
	}
	for (uint32_t i = 0; i < n; i++)
		if (to->segment[i].headers)
			to->segment[i].h.p_filesz = to->segment[i].h.p_memsz =
				n * sizeof(Elf64_Phdr);
	to->segments = n;
	return 0;
}

static int cut_all(struct cubin_cutting *x)
{
	x->to->h = x->from->h;
	if (choose_sections(x) < 0 || choose_symbols(x) < 0)
		return -1;
	if (!x->section[x->from->strtab] || !x->section[x->from->h.e_shstrndx] ||
	    !x->section[x->from->symtab])
		return CUBIN_CUT_REFUSE(x, FORMAT,
					"cubin: names and symbols are not where they should be");
	for (uint32_t i = 1; i < x->from->sections; i++)
		if (x->section[i] && (cubin_cut_contents(x, i) < 0 || cut_header(x, i) < 0))
			return -1;
	if (cut_names(x) < 0 || cut_symbol_table(x) < 0)
		return -1;
	return cut_segments(x);
}

/*
 * A cubin that was written by hand (cuBLAS has such, of one kernel each, without
 * segments) has fields that mean nothing or something else.  It stays as it is.
 */
static int is_by_hand(const struct cubin *c)
{
	return c->kernels == 1 && !c->elf.segments;
}

/* Would it be written as it was read? */
static int is_reproduced(struct cubin_cutting *x)
{
	size_t size;
	uint8_t *again = cubin_elf_write(x->from, &size, x->err);
	int same =
		again && size == x->from->file.len && memcmp(again, x->from->file.data, size) == 0;

	if (!again)
		return -1;
	free(again);
	return same ? 0 : CUBIN_CUT_REFUSE(x, LAYOUT, "cubin: its layout is not known");
}

static int keep_all(struct cubin_cutting *x)
{
	struct cubin_elf *to = x->to;

	for (uint32_t i = 1; i < x->from->sections; i++)
		if (stays(x, i) < 0)
			return -1;
	if (is_reproduced(x) < 0)
		return -1;
	*to = *x->from;
	to->segment = NULL;
	to->section = calloc(to->sections, sizeof(*to->section));
	to->symbol = calloc(to->symbols + 1u, sizeof(*to->symbol));
	if (!to->section || !to->symbol)
		return gs_fail(x->err, "no memory");
	memcpy(to->section, x->from->section, to->sections * sizeof(*to->section));
	memcpy(to->symbol, x->from->symbol, to->symbols * sizeof(*to->symbol));
	return 0;
}

int cubin_cut_model(const struct cubin *from, uint32_t i, struct cubin_elf *to,
		    enum cubin_reason *reason, struct gs_error *err)
{
	const struct cubin_parts *p = &from->kernel[i];
	struct cubin_cutting x = { .from = &from->elf,
				   .kernel = p,
				   .name = cubin_elf_symbol_name(&from->elf, p->symbol),
				   .to = to,
				   .reason = reason,
				   .err = err };
	const struct cubin_section *code = &from->elf.section[p->text];
	uint8_t *taken;
	int rc = -1;

	memset(to, 0, sizeof(*to));
	*reason = CUBIN_REASON_NONE;
	x.section = calloc(from->elf.sections + 1, sizeof(*x.section));
	x.symbol = calloc(from->elf.symbols + 1, sizeof(*x.symbol));
	taken = calloc(from->elf.symbols + 1, sizeof(*taken));
	if (cubin_code_uses(code->data, code->h.sh_size) & CUBIN_USES_VARIABLES)
		x.taken = taken;
	if (x.taken)
		cubin_takes_constants_only(&from->elf, code->data, code->h.sh_size, taken);
	if (x.section && x.symbol && taken)
		rc = is_by_hand(from) ? keep_all(&x) : cut_all(&x);
	else
		gs_fail(err, "no memory");
	free(x.section);
	free(x.symbol);
	free(taken);
	if (rc < 0)
		cubin_elf_free(to);
	return rc;
}
