/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cubin as sections, symbols and segments that can be changed and written
 * again.  Names and contents refer to the image until they are replaced.
 */
#ifndef GPUSHARE_CUBIN_ELF_H
#define GPUSHARE_CUBIN_ELF_H

#include <elf.h>

#include "common/error.h"
#include "device/fatbin/fatbin.h"

/* What sections.def knows. */
enum cubin_section_kind {
#define CUBIN_SECTION(kind, name, whose) CUBIN_SECTION_##kind,
#include "device/cubin/sections.def"
#undef CUBIN_SECTION
	CUBIN_SECTION_NONE, /* the one without a name, which each file has first */
	CUBIN_SECTION_UNKNOWN
};

enum cubin_belongs { CUBIN_KERNEL, CUBIN_MODULE, CUBIN_OTHERS, CUBIN_DEBUG };

struct cubin_section {
	const char *name;
	enum cubin_section_kind kind;
	enum cubin_belongs belongs;
	const char *whose; /* KERNEL: the kernel's name, behind the beginning of its own */
	const uint8_t *data;
	uint8_t *owned;            /* where data is ours */
	Elf64_Shdr h;              /* as it will be written; the offset is found then */
	uint64_t was_at, was_size; /* in the image */
};

struct cubin_segment {
	Elf64_Phdr h;
	int headers; /* is that of the segments' own headers */
};

struct cubin_elf {
	struct gs_bytes file; /* the image that this is of; empty for a new one */
	Elf64_Ehdr h;
	struct cubin_section *section;
	Elf64_Sym *symbol;
	struct cubin_segment *segment;
	uint32_t sections, symbols, segments;
	uint32_t symtab, strtab; /* 0: the file has no symbols */
};

#define CUBIN_STO_ENTRY 0x10 /* st_other of a kernel */

/* Has the section bytes in the file? */
int cubin_elf_has_bytes(const struct cubin_section *s);

/* 0, or -1: not a cubin, or a broken one.  Either way cubin_elf_free() is the caller's to call. */
int cubin_elf_load(struct cubin_elf *e, const void *image, size_t size, struct gs_error *err);
void cubin_elf_free(struct cubin_elf *e);

/* The section of a kind, of a kernel if it is of such a kind (`whose` may be NULL); 0: none. */
uint32_t cubin_elf_find(const struct cubin_elf *e, enum cubin_section_kind kind, const char *whose);
/* "" if it has none. */
const char *cubin_elf_symbol_name(const struct cubin_elf *e, uint32_t i);
/* Is it a kernel with code? */
int cubin_elf_is_kernel(const struct cubin_elf *e, uint32_t symbol);
/* The contents of section i become `data`, malloc'd, which is the section's from then on. */
void cubin_elf_replace(struct cubin_elf *e, uint32_t i, uint8_t *data, size_t size);

/* The symbols as they are now become the contents of their section.  0, or -1: no memory. */
int cubin_elf_store_symbols(struct cubin_elf *e);
/* The rights of the segment that a section is loaded with, PF_R and so on; 0: it is not loaded. */
uint32_t cubin_elf_rights(const struct cubin_section *s);

/* The whole as a file: malloc'd, *size bytes; NULL: no memory, or segments of an unknown sort. */
uint8_t *cubin_elf_write(const struct cubin_elf *e, size_t *size, struct gs_error *err);

#endif
