/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-ptx says of programs, fatbins and cubins. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/inspect/inspect.h"
#include "device/inspect/shipped.h"

static char *slurp(const char *name, size_t *len)
{
	char path[1024], *data = malloc(1 << 16);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", FATBIN_DATA, name);
	f = fopen(path, "rb");
	assert_true(f && data);
	*len = fread(data, 1, 1 << 16, f);
	assert_true(*len > 0 && feof(f));
	fclose(f);
	return data;
}

static json_t *report_for(const char *name, uint32_t sm)
{
	struct gs_error err;
	size_t len;
	char *data = slurp(name, &len);
	json_t *r;

	assert_int_equal(gs_inspect_handles(data, len), 1);
	r = gs_inspect(name, data, len, sm, &err);
	if (!r)
		fail_msg("%s", err.text);
	free(data);
	return r;
}

static json_t *report_on(const char *name)
{
	return report_for(name, 0);
}

static json_int_t number(const json_t *r, const char *key)
{
	return json_integer_value(json_object_get(r, key));
}

static const json_t *kernel(const json_t *r, const char *name)
{
	const json_t *k;
	size_t i;

	json_array_foreach (json_object_get(r, "kernels"), i, k)
		if (strcmp(json_string_value(json_object_get(k, "name")), name) == 0)
			return k;
	fail_msg("no kernel %s", name);
	return NULL;
}

static void expect(const json_t *r, const char *name, const char *transform, const char *reason,
		   size_t ptx, size_t machine)
{
	const json_t *k = kernel(r, name);

	assert_string_equal(json_string_value(json_object_get(k, "form")), transform);
	assert_string_equal(json_string_value(json_object_get(k, "reason")), reason);
	assert_int_equal(json_array_size(json_object_get(k, "ptx")), ptx);
	assert_int_equal(json_array_size(json_object_get(k, "machine_code")), machine);
}

static void a_library(void **state)
{
	json_t *r = report_on("library.so");

	(void)state;
	assert_int_equal(json_array_size(json_object_get(r, "containers")), 2);
	assert_int_equal(number(r, "kernel_count"), 3);
	assert_int_equal(number(r, "as_is"), 1);
	expect(r, "axpy", "persistent", "NONE", 1, 1);
	expect(r, "copy", "persistent", "NONE", 1, 1);
	expect(r, "fill", "as is", "MACHINE_CODE", 0, 1);
	assert_null(json_object_get(r, "error"));
	json_decref(r);
}

static void architectures(void **state)
{
	json_t *r = report_on("variants.fatbin"), *archs;

	(void)state;
	expect(r, "axpy", "persistent", "NONE", 5, 2);
	archs = json_object_get(kernel(r, "axpy"), "ptx");
	assert_string_equal(json_string_value(json_array_get(archs, 2)), "compute_90a");
	assert_string_equal(json_string_value(json_array_get(archs, 3)), "compute_100f");
	json_decref(r);
}

static void relocatable_code(void **state)
{
	static const char *const name[] = { "relocatable.fatbin", "relocatable.obj" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		json_t *r = report_on(name[i]);

		expect(r, "axpy", "as is", "RELOCATABLE", 1, 1);
		assert_int_equal(number(r, "as_is"), number(r, "kernel_count"));
		json_decref(r);
	}
}

static void machine_code_newer_than_the_ptx(void **state)
{
	json_t *r = report_on("newer.fatbin"), *list;

	(void)state;
	list = json_object_get(json_array_get(json_object_get(r, "containers"), 0), "not_replaced");
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(json_string_value(json_array_get(list, 0)), "sm_90");
	json_decref(r);
	r = report_on("zstd.fatbin");
	list = json_object_get(json_array_get(json_object_get(r, "containers"), 0), "not_replaced");
	assert_int_equal(json_array_size(list), 0);
	json_decref(r);
}

/* For one device: only what the shim would transform there counts. */
static void a_device(void **state)
{
	static const struct {
		const char *name;
		uint32_t sm;
		json_int_t as_is;
	} row[] = { { "zstd.fatbin", 75, 0 },  { "zstd.fatbin", 90, 0 },
		    { "zstd.fatbin", 70, 2 },  { "newer.fatbin", 75, 0 },
		    { "newer.fatbin", 90, 1 }, { "newer.fatbin", 100, 0 },
		    { "library.so", 75, 1 },   { "relocatable.obj", 75, 2 } };
	json_t *r;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		r = report_for(row[i].name, row[i].sm);
		if (number(r, "as_is") != row[i].as_is)
			fail_msg("%s on %u", row[i].name, row[i].sm);
		json_decref(r);
	}
	r = report_for("newer.fatbin", 90);
	expect(r, "copy", "guarded", "NONE", 1, 1);
	assert_string_equal(json_string_value(json_object_get(kernel(r, "copy"), "from")),
			    "machine code");
	assert_int_equal(json_array_size(json_object_get(kernel(r, "copy"), "guards")), 2);
	json_decref(r);
	r = report_for("newer.fatbin", 80);
	expect(r, "copy", "persistent", "NONE", 1, 1);
	assert_int_equal(json_array_size(json_object_get(kernel(r, "copy"), "guards")), 0);
	json_decref(r);
}

/* A cubin by itself: which of its kernels can leave, and why the others cannot. */
static void a_cubin(void **state)
{
	json_t *r = report_on("../cubin/several.cubin");
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(number(r, "kernel_count"), 8);
	assert_int_equal(number(r, "as_is"), 3);
	expect(r, "add", "guarded", "NONE", 0, 1);
	expect(r, "of_module", "as is", "MACHINE_CODE", 0, 1);
	assert_string_equal(
		json_string_value(json_object_get(kernel(r, "of_module"), "guard_reason")),
		"VARIABLES");
	assert_non_null(to);
	assert_int_equal(gs_inspect_print(to, r, 0), 0);
	fclose(to);
	assert_non_null(strstr(
		text,
		"add: guarded, from its machine code; machine code sm_90; guard maxb, maxt\n"));
	assert_non_null(strstr(
		text,
		"whole_grid: as is, is machine code without PTX, and its code synchronises the whole grid; machine code sm_90\n"));
	/* How it is launched the code does not say. */
	assert_non_null(strstr(
		text,
		"dependent: guarded, from its machine code; machine code sm_90; guard maxb, maxt; as written where it is launched with programmatic dependent launch\n"));
	assert_true(json_is_true(json_object_get(kernel(r, "dependent"), "uses_pdl")));
	assert_null(json_object_get(kernel(r, "add"), "uses_pdl"));
	assert_non_null(strstr(text, "5 of 8 kernels can leave"));
	free(text);
	json_decref(r);
}

static void words(void **state)
{
	json_t *r = report_on("options.fatbin");
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	assert_int_equal(gs_inspect_print(to, r, 0), 0);
	fclose(to);
	assert_non_null(strstr(text, "zstd to"));
	assert_non_null(strstr(text, "-maxrregcount=32"));
	assert_non_null(strstr(text, "axpy: persistent; PTX compute_75\n"));
	assert_non_null(strstr(text, "2 of 2 kernels can leave"));
	free(text);
	json_decref(r);
}

/* What gpushare-nvcc has put in belongs to its kernels, and is none. */
static void shipped_variants_are_no_kernels(void **state)
{
	static const char text[] =
		"{\"own\":{\"form\":\"as is\",\"reason\":\"MACHINE_CODE\"},"
		"\"own__gpushare_p\":{\"form\":\"as is\",\"machine_code\":[\"sm_80\",\"sm_90a\"]},"
		"\"own__gpushare_s\":{\"form\":\"as is\",\"machine_code\":[\"sm_80\"]},"
		"\"sliced\":{\"form\":\"as is\"},"
		"\"sliced__gpushare_s\":{\"form\":\"as is\",\"machine_code\":[\"sm_80\"]},"
		"\"better\":{\"form\":\"persistent\",\"reason\":\"NONE\"},"
		"\"better__gpushare_g\":{\"form\":\"as is\",\"machine_code\":[\"sm_80\"]},"
		"\"alone__gpushare_p\":{\"form\":\"as is\"}}";
	static const struct {
		uint32_t sm;
		const char *form;
	} own[] = { { 0, "persistent" },
		    { 80, "persistent" },
		    { 90, "persistent" },
		    { 9, "as is" },
		    { 75, "as is" } };

	(void)state;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		json_t *all = json_loads(text, 0, NULL), *k;

		shipped_fold(all, own[i].sm);
		assert_int_equal(json_object_size(all), 4);
		k = json_object_get(all, "own");
		assert_string_equal(json_string_value(json_object_get(k, "form")), own[i].form);
		assert_int_equal(json_array_size(json_object_get(k, "shipped")), 2);
		k = json_object_get(all, "sliced"); /* the shim launches no such */
		assert_string_equal(json_string_value(json_object_get(k, "form")), "as is");
		k = json_object_get(all, "better");
		assert_string_equal(json_string_value(json_object_get(k, "form")), "persistent");
		assert_null(json_object_get(k, "from"));
		assert_non_null(json_object_get(all, "alone__gpushare_p")); /* nobody's variant */
		json_decref(all);
	}
}

/* The same of a container that gpushare-nvcc has made for sm_80, without PTX. */
static void a_program_with_its_variants(void **state)
{
	json_t *r = report_for("shipped.fatbin", 80);

	(void)state;
	assert_int_equal(number(r, "kernel_count"), 2);
	assert_int_equal(number(r, "as_is"), 0);
	expect(r, "axpy", "persistent", "NONE", 0, 1);
	expect(r, "copy", "persistent", "NONE", 0, 1);
	json_decref(r);
}

/* One bad entry does not hide the other. */
static void corrupt_parts_are_named(void **state)
{
	struct gs_error err;
	size_t len;
	char *data = slurp("zstd.fatbin", &len);
	json_t *r, *entries;

	(void)state;
	memset(data + 16 + 64, 0, 16); /* the machine code's zstd frame */
	r = gs_inspect("t", data, len, 0, &err);
	assert_non_null(r);
	entries = json_object_get(json_array_get(json_object_get(r, "containers"), 0), "entries");
	assert_non_null(json_object_get(json_array_get(entries, 0), "error"));
	assert_null(json_object_get(json_array_get(entries, 1), "error"));
	expect(r, "axpy", "persistent", "NONE", 1, 0);
	json_decref(r);
	r = gs_inspect("t", data, len - 1, 0, &err);
	assert_null(r);
	assert_non_null(strstr(err.text, "do not fit"));
	free(data);
}

static void ptx_text_is_not_for_it(void **state)
{
	size_t len;
	char *data = slurp("kernels.ptx", &len);

	(void)state;
	assert_int_equal(gs_inspect_handles(data, len), 0);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library),
		cmocka_unit_test(architectures),
		cmocka_unit_test(relocatable_code),
		cmocka_unit_test(machine_code_newer_than_the_ptx),
		cmocka_unit_test(a_device),
		cmocka_unit_test(a_cubin),
		cmocka_unit_test(words),
		cmocka_unit_test(shipped_variants_are_no_kernels),
		cmocka_unit_test(a_program_with_its_variants),
		cmocka_unit_test(corrupt_parts_are_named),
		cmocka_unit_test(ptx_text_is_not_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
