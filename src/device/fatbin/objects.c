/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF sections, the containers of host files and the kernels of cubins; see objects.h. */
#define _GNU_SOURCE
#include "device/fatbin/objects.h"

#include <elf.h>

#include "device/fatbin/bytes.h"
#include "device/fatbin/format.h"

#define STO_CUDA_ENTRY 0x10 /* st_other of a kernel; device functions do not have it */

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

int gs_host_open(const void *data, size_t len, struct gs_host_walk *w, struct gs_error *err)
{
	memset(w, 0, sizeof(*w));
	return gs_elf_open(data, len, &w->elf, err);
}

/* The next section that holds containers into w->rest.  1, 0 or -1. */
static int next_section(struct gs_host_walk *w, struct gs_error *err)
{
	struct gs_section s;

	while (w->section < w->elf.count) {
		if (gs_elf_section(&w->elf, w->section, &s, err) < 0) {
			w->section = w->elf.count;
			return -1;
		}
		w->section++;
		w->linkable = strcmp(s.name, "__nv_relfatbin") == 0;
		if (!w->linkable && strcmp(s.name, ".nv_fatbin") != 0)
			continue;
		if (s.flags & SHF_COMPRESSED)
			continue;
		w->rest = s.bytes;
		return 1;
	}
	return 0;
}

int gs_host_next(struct gs_host_walk *w, struct gs_fatbin *fb, struct gs_error *err)
{
	int rc;

	for (;;) {
		/* The linker fills up to an object's alignment with zeros. */
		while (w->rest.len && *w->rest.data == 0) {
			w->rest.data++;
			w->rest.len--;
		}
		if (w->rest.len)
			break;
		rc = next_section(w, err);
		if (rc <= 0)
			return rc;
	}
	if (gs_fatbin_open(w->rest.data, w->rest.len, fb, err) < 0) {
		w->rest.len = 0;
		w->section = w->elf.count;
		return -1;
	}
	fb->linkable = w->linkable;
	w->rest.data += fb->bytes.len;
	w->rest.len -= fb->bytes.len;
	return 1;
}

int gs_cubin_open(const void *data, size_t len, struct gs_cubin_walk *w, struct gs_error *err)
{
	struct gs_section s, strings;

	memset(w, 0, sizeof(*w));
	if (gs_elf_open(data, len, &w->elf, err) < 0)
		return -1;
	if (w->elf.machine != EM_CUDA)
		return gs_fail(err, "elf: machine %u is no GPU", w->elf.machine);
	for (uint64_t i = 0; i < w->elf.count; i++) {
		if (gs_elf_section(&w->elf, i, &s, err) < 0)
			return -1;
		if (s.type != SHT_SYMTAB)
			continue;
		if (s.entry != sizeof(Elf64_Sym))
			return gs_fail(err, "elf: symbols of %llu bytes",
				       (unsigned long long)s.entry);
		if (gs_elf_section(&w->elf, s.link, &strings, err) < 0)
			return -1;
		w->symbols = s.bytes;
		w->strings = strings.bytes;
		break;
	}
	return 0;
}

int gs_cubin_next(struct gs_cubin_walk *w, const char **name, struct gs_error *err)
{
	Elf64_Sym sym;

	while (w->symbols.len - w->at >= sizeof(sym)) {
		memcpy(&sym, w->symbols.data + w->at, sizeof(sym));
		w->at += sizeof(sym);
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF ||
		    !(sym.st_other & STO_CUDA_ENTRY))
			continue;
		*name = string_at(&w->strings, sym.st_name);
		if (!**name)
			return gs_fail(err, "elf: a kernel without a name");
		return 1;
	}
	return 0;
}
