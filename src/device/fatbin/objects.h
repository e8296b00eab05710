/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files that matter here: host programs, libraries and objects with
 * fatbin containers inside, and cubins (device/cubin has their kernels).  64-bit
 * little-endian only.  The same rules as fatbin.h: slices, no I/O, all checked.
 */
#ifndef GPUSHARE_FATBIN_OBJECTS_H
#define GPUSHARE_FATBIN_OBJECTS_H

#include "device/fatbin/fatbin.h"

/* An ELF file's section table. */
struct gs_elf {
	struct gs_bytes file;
	uint64_t table; /* file offset of the section headers */
	uint64_t count; /* sections, 0 in a file stripped of them */
	uint64_t names; /* index of the section of section names */
	uint16_t machine, type;
};

/*
 * Has a section of this type no bytes in the file?  Relocatable cubins have types
 * of their own for variables of global, local and shared memory.
 */
int gs_elf_without_bytes(uint16_t machine, uint32_t type);

struct gs_section {
	const char *name;      /* "" if it has none; NUL-terminated inside the file */
	struct gs_bytes bytes; /* empty for a section without contents (.bss) */
	uint64_t size;         /* in memory: of such a section too */
	uint32_t type, link, info;
	uint64_t flags, entry; /* sh_flags, sh_entsize */
	uint64_t address, offset, align;
	uint32_t name_at; /* where in the section of section names */
};

/* 0, or -1: not such a file, or its section table is not inside it. */
int gs_elf_open(const void *data, size_t len, struct gs_elf *elf, struct gs_error *err);
/* Section i < elf->count.  0, or -1: it lies outside the file. */
int gs_elf_section(const struct gs_elf *elf, uint64_t i, struct gs_section *s,
		   struct gs_error *err);

/* ---- the containers of a host file: .nv_fatbin, and __nv_relfatbin (linkable) ---- */

struct gs_host_walk {
	struct gs_elf elf;
	uint64_t section;     /* the next one to look at */
	struct gs_bytes rest; /* of the present one */
	int linkable;
};

int gs_host_open(const void *data, size_t len, struct gs_host_walk *w, struct gs_error *err);
/* 1: *fb is the next container; 0: no more; -1: corrupt, and the walk is over. */
int gs_host_next(struct gs_host_walk *w, struct gs_fatbin *fb, struct gs_error *err);

#endif
