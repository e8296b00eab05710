/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Constant bank 4 has the addresses of a module's variables, and of the functions that the driver
 * adds when it loads the module.  A kernel that is cut out may take along what nobody changes:
 * CUDA's own tables, which the slow path of sinf and the like reads, and the strings that printf
 * and assert are called with; and it may call the driver's functions, which are the same in each
 * module.
 */
#define _GNU_SOURCE
#include <string.h>

#include "common/hash.h"
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

static int is_table(const char *name, const uint8_t *data, uint64_t size)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (strcmp(tables[i].name, name) == 0)
			return tables[i].size == size &&
			       tables[i].hash == gs_hash(GS_HASH_EMPTY, data, size);
	return 0;
}

/* The compiler calls literals $str, $str$1 ..., and the name of a function __unnamed_1 ... */
static int is_string(const char *name, const uint8_t *data, uint64_t size)
{
	static const char *const begins[] = { "$str$", "__unnamed_" };
	int named = strcmp(name, "$str") == 0;

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t n = strlen(begins[i]);

		named |= strncmp(name, begins[i], n) == 0 && name[n] &&
			 !name[n + strspn(name + n, "0123456789")];
	}
	return named && size && memchr(data, 0, size) == data + size - 1;
}

/* Are these bytes of the module the same in every copy of it, for ever? */
static int is_constant(const struct cubin_elf *e, const Elf64_Sym *y, const char *name)
{
	const struct cubin_section *s;

	if (ELF64_ST_BIND(y->st_info) != STB_LOCAL || ELF64_ST_TYPE(y->st_info) != STT_OBJECT ||
	    y->st_shndx >= e->sections)
		return 0;
	s = &e->section[y->st_shndx];
	if (s->kind != CUBIN_SECTION_GLOBAL_INIT || !cubin_elf_has_bytes(s) ||
	    !within(y->st_value, y->st_size, s->h.sh_size))
		return 0;
	return is_table(name, s->data + y->st_value, y->st_size) ||
	       is_string(name, s->data + y->st_value, y->st_size);
}

int cubin_is_drivers(const struct cubin_elf *e, uint32_t symbol)
{
	static const char *const names[] = { "__assertfail", "vprintf", "malloc", "free" };
	const Elf64_Sym *y;

	if (!symbol || symbol >= e->symbols)
		return 0;
	y = &e->symbol[symbol];
	if (y->st_shndx != SHN_UNDEF || ELF64_ST_TYPE(y->st_info) != STT_FUNC)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(cubin_elf_symbol_name(e, symbol), names[i]) == 0)
			return 1;
	return 0;
}

/* The symbol whose address exactly one relocation puts into these 8 bytes of the bank; 0: none. */
static uint32_t symbol_at(const struct cubin_elf *e, const struct cubin_section *rela,
			  uint32_t slot)
{
	uint32_t symbol = 0;

	for (size_t at = 0; at + sizeof(Elf64_Rela) <= rela->h.sh_size; at += sizeof(Elf64_Rela)) {
		uint64_t place = get64(rela->data + at), info = get64(rela->data + at + 8);

		if (place + 8 <= slot || place >= slot + 8)
			continue;
		if (symbol || place != slot || ELF64_R_TYPE(info) != R_CUDA_64 ||
		    get64(rela->data + at + 16) != 0 || ELF64_R_SYM(info) >= e->symbols)
			return 0;
		symbol = (uint32_t)ELF64_R_SYM(info);
	}
	return symbol;
}

int cubin_takes_constants_only(const struct cubin_elf *e, const uint8_t *code, size_t size,
			       uint8_t *taken)
{
	uint32_t bank = cubin_elf_find(e, CUBIN_SECTION_CONSTANT4, NULL);
	const struct cubin_section *rela =
		&e->section[cubin_elf_find(e, CUBIN_SECTION_RELA_CONSTANT4, NULL)];
	uint32_t slot, symbol;
	size_t at = 0;
	int rc;

	if (!bank || rela->kind != CUBIN_SECTION_RELA_CONSTANT4 || rela->h.sh_info != bank ||
	    rela->h.sh_type != SHT_RELA || !cubin_elf_has_bytes(rela) ||
	    cubin_code_jumps_between(code, size))
		return 0;
	while ((rc = cubin_code_next_address(code, size, &at, &slot)) > 0) {
		if (!within(slot, 8, e->section[bank].h.sh_size))
			return 0;
		symbol = symbol_at(e, rela, slot);
		if (!symbol ||
		    (!cubin_is_drivers(e, symbol) &&
		     !is_constant(e, &e->symbol[symbol], cubin_elf_symbol_name(e, symbol))))
			return 0;
		if (taken)
			taken[symbol] = 1;
	}
	return rc == 0;
}
