/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fatbin reader on containers that nvcc made (testsuite/unit/data/fatbin). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "device/fatbin/variables.h"
#include "fatbin_data.h"
#include "device/cubin/cubin.h"

#define KERNELS 2

/* Every packing of the same text gives the text that cuobjdump takes out. */
static void ptx_is_the_same_however_packed(void **state)
{
	static const struct {
		const char *name;
		enum gs_packing packing;
	} row[] = {
		{ "plain.fatbin", GS_PACKING_NONE },   { "zstd.fatbin", GS_PACKING_ZSTD },
		{ "size.fatbin", GS_PACKING_ZSTD },    { "lz4.fatbin", GS_PACKING_LZ4 },
		{ "options.fatbin", GS_PACKING_ZSTD },
	};
	struct gs_bytes want = fatbin_file("kernels.ptx");

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct gs_bytes b = fatbin_file(row[i].name);
		struct gs_fatbin fb = fatbin_opened(b);
		struct gs_fatbin_entry e = fatbin_entry(&fb, GS_ENTRY_PTX);
		struct gs_error err;
		char *text;
		size_t len;

		assert_int_equal(fb.bytes.len, b.len);
		assert_int_equal(e.packing, row[i].packing);
		assert_int_equal(e.sm, 75);
		assert_int_equal(e.major, 9);
		assert_int_equal(gs_fatbin_best_ptx(&fb, 75, &text, &len, &err), 1);
		assert_int_equal(len, want.len);
		assert_memory_equal(text, want.data, len);
		assert_int_equal(text[len], 0);
		free(text);
		fatbin_drop(b);
	}
	fatbin_drop(want);
}

/* LZ4 and the header layout of CUDA 12.4, with a source name. */
static void an_older_toolkit_is_read(void **state)
{
	struct gs_bytes b = fatbin_file("cuda12.fatbin");
	struct gs_fatbin fb = fatbin_opened(b);
	struct gs_fatbin_entry e = fatbin_entry(&fb, GS_ENTRY_PTX);
	struct gs_error err;
	char *text;
	size_t len;

	(void)state;
	assert_int_equal(e.packing, GS_PACKING_LZ4);
	assert_int_equal(e.name.len, strlen("kernels.cu"));
	assert_memory_equal(e.name.data, "kernels.cu", e.name.len);
	assert_memory_equal(e.options.data, "-O3", e.options.len);
	assert_int_equal(gs_fatbin_best_ptx(&fb, 90, &text, &len, &err), 1);
	assert_non_null(strstr(text, ".version 7.8"));
	assert_non_null(strstr(text, ".entry axpy("));
	free(text);
	fatbin_drop(b);
}

static uint32_t best(const char *name, uint32_t sm, enum gs_variant *variant)
{
	struct gs_bytes b = fatbin_file(name);
	struct gs_fatbin fb = fatbin_opened(b);
	struct gs_fatbin_choice c;
	struct gs_error err;
	uint32_t found;

	assert_int_equal(gs_fatbin_choose(&fb, sm, &c, &err), 0);
	found = c.has_ptx ? c.ptx.sm : 0;
	*variant = c.ptx.variant;
	fatbin_drop(b);
	return found;
}

/* variants.fatbin: PTX for 75, 90, 90a, 100f and 120. */
static void the_driver_takes_the_newest_that_fits(void **state)
{
	static const struct {
		uint32_t sm, want;
		enum gs_variant variant;
	} row[] = {
		{ 70, 0, GS_VARIANT_GENERIC },    { 75, 75, GS_VARIANT_GENERIC },
		{ 89, 75, GS_VARIANT_GENERIC },   { 90, 90, GS_VARIANT_EXACT },
		{ 100, 100, GS_VARIANT_FAMILY },  { 103, 100, GS_VARIANT_FAMILY },
		{ 110, 90, GS_VARIANT_GENERIC },  { 120, 120, GS_VARIANT_GENERIC },
		{ 121, 120, GS_VARIANT_GENERIC },
	};
	enum gs_variant variant;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_int_equal(best("variants.fatbin", row[i].sm, &variant), row[i].want);
		assert_int_equal(variant, row[i].variant);
	}
}

static void stands_in(const char *name, uint32_t sm, int want)
{
	struct gs_bytes b = fatbin_file(name);
	struct gs_fatbin fb = fatbin_opened(b);
	struct gs_fatbin_choice c;
	struct gs_error err;

	assert_int_equal(gs_fatbin_choose(&fb, sm, &c, &err), 0);
	assert_int_equal(gs_fatbin_ptx_stands_in(&c), want);
	fatbin_drop(b);
}

static void older_ptx_does_not_replace_newer_machine_code(void **state)
{
	(void)state;
	stands_in("zstd.fatbin", 75, 1);
	stands_in("newer.fatbin", 75, 1); /* its machine code is for 90 */
	stands_in("newer.fatbin", 90, 0);
	stands_in("newer.fatbin", 100, 1);
	stands_in("machine.fatbin", 75, 0);
	stands_in("variants.fatbin", 90, 1);
	stands_in("variants.fatbin", 120, 1);
}

static void no_ptx_is_not_corrupt(void **state)
{
	struct gs_bytes b = fatbin_file("machine.fatbin");
	struct gs_fatbin fb = fatbin_opened(b);
	struct gs_error err;
	char *text = (char *)1;
	size_t len;

	(void)state;
	assert_int_equal(gs_fatbin_best_ptx(&fb, 75, &text, &len, &err), 0);
	assert_null(text);
	fatbin_drop(b);
}

static int linked(const char *name)
{
	struct gs_bytes b = fatbin_file(name);
	struct gs_fatbin fb = fatbin_opened(b);
	struct gs_fatbin_choice c;
	struct gs_error err;

	assert_int_equal(gs_fatbin_choose(&fb, 75, &c, &err), 0);
	fatbin_drop(b);
	return c.relocatable;
}

static void relocatable_code_is_told(void **state)
{
	struct gs_bytes b = fatbin_file("relocatable.fatbin");
	struct gs_fatbin fb = fatbin_opened(b);
	struct gs_fatbin_entry ptx = fatbin_entry(&fb, GS_ENTRY_PTX),
			       cubin = fatbin_entry(&fb, GS_ENTRY_CUBIN);
	struct gs_error err;

	(void)state;
	assert_int_equal(gs_fatbin_relocatable(&ptx, &err), 1);
	assert_int_equal(gs_fatbin_relocatable(&cubin, &err), 1);
	fatbin_drop(b);
	assert_int_equal(linked("relocatable.fatbin"), 1);
	assert_int_equal(linked("lto.fatbin"), 1);
	assert_int_equal(linked("zstd.fatbin"), 0);
	assert_int_equal(linked("lz4.fatbin"), 0);
	assert_int_equal(linked("options.fatbin"), 0);
}

static unsigned int kernels_of(const struct gs_fatbin_entry *e)
{
	struct cubin_kernel k;
	struct gs_error err;
	unsigned int n = 0;
	struct cubin *c;
	size_t len;
	uint8_t *code = gs_fatbin_unpack(e, &len, &err);

	assert_non_null(code);
	assert_int_equal(gs_image_kind(code, len), GS_IMAGE_CUBIN);
	c = cubin_open(code, len, &err);
	assert_non_null(c);
	for (; n < cubin_kernels(c); n++) {
		assert_int_equal(cubin_kernel(c, n, &k, &err), 0);
		assert_true(strcmp(k.name, "axpy") == 0 || strcmp(k.name, "copy") == 0);
	}
	cubin_close(c);
	free(code);
	return n;
}

/* The function that is no kernel is not among them. */
static void kernels_of_machine_code_are_named(void **state)
{
	static const char *const name[] = {
		"zstd.fatbin",   "lz4.fatbin",      "size.fatbin",
		"cuda12.fatbin", "variants.fatbin", "relocatable.fatbin"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		struct gs_bytes b = fatbin_file(name[i]);
		struct gs_fatbin fb = fatbin_opened(b);
		struct gs_fatbin_entry e;
		struct gs_error err;
		size_t at = 0;

		while (gs_fatbin_next(&fb, &at, &e, &err) > 0)
			if (e.kind == GS_ENTRY_CUBIN)
				assert_int_equal(kernels_of(&e), KERNELS);
		fatbin_drop(b);
	}
}

static void host_files_hold_containers(void **state)
{
	static const struct {
		const char *name;
		unsigned int containers;
		int linkable;
	} row[] = { { "library.so", 2, 0 }, { "relocatable.obj", 1, 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct gs_bytes b = fatbin_file(row[i].name);
		struct gs_host_walk w;
		struct gs_fatbin fb;
		struct gs_error err;
		unsigned int n = 0;
		int rc;

		assert_int_equal(gs_image_kind(b.data, b.len), GS_IMAGE_HOST);
		assert_int_equal(gs_host_open(b.data, b.len, &w, &err), 0);
		while ((rc = gs_host_next(&w, &fb, &err)) > 0) {
			n++;
			assert_int_equal(fb.linkable, row[i].linkable);
			assert_int_equal(fatbin_entry(&fb, GS_ENTRY_CUBIN).sm, 75);
		}
		assert_int_equal(rc, 0);
		assert_int_equal(n, row[i].containers);
		fatbin_drop(b);
	}
}

/* The struct that cudart hands over, and what else a pointer may lead to. */
static void images_in_memory_are_told_apart(void **state)
{
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = { 0x466243B1, 1, NULL, NULL };
	static const char *const text[] = { ".version 7.0\n", "\n\t // x\n", "/* x */" };
	static const char *const other[] = { "", "/", "   ", "x", "\x50", "\177ELF", "BC" };
	struct gs_bytes b = fatbin_file("zstd.fatbin"), out;
	uint8_t huge[16];
	int is_linked;

	(void)state;
	assert_int_equal(gs_image_in_memory(NULL, &out, &is_linked), GS_IMAGE_UNKNOWN);
	assert_int_equal(gs_image_in_memory(&wrapper, &out, &is_linked), GS_IMAGE_UNKNOWN);
	wrapper.data = b.data;
	assert_int_equal(gs_image_in_memory(&wrapper, &out, &is_linked), GS_IMAGE_WRAPPER);
	assert_int_equal(is_linked, 0);
	assert_ptr_equal(out.data, b.data);
	assert_int_equal(out.len, b.len);
	wrapper.version = 2;
	assert_int_equal(gs_image_in_memory(&wrapper, &out, &is_linked), GS_IMAGE_WRAPPER);
	assert_int_equal(is_linked, 1);
	wrapper.version = 3;
	assert_int_equal(gs_image_in_memory(&wrapper, &out, &is_linked), GS_IMAGE_UNKNOWN);
	assert_int_equal(gs_image_in_memory(b.data, &out, &is_linked), GS_IMAGE_FATBIN);
	assert_int_equal(out.len, b.len);
	memcpy(huge, b.data, sizeof(huge));
	memset(huge + 8, 0xff, 8);
	assert_int_equal(gs_image_in_memory(huge, &out, &is_linked), GS_IMAGE_UNKNOWN);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		char *exact = strdup(text[i]); /* the sanitizer sees a look behind the NUL */

		assert_int_equal(gs_image_in_memory(exact, &out, &is_linked), GS_IMAGE_PTX);
		assert_int_equal(out.len, strlen(text[i]));
		free(exact);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		char *exact = calloc(1, 64 + strlen(other[i]));

		memcpy(exact, other[i], strlen(other[i]));
		assert_int_equal(gs_image_in_memory(exact, &out, &is_linked), GS_IMAGE_UNKNOWN);
		free(exact);
	}
	fatbin_drop(b);
}

static uint64_t variables(const char *ptx)
{
	return gs_ptx_variables(ptx, strlen(ptx));
}

static void variables_of_a_text(void **state)
{
	(void)state;
	assert_int_equal(variables(".global .u32 a;\n.const .align 8 .f64 b[4][3];"), 100);
	assert_int_equal(variables(".visible .global .align 16 .v4 .f32 v[2];"), 32);
	assert_int_equal(
		variables(".extern .global .b8 e[100];\n.weak .global .b8 w[3] = {1,2,3};"), 3);
	assert_int_equal(variables("// .global .u32 a;\n.entry k() { ld.global.u32 %r1, [%rd1]; }"),
			 0);
	assert_int_equal(variables("/* .global .u32 a; */ .file 1 \"/*\"\n.global .u32 b;"), 4);
	assert_int_equal(variables(".global/* of us */.u32 a;.global .u32 b;"), 8);
	assert_int_equal(variables(".global .attribute(.managed) .align 4 .b32 m[10];"), 40);
	assert_int_equal(variables(".global .attribute (.managed) .align 4 .b32 m[10];"), 40);
	assert_int_equal(variables(".global .attribute(.unified(19, 95), .managed) .b32 m[10];"),
			 40);
	assert_int_equal(variables(".global .b8 x[1024*1024*3+1U];"), 3145729);
	assert_int_equal(variables(".global .u32 a, b[2], c = 3;"), 16);
	assert_int_equal(
		variables(".global .u16 t[] = {1, 2, 3};\n.global .u16 u[][2] = {{1, 2}, {3, 4}};"),
		14);
	assert_int_equal(variables(".global .b8 x[0xffffffffffffffff][16];"), UINT64_MAX);
	assert_int_equal(variables(".global .b8 x["), 0);
	assert_int_equal(variables(".global .b8 x[]"), 0);
	assert_int_equal(variables(".global .b8"), 0);
	/* It is read to its end and no further: the copy that is searched has no byte more
	 * (valgrind). */
	assert_int_equal(variables(".global .align 4("), 0);
	assert_int_equal(variables(".global .attribute("), 0);
	assert_int_equal(variables(".global .u32 a; .global .attribute(.managed"), 4);
	assert_int_equal(variables(".global .attribute(.managed; .global .u32 a;"), 4);
	assert_int_equal(variables(""), 0);
}

/* kernels.cu has none of its own but what its kernels keep in constant memory beside their
 * parameters. */
static void variables_of_machine_code(void **state)
{
	static const char *const name[] = { "variables.fatbin", "machine.fatbin" };
	static const uint64_t want[] = { 4000000 + 12 + 400, 0 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct gs_bytes b = fatbin_file(name[i]);
		struct gs_fatbin fb = fatbin_opened(b);
		struct gs_fatbin_entry e = fatbin_entry(&fb, GS_ENTRY_CUBIN);
		struct gs_error err;
		uint64_t bytes;
		uint8_t *elf;
		size_t len;

		assert_int_equal(gs_entry_variables(&e, &bytes, &err), 0);
		assert_in_range(bytes, want[i], want[i] + 64);
		assert_int_equal(gs_fatbin_variables(&fb, 75), bytes);
		assert_int_equal(gs_fatbin_variables(&fb, 90), 0);
		elf = gs_fatbin_unpack(&e, &len, &err);
		assert_non_null(elf);
		assert_int_equal(gs_cubin_variables(elf, len, 0), bytes);
		/* Its code, but nothing of the 4 KB of shared memory. */
		assert_in_range(gs_cubin_variables(elf, len, 1), bytes + 128, bytes + 2048);
		for (size_t cut = 0; cut < len; cut += 7)
			gs_cubin_variables(elf, cut, 1);
		free(elf);
		fatbin_drop(b);
	}
	assert_int_equal(gs_cubin_variables("\177ELF", 4, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ptx_is_the_same_however_packed),
		cmocka_unit_test(an_older_toolkit_is_read),
		cmocka_unit_test(the_driver_takes_the_newest_that_fits),
		cmocka_unit_test(older_ptx_does_not_replace_newer_machine_code),
		cmocka_unit_test(no_ptx_is_not_corrupt),
		cmocka_unit_test(relocatable_code_is_told),
		cmocka_unit_test(kernels_of_machine_code_are_named),
		cmocka_unit_test(host_files_hold_containers),
		cmocka_unit_test(images_in_memory_are_told_apart),
		cmocka_unit_test(variables_of_a_text),
		cmocka_unit_test(variables_of_machine_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
