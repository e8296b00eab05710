/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guards in front of kernels: the code, and each table that says something of it. */
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
#include "device/cubin/template.h"
#include "device/ptx/guard.h"

#define PARAMS_AT 0x210u

static uint32_t word(const uint8_t *p, size_t i)
{
	uint32_t v;

	memcpy(&v, p + 4 * i, sizeof(v));
	return v;
}

static uint16_t half(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static struct cubin_guarded guarded(const uint8_t *image, size_t size, const char *kernel,
				    enum cubin_guard kind, int clusters)
{
	struct gs_error err = { "" };
	struct cubin_guarded g;

	if (cubin_guard_kernel(image, size, kernel, kind, clusters, &g, &err) != 1)
		fail_msg("%s: %s", kernel, err.text);
	assert_int_equal(g.reason, CUBIN_REASON_NONE);
	assert_int_equal(g.kind, kind);
	return g;
}

/* The code is the template's, for its parameter's place, and then the kernel's own, unchanged. */
static void expect_code(const uint8_t *image, const struct cubin_guarded *g, const char *kernel,
			int clusters)
{
	const struct cubin_template *t = cubin_template_find(g->kind, clusters);
	char name[100];
	Elf64_Shdr was, h;
	const uint8_t *own, *code;
	uint8_t *front;

	assert_non_null(t);
	snprintf(name, sizeof(name), ".text.%s", kernel);
	own = cubin_data_section(image, name, &was);
	code = cubin_data_section(g->image, name, &h);
	assert_true(own && code);
	assert_int_equal(g->guard_bytes, t->code_size);
	assert_int_equal(h.sh_size, was.sh_size + t->code_size);
	front = malloc(t->code_size);
	assert_non_null(front);
	cubin_template_copy(t, g->param_offset, front);
	assert_memory_equal(code, front, t->code_size);
	assert_memory_equal(code + t->code_size, own, was.sh_size);
	free(front);
}

static void the_code_is_the_guard_and_the_kernel(void **state)
{
	static const char *const kernels[] = { "add", "turn", "nothing", "meet", "dependent" };
	size_t size;
	uint8_t *image = cubin_data_read("several.cubin", &size);

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		for (int kind = 0; kind < CUBIN_GUARD_COUNT; kind++)
			for (int clusters = 0; clusters < 2; clusters++) {
				struct cubin_guarded g = guarded(image, size, kernels[i],
								 (enum cubin_guard)kind, clusters);

				/* This one says itself that it runs in clusters. */
				expect_code(image, &g, kernels[i],
					    clusters || strcmp(kernels[i], "meet") == 0);
				assert_null(memmem(g.image, g.size, "whole_grid", 10));
				free(g.image);
			}
	free(image);
}

/* Only LDC and ULDC from behind the driver's part of bank 0 differ, by the distance. */
static void a_template_moves_with_its_parameter(void **state)
{
	static const uint32_t places[] = { 8, 56, 1000, 3072, 4072 };

	(void)state;
	assert_int_equal(cubin_template_count, 4);
	for (size_t n = 0; n < cubin_template_count; n++)
		for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
			const struct cubin_template *t = &cubin_templates[n];
			uint64_t *at = malloc(t->code_size);
			unsigned moved = 0;

			assert_non_null(at);
			cubin_template_copy(t, places[p], (uint8_t *)at);
			for (size_t i = 0; i < t->code_size / 8; i++) {
				uint64_t changed = at[i] ^ t->code[i];

				if (!changed)
					continue;
				moved++;
				assert_int_equal(changed & ~(UINT64_C(0x3fff) << 40), 0);
				assert_int_equal((at[i] >> 40 & 0x3fff) * 4,
						 (t->code[i] >> 40 & 0x3fff) * 4 + places[p]);
				assert_in_range((t->code[i] >> 40 & 0x3fff) * 4, PARAMS_AT,
						PARAMS_AT + GS_GUARD_PARAM_BYTES - 4);
			}
			/* The word and the base; maxt: the word twice, and the group. */
			assert_int_equal(moved, t->kind == CUBIN_GUARD_MAXT ? 4 : 2);
			assert_int_equal(t->code_size % 128, 0);
			free(at);
		}
}

static void the_parameter_is_the_last(void **state)
{
	static const struct {
		const char *kernel;
		uint32_t ordinal, offset;
	} row[] = { { "add", 3, 24 }, { "turn", 2, 16 }, { "nothing", 0, 0 }, { "meet", 1, 8 } };
	size_t size, n;
	uint8_t *image = cubin_data_read("several.cubin", &size);

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct cubin_guarded g = guarded(image, size, row[i].kernel, CUBIN_GUARD_MAXB, 0);
		char info[100], bank[100];
		const uint8_t *p;
		Elf64_Shdr h;
		Elf64_Sym y;

		snprintf(info, sizeof(info), ".nv.info.%s", row[i].kernel);
		snprintf(bank, sizeof(bank), ".nv.constant0.%s", row[i].kernel);
		assert_int_equal(g.param, row[i].ordinal);
		assert_int_equal(g.param_offset, row[i].offset);
		assert_int_equal(g.param_bytes, row[i].offset + GS_GUARD_PARAM_BYTES);
		p = cubin_data_attribute(g.image, info, 0x17, &n);
		assert_true(p && n == 12);
		assert_int_equal(word(p, 1), row[i].ordinal | row[i].offset << 16);
		assert_int_equal(word(p, 2), GS_GUARD_PARAM_BYTES << 18 | 0x1f000);
		p = cubin_data_attribute(g.image, info, 0x19, &n);
		assert_true(p && half(p) == g.param_bytes);
		p = cubin_data_attribute(g.image, info, 0x0a, &n);
		assert_true(p && n == 8);
		assert_int_equal(word(p, 1), PARAMS_AT | g.param_bytes << 16);
		assert_int_equal(word(p, 0), cubin_data_symbol(g.image, bank, STT_SECTION, &y));
		assert_non_null(cubin_data_section(g.image, bank, &h));
		assert_int_equal(h.sh_size, PARAMS_AT + g.param_bytes);
		free(g.image);
	}
	free(image);
}

/* Lists of places in the code: the guard's own first, then the kernel's, moved up. */
static void expect_list(const uint8_t *image, const struct cubin_guarded *g, uint8_t number,
			size_t own_of_guard)
{
	size_t before, after;
	const uint8_t *was = cubin_data_attribute(image, ".nv.info.branches", number, &before);
	const uint8_t *is = cubin_data_attribute(g->image, ".nv.info.branches", number, &after);

	assert_true(was && is);
	assert_int_equal(after, before + 4 * own_of_guard);
	for (size_t i = 0; i < own_of_guard; i++)
		assert_true(word(is, i) < g->guard_bytes);
	for (size_t i = 0; i < before / 4; i++)
		assert_int_equal(word(is, own_of_guard + i), word(was, i) + g->guard_bytes);
}

static void tables_follow_the_code(void **state)
{
	size_t size, n;
	uint8_t *image = cubin_data_read("branches.cubin", &size);
	struct cubin_guarded g = guarded(image, size, "branches", CUBIN_GUARD_MAXT, 0);
	const uint8_t *was, *is;
	Elf64_Shdr h;
	Elf64_Sym y, inner, kernel;

	(void)state;
	expect_code(image, &g, "branches", 0);
	expect_list(image, &g, 0x1c, 2);
	expect_list(image, &g, 0x28, 0);
	was = cubin_data_attribute(image, ".nv.info.branches", 0x34, &n);
	is = cubin_data_attribute(g.image, ".nv.info.branches", 0x34, &n);
	assert_true(was && is && n == 24);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(word(is, i),
				 word(was, i) + (i == 1 || i == 2 ? 0 : g.guard_bytes));
	assert_true(cubin_data_symbol(image, "$branches$_Z5againfi", STT_FUNC, &inner));
	assert_true(cubin_data_symbol(g.image, "$branches$_Z5againfi", STT_FUNC, &y));
	assert_int_equal(y.st_value, inner.st_value + g.guard_bytes);
	assert_int_equal(y.st_size, inner.st_size);
	assert_true(cubin_data_symbol(image, "branches", STT_FUNC, &kernel));
	n = cubin_data_symbol(g.image, "branches", STT_FUNC, &y);
	assert_true(n);
	assert_int_equal(y.st_value, 0);
	assert_int_equal(y.st_size, kernel.st_size + g.guard_bytes);
	assert_non_null(cubin_data_section(g.image, ".text.branches", &h));
	assert_int_equal(h.sh_info, n);
	/* The table of the indirect branch is relative, and stays. */
	was = cubin_data_section(image, ".nv.constant2.branches", &h);
	is = cubin_data_section(g.image, ".nv.constant2.branches", &h);
	assert_true(was && is && h.sh_size == 12);
	assert_memory_equal(was, is, 12);
	assert_true(cubin_data_section(g.image, ".debug_frame", &h) && h.sh_size == 0);
	free(g.image);
	free(image);
}

static void registers_and_barriers_are_enough(void **state)
{
	size_t size, n;
	uint8_t *image = cubin_data_read("several.cubin", &size);
	struct cubin_guarded g = guarded(image, size, "nothing", CUBIN_GUARD_MAXT, 0);
	const uint8_t *p = cubin_data_attribute(g.image, ".nv.info", 0x2f, &n);
	Elf64_Sym y;

	(void)state;
	assert_true(p && n == 8);
	assert_int_equal(word(p, 0), cubin_data_symbol(g.image, "nothing", STT_FUNC, &y));
	assert_int_equal(word(p, 1), 14);
	assert_int_equal(g.registers_before, 4);
	assert_int_equal(g.registers, 14);
	p = cubin_data_attribute(g.image, ".nv.info.nothing", 0x4c, &n);
	assert_true(p && p[0] == 1);
	free(g.image);
	free(image);
}

/* Up to CUDA 12 the counts of registers and barriers stand in the header of the code. */
static void an_older_format_has_its_counts_elsewhere(void **state)
{
	size_t size, at;
	uint8_t *image = cubin_data_read("several.cubin", &size);
	struct cubin_guarded g;
	Elf64_Ehdr e;
	Elf64_Shdr h;

	(void)state;
	memcpy(&e, image, sizeof(e));
	e.e_ident[EI_ABIVERSION] = 7;
	e.e_flags = 90 | 90 << 16;
	memcpy(image, &e, sizeof(e));
	assert_non_null(cubin_data_section(image, ".text.add", &h));
	for (at = e.e_shoff; memcmp(image + at, &h, sizeof(h)) != 0;)
		at += sizeof(h);
	h.sh_info |= 10u << 24;
	memcpy(image + at, &h, sizeof(h));
	g = guarded(image, size, "add", CUBIN_GUARD_MAXT, 0);
	assert_non_null(cubin_data_section(g.image, ".text.add", &h));
	assert_int_equal(h.sh_info >> 24, 14);
	assert_int_equal(h.sh_flags >> 20 & 0x7f, 1);
	assert_null(cubin_data_attribute(g.image, ".nv.info.add", 0x4c, &at));
	free(g.image);
	free(image);
}

/* As cuBLAS has them: one kernel, no segments, and no symbol in the header of its code. */
static void a_cubin_made_by_hand_stays_as_it_is(void **state)
{
	size_t size, n;
	uint8_t *image = cubin_data_read("several.cubin", &size), *alone;
	struct cubin *c = cubin_open(image, size, NULL);
	enum cubin_reason reason;
	struct gs_error err;
	struct cubin_guarded g;
	Elf64_Shdr h, hand;
	Elf64_Ehdr e;
	size_t at;

	(void)state;
	assert_non_null(c);
	alone = cubin_cut(c, (uint32_t)cubin_find(c, "turn"), &n, &reason, &err);
	assert_non_null(alone);
	memcpy(&e, alone, sizeof(e));
	n = e.e_phoff;
	e.e_phoff = e.e_phnum = 0;
	e.e_ident[EI_ABIVERSION] = 7;
	e.e_flags = 90 | 90 << 16;
	memcpy(alone, &e, sizeof(e));
	assert_non_null(cubin_data_section(alone, ".text.turn", &h));
	for (at = e.e_shoff; memcmp(alone + at, &h, sizeof(h)) != 0;)
		at += sizeof(h);
	h.sh_info = 10u << 24;
	memcpy(alone + at, &h, sizeof(h));
	g = guarded(alone, n, "turn", CUBIN_GUARD_MAXB, 0);
	expect_code(alone, &g, "turn", 0);
	assert_non_null(cubin_data_section(g.image, ".text.turn", &hand));
	assert_int_equal(hand.sh_info, h.sh_info);
	memcpy(&e, g.image, sizeof(e));
	assert_int_equal(e.e_phnum, 0);
	free(g.image);
	/* A layout that would not come out the same is not touched. */
	alone = realloc(alone, n + 64);
	assert_non_null(alone);
	memcpy(&e, alone, sizeof(e));
	memmove(alone + e.e_shoff + 64, alone + e.e_shoff, n - e.e_shoff);
	e.e_shoff += 64;
	memcpy(alone, &e, sizeof(e));
	assert_int_equal(cubin_guard_kernel(alone, n + 64, "turn", CUBIN_GUARD_MAXB, 0, &g, &err),
			 0);
	assert_int_equal(g.reason, CUBIN_REASON_LAYOUT);
	free(alone);
	cubin_close(c);
	free(image);
}

static void there_is_no_such_kernel(void **state)
{
	struct gs_error err = { "" };
	struct cubin_guarded g;
	size_t size;
	uint8_t *image = cubin_data_read("several.cubin", &size);

	(void)state;
	assert_int_equal(cubin_guard_kernel(image, size, "addition", CUBIN_GUARD_MAXB, 0, &g, &err),
			 -1);
	assert_non_null(strstr(err.text, "addition"));
	assert_int_equal(cubin_guard_kernel(image, 40, "add", CUBIN_GUARD_MAXB, 0, &g, &err), -1);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_code_is_the_guard_and_the_kernel),
		cmocka_unit_test(a_template_moves_with_its_parameter),
		cmocka_unit_test(the_parameter_is_the_last),
		cmocka_unit_test(tables_follow_the_code),
		cmocka_unit_test(registers_and_barriers_are_enough),
		cmocka_unit_test(an_older_format_has_its_counts_elsewhere),
		cmocka_unit_test(a_cubin_made_by_hand_stays_as_it_is),
		cmocka_unit_test(there_is_no_such_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
