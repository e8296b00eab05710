/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The containers of host files and the kernels of cubins; see objects.h. */
#define _GNU_SOURCE
#include "device/fatbin/objects.h"

#include <elf.h>

#include "device/fatbin/bytes.h"
#include "device/fatbin/format.h"

#define STO_CUDA_ENTRY 0x10 /* st_other of a kernel; device functions do not have it */

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

/* The string at `off`; "" unless it ends inside the table. */
static const char *string_at(const struct gs_bytes *table, uint64_t off)
{
	if (off >= table->len || !memchr(table->data + off, 0, table->len - (size_t)off))
		return "";
	return (const char *)table->data + off;
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
