/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading a cubin; see elf.h. */
#define _GNU_SOURCE
#include "device/cubin/elf.h"

#include <stdlib.h>
#include <string.h>

#include "device/fatbin/bytes.h"
#include "device/fatbin/objects.h"

/* No tool aligns a section of a cubin to more. */
#define ALIGN_MAX 65536u
/* A cubin with more sections has numbers that its header cannot hold; no tool writes one. */
#define SECTIONS_MAX 0xff00u
/* How many sections a byte is in, on the average. */
#define SHARED_MAX 4u

static const struct {
	const char *name;
	enum cubin_belongs belongs;
} known[] = {
#define CUBIN_SECTION(kind, name, whose) { name, CUBIN_##whose },
#include "device/cubin/sections.def"
#undef CUBIN_SECTION
};

static void classify(struct cubin_section *s)
{
	s->kind = *s->name ? CUBIN_SECTION_UNKNOWN : CUBIN_SECTION_NONE;
	s->belongs = CUBIN_MODULE;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].name);

		if (strncmp(s->name, known[i].name, n) != 0)
			continue;
		if ((known[i].belongs == CUBIN_MODULE || known[i].belongs == CUBIN_OTHERS) &&
		    s->name[n])
			continue;
		s->kind = (enum cubin_section_kind)i;
		s->belongs = known[i].belongs;
		s->whose = s->belongs == CUBIN_KERNEL ? s->name + n : NULL;
		return;
	}
}

static void to_header(const struct gs_section *s, Elf64_Shdr *h)
{
	h->sh_name = s->name_at;
	h->sh_type = s->type;
	h->sh_flags = s->flags;
	h->sh_addr = s->address;
	h->sh_offset = s->offset;
	h->sh_size = s->size;
	h->sh_link = s->link;
	h->sh_info = s->info;
	h->sh_addralign = s->align;
	h->sh_entsize = s->entry;
}

static int load_section(struct cubin_elf *e, const struct gs_elf *elf, uint32_t i, uint64_t *sum,
			struct gs_error *err)
{
	struct cubin_section *to = &e->section[i];
	struct gs_section s;

	if (gs_elf_section(elf, i, &s, err) < 0)
		return -1;
	if (s.align > ALIGN_MAX || (s.align & (s.align - 1)))
		return gs_fail(err, "cubin: section %u is aligned to %llu", i,
			       (unsigned long long)s.align);
	/* Sections of newer architectures share bytes; a bound for what may be written of them. */
	*sum += s.bytes.len;
	if (*sum / SHARED_MAX > elf->file.len)
		return gs_fail(err, "cubin: its sections overlap");
	if (s.size > UINT64_MAX / 2 || s.offset > UINT64_MAX / 2)
		return gs_fail(err, "cubin: section %u has no size that could be", i);
	to->name = s.name;
	to->data = s.bytes.data;
	to->was_at = s.offset;
	to->was_size = s.bytes.len;
	to_header(&s, &to->h);
	classify(to);
	return 0;
}

/* Does a section of strings end in one's end, so that each that begins in it ends there, too? */
static int ends(const struct cubin_section *s)
{
	return s->h.sh_type == SHT_STRTAB && s->h.sh_size && s->data[s->h.sh_size - 1] == 0;
}

static int load_symbols(struct cubin_elf *e, struct gs_error *err)
{
	const struct cubin_section *s = NULL;

	for (uint32_t i = 1; i < e->sections && !s; i++)
		if (e->section[i].h.sh_type == SHT_SYMTAB) {
			s = &e->section[i];
			e->symtab = i;
		}
	if (!s)
		return 0;
	if (s->h.sh_entsize != sizeof(Elf64_Sym) || s->h.sh_size % sizeof(Elf64_Sym) ||
	    s->h.sh_size / sizeof(Elf64_Sym) > INT32_MAX)
		return gs_fail(err, "cubin: symbols of another size");
	if (s->h.sh_link >= e->sections || !ends(&e->section[s->h.sh_link]))
		return gs_fail(err, "cubin: symbols without their names");
	e->strtab = s->h.sh_link;
	e->symbols = (uint32_t)(s->h.sh_size / sizeof(Elf64_Sym));
	e->symbol = malloc(s->h.sh_size ? s->h.sh_size : 1);
	if (!e->symbol)
		return gs_fail(err, "no memory");
	memcpy(e->symbol, s->data, s->h.sh_size);
	return 0;
}

static int load_segments(struct cubin_elf *e, struct gs_error *err)
{
	uint64_t bytes = (uint64_t)e->h.e_phnum * sizeof(Elf64_Phdr);

	if (!e->h.e_phnum)
		return 0;
	if (e->h.e_phentsize != sizeof(Elf64_Phdr) || !within(e->h.e_phoff, bytes, e->file.len))
		return gs_fail(err, "cubin: the segments are outside the file");
	e->segment = calloc(e->h.e_phnum, sizeof(*e->segment));
	if (!e->segment)
		return gs_fail(err, "no memory");
	e->segments = e->h.e_phnum;
	for (uint32_t i = 0; i < e->segments; i++) {
		struct cubin_segment *s = &e->segment[i];

		memcpy(&s->h, e->file.data + e->h.e_phoff + i * sizeof(s->h), sizeof(s->h));
		s->headers = s->h.p_type == PT_PHDR ||
			     (s->h.p_type == PT_LOAD && s->h.p_offset == e->h.e_phoff);
	}
	return 0;
}

int cubin_elf_load(struct cubin_elf *e, const void *image, size_t size, struct gs_error *err)
{
	struct gs_elf elf;
	uint64_t sum = 0;

	memset(e, 0, sizeof(*e));
	if (gs_elf_open(image, size, &elf, err) < 0)
		return -1;
	if (elf.machine != EM_CUDA)
		return gs_fail(err, "elf: machine %u is no GPU", elf.machine);
	e->file = elf.file;
	memcpy(&e->h, image, sizeof(e->h));
	if (!elf.count || elf.count != e->h.e_shnum || elf.count >= SECTIONS_MAX ||
	    elf.names >= elf.count || elf.names != e->h.e_shstrndx)
		return gs_fail(err, "cubin: %llu sections", (unsigned long long)elf.count);
	e->section = calloc(elf.count, sizeof(*e->section));
	if (!e->section)
		return gs_fail(err, "no memory");
	e->sections = (uint32_t)elf.count;
	for (uint32_t i = 0; i < e->sections; i++)
		if (load_section(e, &elf, i, &sum, err) < 0)
			return -1;
	if (e->section[0].h.sh_type != SHT_NULL)
		return gs_fail(err, "cubin: its first section has contents");
	if (!ends(&e->section[e->h.e_shstrndx]))
		return gs_fail(err, "cubin: sections without their names");
	if (load_symbols(e, err) < 0)
		return -1;
	return load_segments(e, err);
}

void cubin_elf_free(struct cubin_elf *e)
{
	for (uint32_t i = 0; e->section && i < e->sections; i++)
		free(e->section[i].owned);
	free(e->section);
	free(e->symbol);
	free(e->segment);
	memset(e, 0, sizeof(*e));
}

uint32_t cubin_elf_find(const struct cubin_elf *e, enum cubin_section_kind kind, const char *whose)
{
	for (uint32_t i = 1; i < e->sections; i++)
		if (e->section[i].kind == kind &&
		    (!whose || strcmp(e->section[i].whose, whose) == 0))
			return i;
	return 0;
}

const char *cubin_elf_symbol_name(const struct cubin_elf *e, uint32_t i)
{
	uint32_t at = e->symbol[i].st_name;
	const struct cubin_section *s = &e->section[e->strtab];

	return at < s->h.sh_size ? (const char *)s->data + at : "";
}

int cubin_elf_is_kernel(const struct cubin_elf *e, uint32_t symbol)
{
	const Elf64_Sym *y = &e->symbol[symbol];

	return ELF64_ST_TYPE(y->st_info) == STT_FUNC && (y->st_other & CUBIN_STO_ENTRY) &&
	       y->st_shndx != SHN_UNDEF && y->st_shndx < e->sections;
}

void cubin_elf_replace(struct cubin_elf *e, uint32_t i, uint8_t *data, size_t size)
{
	free(e->section[i].owned);
	e->section[i].owned = data;
	e->section[i].data = data ? data : (const uint8_t *)""; /* of no bytes */
	e->section[i].h.sh_size = size;
}

int cubin_elf_store_symbols(struct cubin_elf *e)
{
	size_t size = e->symbols * sizeof(*e->symbol);
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return -1;
	memcpy(copy, e->symbol, size);
	cubin_elf_replace(e, e->symtab, copy, size);
	return 0;
}

uint32_t cubin_elf_rights(const struct cubin_section *s)
{
	if (!(s->h.sh_flags & SHF_ALLOC))
		return 0;
	if (s->h.sh_flags & SHF_EXECINSTR)
		return PF_R | PF_X;
	return s->h.sh_flags & SHF_WRITE ? PF_R | PF_W : PF_R;
}

int cubin_elf_has_bytes(const struct cubin_section *s)
{
	return !gs_elf_without_bytes(EM_CUDA, s->h.sh_type);
}
