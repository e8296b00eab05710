/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Constant bank 4 has the addresses of a module's variables.  The slow path of sinf and the like
 * reads there where CUDA's own tables are, which a kernel that is cut out may take along.
 */
#define _GNU_SOURCE
#include <string.h>

#include "device/cubin/image.h"
#include "device/fatbin/bytes.h"

#define R_CUDA_64 2 /* an address of 64 bits */

static const struct {
	const char *name;
	uint64_t size, hash;
} tables[] = {
#define CUBIN_TABLE(name, size, hash) { name, size, UINT64_C(hash) },
#include "device/cubin/tables.def"
#undef CUBIN_TABLE
};

static uint64_t hash(const uint8_t *data, uint64_t size)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (uint64_t i = 0; i < size; i++)
		h = (h ^ data[i]) * UINT64_C(0x100000001b3);
	return h;
}

int cubin_is_table(const struct cubin_elf *e, uint32_t symbol)
{
	const struct cubin_section *s;
	const Elf64_Sym *y;
	const char *name;

	if (symbol >= e->symbols)
		return 0;
	y = &e->symbol[symbol];
	name = cubin_elf_symbol_name(e, symbol);
	if (ELF64_ST_BIND(y->st_info) != STB_LOCAL || ELF64_ST_TYPE(y->st_info) != STT_OBJECT ||
	    y->st_shndx >= e->sections)
		return 0;
	s = &e->section[y->st_shndx];
	if (s->kind != CUBIN_SECTION_GLOBAL_INIT || !cubin_elf_has_bytes(s) ||
	    !within(y->st_value, y->st_size, s->h.sh_size))
		return 0;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (strcmp(tables[i].name, name) == 0)
			return tables[i].size == y->st_size &&
			       tables[i].hash == hash(s->data + y->st_value, y->st_size);
	return 0;
}

/* Does exactly one relocation fill these 8 bytes of the bank, with a table's address? */
static int is_tables_address(const struct cubin_elf *e, const struct cubin_section *rela,
			     uint32_t slot)
{
	int is = 0;

	for (size_t at = 0; at + sizeof(Elf64_Rela) <= rela->h.sh_size; at += sizeof(Elf64_Rela)) {
		uint64_t place = get64(rela->data + at), info = get64(rela->data + at + 8);

		if (place + 8 <= slot || place >= slot + 8)
			continue;
		if (is || place != slot || ELF64_R_TYPE(info) != R_CUDA_64 ||
		    get64(rela->data + at + 16) != 0 ||
		    !cubin_is_table(e, (uint32_t)ELF64_R_SYM(info)))
			return 0;
		is = 1;
	}
	return is;
}

int cubin_reads_tables_only(const struct cubin_elf *e, const uint8_t *code, size_t size)
{
	uint32_t bank = cubin_elf_find(e, CUBIN_SECTION_CONSTANT4, NULL);
	const struct cubin_section *rela =
		&e->section[cubin_elf_find(e, CUBIN_SECTION_RELA_CONSTANT4, NULL)];
	uint32_t slot;
	size_t at = 0;
	int rc;

	if (!bank || rela->kind != CUBIN_SECTION_RELA_CONSTANT4 || rela->h.sh_info != bank ||
	    rela->h.sh_type != SHT_RELA || !cubin_elf_has_bytes(rela))
		return 0;
	while ((rc = cubin_code_next_address(code, size, &at, &slot)) > 0)
		if (!within(slot, 8, e->section[bank].h.sh_size) ||
		    !is_tables_address(e, rela, slot))
			return 0;
	return rc == 0;
}
