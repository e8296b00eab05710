/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See cubin_data.h.  The cubins are right: nothing is checked twice here. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cubin_data.h"

uint8_t *cubin_data_read(const char *name, size_t *size)
{
	uint8_t *data = malloc(1 << 20), *exact;
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", CUBIN_DATA, name);
	f = fopen(path, "rb");
	assert_true(f && data);
	*size = fread(data, 1, 1 << 20, f);
	assert_true(*size > sizeof(Elf64_Ehdr) && feof(f));
	fclose(f);
	exact = realloc(data, *size);
	assert_non_null(exact);
	return exact;
}

static void section(const uint8_t *image, uint32_t i, Elf64_Shdr *h)
{
	Elf64_Ehdr e;

	memcpy(&e, image, sizeof(e));
	assert_true(i < e.e_shnum);
	memcpy(h, image + e.e_shoff + i * sizeof(*h), sizeof(*h));
}

const uint8_t *cubin_data_section(const uint8_t *image, const char *name, Elf64_Shdr *header)
{
	Elf64_Shdr names;
	Elf64_Ehdr e;

	memcpy(&e, image, sizeof(e));
	section(image, e.e_shstrndx, &names);
	for (uint32_t i = 1; i < e.e_shnum; i++) {
		section(image, i, header);
		if (strcmp((const char *)image + names.sh_offset + header->sh_name, name) == 0)
			return image + header->sh_offset;
	}
	return NULL;
}

uint32_t cubin_data_symbol(const uint8_t *image, const char *name, int type, Elf64_Sym *symbol)
{
	Elf64_Shdr table, strings;
	const uint8_t *all = cubin_data_section(image, ".symtab", &table);

	assert_non_null(all);
	section(image, table.sh_link, &strings);
	for (uint32_t i = 1; i < table.sh_size / sizeof(*symbol); i++) {
		memcpy(symbol, all + i * sizeof(*symbol), sizeof(*symbol));
		if (ELF64_ST_TYPE(symbol->st_info) == type &&
		    strcmp((const char *)image + strings.sh_offset + symbol->st_name, name) == 0)
			return i;
	}
	return 0;
}

long cubin_data_address(const uint8_t *image, const char *name, int type)
{
	Elf64_Sym y;
	Elf64_Shdr h;
	uint32_t symbol = cubin_data_symbol(image, name, type, &y);
	const uint8_t *all = cubin_data_section(image, ".rela.nv.constant4", &h);

	for (size_t at = 0; all && symbol && at < h.sh_size; at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, all + at, sizeof(r));
		if (ELF64_R_SYM(r.r_info) == symbol)
			return (long)r.r_offset;
	}
	return -1;
}

const uint8_t *cubin_data_attribute(const uint8_t *image, const char *name, uint8_t number,
				    size_t *size)
{
	Elf64_Shdr h;
	const uint8_t *p = cubin_data_section(image, name, &h), *end;

	assert_non_null(p);
	for (end = p + h.sh_size; p < end; p += 4 + (p[0] == 4 ? p[2] | p[3] << 8 : 0))
		if (p[1] == number) {
			*size = p[0] == 4 ? (size_t)(p[2] | p[3] << 8) : 2;
			return p[0] == 4 ? p + 4 : p + 2;
		}
	return NULL;
}
