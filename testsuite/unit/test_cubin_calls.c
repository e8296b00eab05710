/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels that call the driver's functions (assert, printf, malloc) are cut out with what these
 * calls need and nothing else; where the function or its arguments are not surely that, refused.
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

#define EXTERNS 0x0f
#define CALLS 0x46 /* offsets of the calls of the driver's functions */
#define NAMED 4

/* Instructions: MOV of a number, and LDC.64 of the place in bank 4 that a register says. */
#define MOV UINT64_C(0x7802)
#define LDC UINT64_C(0x0100000000007b82)

static uint8_t *image;
static size_t size;

static int read_image(void **unused)
{
	(void)unused;
	image = cubin_data_read("calls.cubin", &size);
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

/* Everything in the module whose address the cut has: its functions and its strings. */
static void expect_addresses(const uint8_t *cut, const char *const *functions, unsigned strings)
{
	unsigned n = 0;
	Elf64_Shdr h;
	Elf64_Sym y;

	for (; functions[n]; n++) {
		assert_true(cubin_data_symbol(cut, functions[n], STT_FUNC, &y));
		assert_int_equal(y.st_shndx, SHN_UNDEF);
		assert_int_equal(cubin_data_address(cut, functions[n], STT_FUNC),
				 cubin_data_address(image, functions[n], STT_FUNC));
		assert_true(cubin_data_address(cut, functions[n], STT_FUNC) >= 0);
	}
	assert_true(cubin_data_section(cut, ".rela.nv.constant4", &h) != NULL);
	assert_int_equal(h.sh_size, (n + strings) * sizeof(Elf64_Rela));
	assert_int_equal(cubin_data_symbol(cut, "counter", STT_OBJECT, &y), 0);
}

/* The attribute lists these functions, in whichever order, by the numbers they have in the cut. */
static void expect_externs(const uint8_t *cut, const char *info, const char *const *functions)
{
	size_t bytes = 0;
	const uint8_t *list = cubin_data_attribute(cut, info, EXTERNS, &bytes);
	unsigned n = 0;
	Elf64_Sym y;

	assert_non_null(list);
	for (; functions[n]; n++) {
		uint32_t symbol = cubin_data_symbol(cut, functions[n], STT_FUNC, &y);

		assert_non_null(memmem(list, bytes, &symbol, sizeof(symbol)));
	}
	assert_int_equal(bytes, 4 * n);
}

/* The calls are where the attribute says, behind the guard. */
static void expect_calls(const struct cubin_guarded *g, const char *info)
{
	size_t was = 0, is = 0;
	const uint8_t *old = cubin_data_attribute(image, info, CALLS, &was),
		      *new = cubin_data_attribute(g->image, info, CALLS, &is);

	assert_true(old && new);
	assert_int_equal(was, is);
	for (size_t at = 0; at < was; at += 4) {
		uint32_t before, after;

		memcpy(&before, old + at, sizeof(before));
		memcpy(&after, new + at, sizeof(after));
		assert_int_equal(after, before + g->guard_bytes);
	}
}

static const struct {
	const char *kernel, *info, *function[NAMED];
	unsigned strings; /* and tables */
} want[] = {
	{ "gather", ".nv.info.gather", { "__assertfail" }, 3 },
	{ "say", ".nv.info.say", { "vprintf" }, 1 },
	{ "heap", ".nv.info.heap", { "malloc", "free" }, 0 },
	{ "all", ".nv.info.all", { "__assertfail", "vprintf" }, 8 },
};

static void calls_keep_what_they_need(void **unused)
{
	struct cubin_guarded g;

	(void)unused;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(guard(want[i].kernel, &g), CUBIN_REASON_NONE);
		expect_addresses(g.image, want[i].function, want[i].strings);
		expect_externs(g.image, want[i].info, want[i].function);
		expect_calls(&g, want[i].info);
		free(g.image);
	}
}

/* The first literal that gather has in its cut. */
static const char *literal_of(const uint8_t *cut, Elf64_Sym *symbol)
{
	static const char *const names[] = { "$str", "$str$1", "$str$2", "$str$3", "$str$4" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (cubin_data_symbol(cut, names[i], STT_OBJECT, symbol))
			return names[i];
	fail_msg("no literal");
	return NULL;
}

/* A string of the cut has the bytes that it had; those of other kernels are not there. */
static void strings_keep_their_bytes(void **unused)
{
	struct cubin_guarded g;
	Elf64_Shdr h;
	const uint8_t *old = cubin_data_section(image, ".nv.global.init", &h), *new;
	Elf64_Sym was, is;

	(void)unused;
	assert_int_equal(guard("gather", &g), CUBIN_REASON_NONE);
	new = cubin_data_section(g.image, ".nv.global.init", &h);
	assert_true(old && new);
	assert_true(cubin_data_symbol(image, literal_of(g.image, &is), STT_OBJECT, &was));
	assert_true(is.st_value + is.st_size <= h.sh_size);
	assert_int_equal(is.st_size, was.st_size);
	assert_memory_equal(new + is.st_value, old + was.st_value, is.st_size);
	assert_non_null(memmem(new, h.sh_size, "index out of bounds", 19));
	assert_null(memmem(new, h.sh_size, "block %d", 8));
	free(g.image);
}

/* Who calls nothing gets no function along; who touches a variable beside its calls is refused. */
static void others_are_as_before(void **unused)
{
	struct cubin_guarded g;
	Elf64_Sym y;

	(void)unused;
	assert_int_equal(guard("plain", &g), CUBIN_REASON_NONE);
	assert_int_equal(cubin_data_symbol(g.image, "vprintf", STT_FUNC, &y), 0);
	free(g.image);
	assert_int_equal(guard("count", &g), CUBIN_REASON_VARIABLES);
	assert_int_equal(guard("show", &g), CUBIN_REASON_VARIABLES);
}

static void refused_with(const char *kernel, enum cubin_reason why, size_t at, const void *bytes,
			 size_t n)
{
	struct cubin_guarded g;
	uint8_t was[16];

	memcpy(was, image + at, n);
	memcpy(image + at, bytes, n);
	assert_int_equal(guard(kernel, &g), why);
	memcpy(image + at, was, n);
	assert_int_equal(guard(kernel, &g), CUBIN_REASON_NONE);
	free(g.image);
}

/* A function of another name, and a string of another name, with a zero inside or without an end.
 */
static void other_names_are_refused(void **unused)
{
	static const uint8_t zero = 0, one = 1;
	struct cubin_guarded g;
	Elf64_Shdr init, names;
	Elf64_Sym y;
	const uint8_t *function = memmem(image, size, "\0vprintf", 9), *all;
	const char *string;
	size_t at;

	(void)unused;
	assert_int_equal(guard("gather", &g), CUBIN_REASON_NONE);
	string = literal_of(g.image, &y);
	cubin_data_symbol(image, string, STT_OBJECT, &y);
	all = cubin_data_section(image, ".strtab", &names);
	assert_true(function && all);
	assert_string_equal((const char *)all + y.st_name, string);
	refused_with("say", CUBIN_REASON_FUNCTIONS, (size_t)(function - image) + 2, "x", 1);
	refused_with("gather", CUBIN_REASON_VARIABLES, names.sh_offset + y.st_name + 1, "x", 1);
	cubin_data_section(image, ".nv.global.init", &init);
	at = init.sh_offset + y.st_value;
	refused_with("gather", CUBIN_REASON_VARIABLES, at + 1, &zero, 1);
	refused_with("gather", CUBIN_REASON_VARIABLES, at + y.st_size - 1, &one, 1);
	free(g.image);
}

/* The code of a kernel, and where in it the first load with an index is. */
static size_t indexed_load(const char *text, uint8_t *index)
{
	Elf64_Shdr h;
	const uint8_t *code = cubin_data_section(image, text, &h);

	assert_non_null(code);
	for (size_t at = 0; at + 16 <= h.sh_size; at += 16) {
		uint64_t word;

		memcpy(&word, code + at, sizeof(word));
		if ((word & UINT64_C(0xffffffff0000ffff)) != LDC)
			continue;
		*index = (uint8_t)(word >> 24);
		if (*index != 0xff)
			return (size_t)(code - image) + at;
	}
	fail_msg("%s: no load with an index", text);
	return 0;
}

static size_t move_before(size_t load, uint8_t index)
{
	for (size_t at = load - 16;; at -= 16) {
		uint64_t word;

		memcpy(&word, image + at, sizeof(word));
		if ((word & 0xffffffff) == (MOV | (uint64_t)index << 16))
			return at;
	}
}

/* Which function is called must be sure: a number, in the same straight line, not under a
 * condition. */
static void another_index_is_refused(void **unused)
{
	static const uint8_t predicate = 0x08, odd = 4, copied = 0x02;
	const uint64_t exit = 0x794d, far = 0x7fff8;
	uint8_t index;
	size_t load = indexed_load(".text.gather", &index), move = move_before(load, index);
	/* MOV of a register into the one that has the index, and a jump in front of the load. */
	uint64_t overwrite = UINT64_C(0x0000000500007202) | (uint64_t)index << 16,
		 jump = UINT64_C(0x7947) | (uint64_t)((load - move) / 4 & 0xff) << 16;

	(void)unused;
	assert_true(load - move > 32);
	refused_with("gather", CUBIN_REASON_VARIABLES, move + 1, &predicate, 1);
	refused_with("gather", CUBIN_REASON_VARIABLES, move + 4, &odd, 1);
	refused_with("gather", CUBIN_REASON_VARIABLES, move + 1, &copied, 1);
	refused_with("gather", CUBIN_REASON_VARIABLES, move + 4, &far, 4);
	refused_with("gather", CUBIN_REASON_VARIABLES, load - 16, &overwrite, 8);
	refused_with("gather", CUBIN_REASON_VARIABLES, load - 16, &exit, 8);
	refused_with("gather", CUBIN_REASON_VARIABLES, move - 16, &jump, 8);
}

/* The relocation that fills that place in bank 4: where it stands in the image. */
static size_t relocation_of(uint64_t place)
{
	Elf64_Shdr h;
	const uint8_t *all = cubin_data_section(image, ".rela.nv.constant4", &h);

	assert_non_null(all);
	for (size_t at = 0; at < h.sh_size; at += sizeof(Elf64_Rela))
		if (memcmp(all + at, &place, sizeof(place)) == 0)
			return (size_t)(all - image) + at;
	fail_msg("nothing fills place %#lx", (unsigned long)place);
	return 0;
}

/* A load whose index is the register that is always 0 is one of a fixed place, which may be 0. */
static void the_first_place_needs_no_index(void **unused)
{
	static const uint64_t first = 0;
	long function = cubin_data_address(image, "__assertfail", STT_FUNC);
	uint64_t place = (uint64_t)function;
	size_t of_function = relocation_of(place), of_first = relocation_of(first), load;
	struct cubin_guarded g;
	uint8_t index;

	(void)unused;
	assert_true(function > 0);
	load = indexed_load(".text.gather", &index);
	memcpy(image + of_function, &first, sizeof(first));
	memcpy(image + of_first, &place, sizeof(place));
	image[load + 3] = 0xff;
	assert_int_equal(guard("gather", &g), CUBIN_REASON_NONE);
	assert_int_equal(cubin_data_address(g.image, "__assertfail", STT_FUNC), 0);
	free(g.image);
	image[load + 3] = index;
	memcpy(image + of_function, &place, sizeof(place));
	memcpy(image + of_first, &first, sizeof(first));
}

/* The list of functions and the pairs of caller and callee may not name what is not the driver's.
 */
static void another_callee_is_refused(void **unused)
{
	Elf64_Shdr h;
	Elf64_Sym y;
	size_t bytes = 0;
	uint32_t other = cubin_data_symbol(image, "plain", STT_FUNC, &y),
		 kernel = cubin_data_symbol(image, "say", STT_FUNC, &y),
		 called = cubin_data_symbol(image, "vprintf", STT_FUNC, &y);
	uint32_t pair[2] = { kernel, called };
	const uint8_t *list = cubin_data_attribute(image, ".nv.info.say", EXTERNS, &bytes),
		      *calls = cubin_data_section(image, ".nv.callgraph", &h), *found;

	(void)unused;
	assert_true(list && other && kernel && called && calls);
	refused_with("say", CUBIN_REASON_FUNCTIONS, (size_t)(list - image), &other, 4);
	found = memmem(calls, h.sh_size, pair, sizeof(pair));
	assert_non_null(found);
	refused_with("say", CUBIN_REASON_FUNCTIONS, (size_t)(found - image) + 4, &other, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_keep_what_they_need),
		cmocka_unit_test(strings_keep_their_bytes),
		cmocka_unit_test(others_are_as_before),
		cmocka_unit_test(other_names_are_refused),
		cmocka_unit_test(another_index_is_refused),
		cmocka_unit_test(the_first_place_needs_no_index),
		cmocka_unit_test(another_callee_is_refused),
	};

	return cmocka_run_group_tests(tests, read_image, free_image);
}
