/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections of ELF files; see objects.h. */
#define _GNU_SOURCE
#include "device/fatbin/objects.h"

#include <elf.h>

#include "device/fatbin/bytes.h"

static int raw_section(const struct gs_elf *elf, uint64_t i, Elf64_Shdr *sh)
{
	uint64_t off = elf->table + i * sizeof(*sh);

	if (!within(off, sizeof(*sh), elf->file.len))
		return -1;
	memcpy(sh, elf->file.data + off, sizeof(*sh));
	return 0;
}

int gs_elf_open(const void *data, size_t len, struct gs_elf *elf, struct gs_error *err)
{
	Elf64_Ehdr eh;
	Elf64_Shdr first;

	memset(elf, 0, sizeof(*elf));
	if (len < sizeof(eh))
		return gs_fail(err, "elf: %zu bytes are no header", len);
	memcpy(&eh, data, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return gs_fail(err, "elf: not a 64-bit little-endian file");
	elf->file.data = data;
	elf->file.len = len;
	elf->machine = eh.e_machine;
	elf->type = eh.e_type;
	if (!eh.e_shoff)
		return 0;
	elf->table = eh.e_shoff;
	if (eh.e_shentsize != sizeof(first) || raw_section(elf, 0, &first) < 0)
		return gs_fail(err, "elf: the section table is outside the file");
	/* Numbers that do not fit into the file's header are in section 0 (ELF, "e_shnum"). */
	elf->count = eh.e_shnum ? eh.e_shnum : first.sh_size;
	elf->names = eh.e_shstrndx == SHN_XINDEX ? first.sh_link : eh.e_shstrndx;
	if (elf->count > (len - elf->table) / sizeof(first))
		return gs_fail(err, "elf: the section table is outside the file");
	return 0;
}

#define SHT_CUDA_GLOBAL 0x70000007u
#define SHT_CUDA_LOCAL 0x70000009u
#define SHT_CUDA_SHARED 0x7000000au

int gs_elf_without_bytes(uint16_t machine, uint32_t type)
{
	return type == SHT_NOBITS || type == SHT_NULL ||
	       (machine == EM_CUDA &&
		(type == SHT_CUDA_GLOBAL || type == SHT_CUDA_LOCAL || type == SHT_CUDA_SHARED));
}

static int contents(const struct gs_elf *elf, const Elf64_Shdr *sh, struct gs_bytes *out)
{
	out->data = elf->file.data;
	out->len = 0;
	if (gs_elf_without_bytes(elf->machine, sh->sh_type))
		return 0;
	if (!within(sh->sh_offset, sh->sh_size, elf->file.len))
		return -1;
	out->data = elf->file.data + sh->sh_offset;
	out->len = (size_t)sh->sh_size;
	return 0;
}

/* The string at `off`; "" unless it ends inside the table. */
static const char *string_at(const struct gs_bytes *table, uint64_t off)
{
	if (off >= table->len || !memchr(table->data + off, 0, table->len - (size_t)off))
		return "";
	return (const char *)table->data + off;
}

int gs_elf_section(const struct gs_elf *elf, uint64_t i, struct gs_section *s, struct gs_error *err)
{
	Elf64_Shdr sh, names;
	struct gs_bytes table;

	memset(s, 0, sizeof(*s));
	if (i >= elf->count || raw_section(elf, i, &sh) < 0 || contents(elf, &sh, &s->bytes) < 0)
		return gs_fail(err, "elf: section %llu is outside the file", (unsigned long long)i);
	s->type = sh.sh_type;
	s->size = sh.sh_size;
	s->link = sh.sh_link;
	s->flags = sh.sh_flags;
	s->entry = sh.sh_entsize;
	s->info = sh.sh_info;
	s->address = sh.sh_addr;
	s->offset = sh.sh_offset;
	s->align = sh.sh_addralign;
	s->name_at = sh.sh_name;
	s->name = "";
	if (elf->names < elf->count && raw_section(elf, elf->names, &names) == 0 &&
	    contents(elf, &names, &table) == 0)
		s->name = string_at(&table, sh.sh_name);
	return 0;
}
