/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading and writing cubins. */
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
#include "device/cubin/cubin.h"

static const struct {
	const char *name;
	enum cubin_reason reason;
	uint32_t registers, barriers, params, param_bytes;
	uint64_t shared;
	uint32_t max_threads, cluster, uses;
	uint64_t code;
} want[] = {
	{ "add", CUBIN_REASON_NONE, 10, 0, 3, 20, 0, 0, 0, 0, 512 },
	{ "turn", CUBIN_REASON_NONE, 10, 1, 2, 9, 768, 192, 0, 0, 512 },
	{ "nothing", CUBIN_REASON_NONE, 4, 0, 0, 0, 0, 0, 0, 0, 256 },
	{ "meet", CUBIN_REASON_NONE, 10, 0, 1, 8, 0, 0, 4, 0, 512 },
	{ "dependent", CUBIN_REASON_NONE, 10, 0, 1, 8, 0, 0, 0, CUBIN_USES_PDL, 384 },
	{ "of_module", CUBIN_REASON_VARIABLES, 8, 0, 1, 8, 0, 0, 0, CUBIN_USES_VARIABLES, 256 },
	{ "whole_grid", CUBIN_REASON_COOPERATIVE, 14, 1, 1, 8, 0, 0, 0, CUBIN_USES_COOPERATIVE,
	  1280 },
	{ "many_bytes", CUBIN_REASON_PARAMETERS, 10, 0, 2, 4084, 0, 0, 0, 0, 384 },
};

static struct cubin *open_file(const char *name, uint8_t **image, size_t *size)
{
	struct gs_error err = { "" };
	struct cubin *c;

	*image = cubin_data_read(name, size);
	c = cubin_open(*image, *size, &err);
	if (!c)
		fail_msg("%s", err.text);
	return c;
}

static void kernels_have_their_facts(void **state)
{
	struct cubin_kernel k;
	struct gs_error err;
	uint8_t *image;
	size_t size;
	struct cubin *c = open_file("several.cubin", &image, &size);

	(void)state;
	assert_int_equal(cubin_sm(c), 90);
	assert_int_equal(cubin_abi(c), 8);
	assert_int_equal(cubin_kernels(c), sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		int64_t at = cubin_find(c, want[i].name);

		assert_true(at >= 0);
		err.text[0] = '\0';
		assert_int_equal(cubin_kernel(c, (uint32_t)at, &k, &err), 0);
		assert_string_equal(k.name, want[i].name);
		assert_string_equal(cubin_reason_name(k.reason), cubin_reason_name(want[i].reason));
		assert_int_equal(err.text[0] != '\0', want[i].reason != CUBIN_REASON_NONE);
		assert_int_equal(k.registers, want[i].registers);
		assert_int_equal(k.barriers, want[i].barriers);
		assert_int_equal(k.params, want[i].params);
		assert_int_equal(k.param_bytes, want[i].param_bytes);
		assert_int_equal(k.shared, want[i].shared);
		assert_int_equal(k.local, 0);
		assert_int_equal(k.max_threads, want[i].max_threads);
		assert_int_equal(k.cluster[0] * k.cluster[1] * k.cluster[2], want[i].cluster);
		assert_int_equal(k.uses, want[i].uses);
		assert_int_equal(k.code_bytes, want[i].code);
	}
	assert_int_equal(cubin_find(c, "ad"), -1);
	assert_int_equal(cubin_kernel(c, cubin_kernels(c), &k, &err), -1);
	cubin_close(c);
	free(image);
}

static void parameters_have_their_places(void **state)
{
	static const uint32_t place[][2] = { { 0, 8 }, { 8, 8 }, { 16, 4 } };
	uint32_t offset, bytes, add;
	uint8_t *image;
	size_t size;
	struct cubin *c = open_file("several.cubin", &image, &size);

	(void)state;
	add = (uint32_t)cubin_find(c, "add");
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(cubin_param(c, add, i, &offset, &bytes), 0);
		assert_int_equal(offset, place[i][0]);
		assert_int_equal(bytes, place[i][1]);
	}
	assert_int_equal(cubin_param(c, add, 3, &offset, &bytes), -1);
	assert_int_equal(cubin_param(c, cubin_kernels(c), 0, &offset, &bytes), -1);
	cubin_close(c);
	free(image);
}

static void what_is_written_is_what_was_read(void **state)
{
	static const char *const names[] = { "several.cubin", "branches.cubin" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct gs_error err;
		uint8_t *image, *again;
		size_t size, n;
		struct cubin *c = open_file(names[i], &image, &size);

		again = cubin_write(c, &n, &err);
		assert_non_null(again);
		assert_int_equal(n, size);
		assert_memory_equal(again, image, n);
		free(again);
		cubin_close(c);
		free(image);
	}
}

/* Another architecture, a file to be linked, a format of the future. */
static void other_files_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum cubin_reason reason;
	} row[] = {
		{ offsetof(Elf64_Ehdr, e_flags) + 1, 100, CUBIN_REASON_ARCHITECTURE },
		{ offsetof(Elf64_Ehdr, e_type), ET_REL, CUBIN_REASON_RELOCATABLE },
		{ offsetof(Elf64_Ehdr, e_type), ET_DYN, CUBIN_REASON_FORMAT },
		{ EI_ABIVERSION, 9, CUBIN_REASON_FORMAT },
	};
	struct cubin_guarded g;
	struct gs_error err;
	uint8_t *image;
	size_t size;

	(void)state;
	image = cubin_data_read("several.cubin", &size);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t was = image[row[i].at];

		image[row[i].at] = row[i].value;
		assert_int_equal(
			cubin_guard_kernel(image, size, "add", CUBIN_GUARD_MAXB, 0, &g, &err), 0);
		assert_string_equal(cubin_reason_name(g.reason), cubin_reason_name(row[i].reason));
		assert_null(g.image);
		image[row[i].at] = was;
	}
	/* The number of the section of names, said elsewhere. */
	memset(image + offsetof(Elf64_Ehdr, e_shstrndx), 0xff, 2);
	assert_null(cubin_open(image, size, &err));
	image[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
	assert_null(cubin_open(image, size, &err));
	free(image);
}

/* An attribute and a section that nobody has heard of. */
static void what_is_not_known_is_refused(void **state)
{
	struct cubin_guarded g;
	struct gs_error err;
	size_t size, n;
	uint8_t *image = cubin_data_read("several.cubin", &size), *name;
	const uint8_t *value = cubin_data_attribute(image, ".nv.info.add", 0x1b, &n);

	(void)state;
	assert_non_null(value);
	image[value - image - 1] = 0x7f;
	assert_int_equal(cubin_guard_kernel(image, size, "add", CUBIN_GUARD_MAXB, 0, &g, &err), 0);
	assert_int_equal(g.reason, CUBIN_REASON_ATTRIBUTE);
	assert_non_null(strstr(err.text, "0x7f"));
	assert_int_equal(cubin_guard_kernel(image, size, "turn", CUBIN_GUARD_MAXB, 0, &g, &err), 1);
	free(g.image);
	name = memmem(image, size, ".nv.compat", sizeof(".nv.compat"));
	assert_non_null(name);
	name[4] = 'k';
	assert_int_equal(cubin_guard_kernel(image, size, "turn", CUBIN_GUARD_MAXB, 0, &g, &err), 0);
	assert_int_equal(g.reason, CUBIN_REASON_SECTION);
	free(image);
}

/* Everything that can be done with a cubin, which may be broken. */
static void try_all(const uint8_t *image, size_t size)
{
	struct gs_error err;
	struct cubin *c = cubin_open(image, size, &err);
	uint32_t offset, bytes;
	enum cubin_reason reason;
	struct cubin_kernel k;
	size_t n;

	if (!c)
		return;
	free(cubin_write(c, &n, &err));
	for (uint32_t i = 0; i < cubin_kernels(c); i++) {
		struct cubin_guarded g;

		cubin_kernel(c, i, &k, &err);
		cubin_param(c, i, 0, &offset, &bytes);
		free(cubin_cut(c, i, &n, &reason, &err));
		if (cubin_guard_kernel(image, size, k.name, CUBIN_GUARD_MAXT, i & 1, &g, &err) > 0)
			free(g.image);
	}
	cubin_close(c);
}

static void a_file_may_end_anywhere(void **state)
{
	size_t size;
	uint8_t *image = cubin_data_read("branches.cubin", &size);

	(void)state;
	for (size_t n = 0; n < size; n += n < 128 || n > size - 2048 ? 1 : 37) {
		uint8_t *part = malloc(n ? n : 1);

		assert_non_null(part);
		memcpy(part, image, n);
		try_all(part, n);
		free(part);
	}
	free(image);
}

static void any_byte_may_be_wrong(void **state)
{
	uint64_t x = 88172645463325252u;
	size_t size;
	uint8_t *image = cubin_data_read("branches.cubin", &size), *copy = malloc(size);

	(void)state;
	assert_non_null(copy);
	for (int i = 0; i < 20000; i++) {
		memcpy(copy, image, size);
		for (int j = 0; j <= i % 3; j++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			copy[x % size] = i & 8 ? (uint8_t)(x >> 40) : (uint8_t)(0xffu << (x >> 61));
		}
		try_all(copy, size);
	}
	free(copy);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_have_their_facts),
		cmocka_unit_test(parameters_have_their_places),
		cmocka_unit_test(what_is_written_is_what_was_read),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(what_is_not_known_is_refused),
		cmocka_unit_test(a_file_may_end_anywhere),
		cmocka_unit_test(any_byte_may_be_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
