/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels that read CUDA's own mathematical tables take these along, and nothing else of their
 * module's variables; whatever is not exactly that is refused.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cubin_data.h"
#include "device/cubin/cubin.h"

#define TABLE_F "__cudart_i2opi_f"
#define TABLE_D "__cudart_i2opi_d"
#define TABLE_S "__cudart_sin_cos_coeffs"

static uint8_t *image;
static size_t size;

static int read_image(void **unused)
{
	(void)unused;
	image = cubin_data_read("tables.cubin", &size);
	return 0;
}

static int free_image(void **unused)
{
	(void)unused;
	free(image);
	return 0;
}

static enum cubin_reason guard(const char *kernel, struct cubin_guarded *g)
{
	struct gs_error err = { "" };

	assert_true(cubin_guard_kernel(image, size, kernel, CUBIN_GUARD_MAXB, 0, g, &err) >= 0);
	assert_int_equal(g->image == NULL, err.text[0] != '\0');
	return g->reason;
}

static void check_table(const uint8_t *cut, const char *table)
{
	Elf64_Sym was, is;
	Elf64_Shdr h;
	const uint8_t *old = cubin_data_section(image, ".nv.global.init", &h), *new;

	assert_int_equal(cubin_data_address(cut, table, STT_OBJECT),
			 cubin_data_address(image, table, STT_OBJECT));
	assert_true(cubin_data_address(cut, table, STT_OBJECT) >= 0);
	assert_true(cubin_data_symbol(image, table, STT_OBJECT, &was));
	assert_true(cubin_data_symbol(cut, table, STT_OBJECT, &is));
	new = cubin_data_section(cut, ".nv.global.init", &h);
	assert_non_null(new);
	assert_int_equal(is.st_size, was.st_size);
	assert_true(is.st_value + is.st_size <= h.sh_size);
	assert_memory_equal(new + is.st_value, old + was.st_value, is.st_size);
}

static void the_tables_come_along(void **unused)
{
	static const struct {
		const char *kernel, *table[2];
		uint64_t bytes;
	} want[] = {
		{ "sine", { TABLE_F }, 24 },
		{ "tangent", { TABLE_F }, 24 },
		{ "cosine", { TABLE_D, TABLE_S }, 272 },
	};
	struct cubin_guarded g;
	Elf64_Shdr h;
	Elf64_Sym y;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		unsigned tables = 0;

		assert_int_equal(guard(want[i].kernel, &g), CUBIN_REASON_NONE);
		while (tables < 2 && want[i].table[tables])
			check_table(g.image, want[i].table[tables++]);
		assert_true(cubin_data_section(g.image, ".rela.nv.constant4", &h) != NULL);
		assert_int_equal(h.sh_size, tables * sizeof(Elf64_Rela));
		assert_true(cubin_data_section(g.image, ".nv.global.init", &h) != NULL);
		assert_int_equal(h.sh_size, want[i].bytes);
		assert_int_equal(cubin_data_symbol(g.image, "start", STT_OBJECT, &y), 0);
		free(g.image);
	}
}

/* The value of the module's variable is not in the cut, wherever it stands. */
static void other_variables_stay_behind(void **unused)
{
	struct cubin_guarded g;
	Elf64_Sym y;
	Elf64_Shdr h;
	const uint8_t *init = cubin_data_section(image, ".nv.global.init", &h);
	static const uint32_t value = 17;

	(void)unused;
	assert_true(cubin_data_symbol(image, "start", STT_OBJECT, &y));
	assert_memory_equal(init + y.st_value, &value, sizeof(value));
	assert_int_equal(guard("counted", &g), CUBIN_REASON_VARIABLES);
	assert_int_equal(guard("sine", &g), CUBIN_REASON_NONE);
	init = cubin_data_section(g.image, ".nv.global.init", &h);
	assert_null(memmem(init, h.sh_size, &value, sizeof(value)));
	free(g.image);
}

static void refused_with(size_t at, const void *bytes, size_t n)
{
	struct cubin_guarded g;
	uint8_t was[16];

	memcpy(was, image + at, n);
	memcpy(image + at, bytes, n);
	assert_int_equal(guard("sine", &g), CUBIN_REASON_VARIABLES);
	memcpy(image + at, was, n);
	assert_int_equal(guard("sine", &g), CUBIN_REASON_NONE);
	free(g.image);
}

/* The table of another name, of other numbers, or one that others can name, too. */
static void another_table_is_none(void **unused)
{
	static const uint8_t global = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), one = 1;
	Elf64_Shdr h, symbols;
	Elf64_Sym y;
	uint32_t symbol = cubin_data_symbol(image, TABLE_F, STT_OBJECT, &y);
	const uint8_t *name = memmem(image, size, TABLE_F, sizeof(TABLE_F)),
		      *table = cubin_data_section(image, ".symtab", &symbols);
	uint64_t at = (uint64_t)(table - image) + symbol * sizeof(y);

	(void)unused;
	assert_non_null(name);
	refused_with((size_t)(name - image) + 5, "x", 1);
	refused_with(at + offsetof(Elf64_Sym, st_info), &global, 1);
	refused_with(at + offsetof(Elf64_Sym, st_size), &one, 1);
	cubin_data_section(image, ".nv.global.init", &h);
	refused_with(h.sh_offset + y.st_value, &one, 1);
}

/* The address of what lies behind the table's beginning, of half of it, or two for one place. */
static void another_address_is_none(void **unused)
{
	static const uint8_t behind = 4, half = 1;
	long place = cubin_data_address(image, TABLE_F, STT_OBJECT);
	Elf64_Shdr h;
	const uint8_t *all = cubin_data_section(image, ".rela.nv.constant4", &h);
	uint64_t found = 0, other = 0;

	(void)unused;
	for (uint64_t at = h.sh_offset; at < h.sh_offset + h.sh_size; at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, image + at, sizeof(r));
		*((long)r.r_offset == place ? &found : &other) = at;
	}
	assert_true(all && found && other);
	refused_with(found + offsetof(Elf64_Rela, r_addend), &behind, 1);
	refused_with(found + offsetof(Elf64_Rela, r_info), &half, 1);
	refused_with(other, &place, sizeof(place));
}

/* An index, 32 bits, or bank 3 instead of a fixed place in bank 4. */
static void another_load_is_refused(void **unused)
{
	static const uint8_t index = 4, bits32 = 0x08, bank3[] = { 0xc0, 0 }, odd = 0x03;
	Elf64_Shdr h;
	const uint8_t *code = cubin_data_section(image, ".text.sine", &h);
	size_t at = 0;

	(void)unused;
	/* ULDC.64 of bank 4: the bank's number is in bits 54 to 58. */
	while (at + 16 <= h.sh_size &&
	       !((code[at] == 0xb9 && (code[at + 1] & 0xf) == 0xa) && code[at + 7] == 1))
		at += 16;
	assert_true(at + 16 <= h.sh_size);
	at += (size_t)(code - image);
	refused_with(at + 3, &index, 1);
	refused_with(at + 9, &bits32, 1);
	refused_with(at + 5, &odd, 1);
	refused_with(at + 6, bank3, sizeof(bank3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_come_along),
		cmocka_unit_test(other_variables_stay_behind),
		cmocka_unit_test(another_table_is_none),
		cmocka_unit_test(another_address_is_none),
		cmocka_unit_test(another_load_is_refused),
	};

	return cmocka_run_group_tests(tests, read_image, free_image);
}
