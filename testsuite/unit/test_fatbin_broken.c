/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fatbin reader on what is not a container any more: every truncation of
 * those that nvcc made, every one-bit corruption, sizes that lie.
 */
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

#include "fatbin_data.h"
#include "device/cubin/cubin.h"

/* Everything that can be asked of a container; answers do not matter. */
static int exercise(const uint8_t *data, size_t len)
{
	struct gs_fatbin_entry e;
	struct gs_error err;
	struct gs_fatbin fb;
	char *text;
	size_t n, at = 0;
	int rc;

	if (gs_fatbin_open(data, len, &fb, &err) < 0)
		return -1;
	while ((rc = gs_fatbin_next(&fb, &at, &e, &err)) > 0) {
		uint8_t *whole = gs_fatbin_unpack(&e, &n, &err);
		struct cubin *c = whole ? cubin_open(whole, n, &err) : NULL;
		struct cubin_kernel k;

		for (uint32_t i = 0; c && i < cubin_kernels(c); i++)
			cubin_kernel(c, i, &k, &err);
		cubin_close(c);
		free(whole);
		gs_fatbin_relocatable(&e, &err);
	}
	if (gs_fatbin_best_ptx(&fb, 120, &text, &n, &err) > 0) {
		assert_int_equal(strlen(text), n);
		free(text);
	}
	return rc;
}

static const char *const containers[] = { "zstd.fatbin", "lz4.fatbin", "options.fatbin",
					  "cuda12.fatbin" };

static void a_cut_container_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		struct gs_bytes b = fatbin_file(containers[i]);

		for (size_t len = 0; len < b.len; len++) {
			uint8_t *cut = malloc(len ? len : 1);

			assert_non_null(cut);
			memcpy(cut, b.data, len);
			assert_int_equal(exercise(cut, len), -1);
			free(cut);
		}
		assert_int_equal(exercise(b.data, b.len), 0);
		fatbin_drop(b);
	}
}

/* In memory the length is the header's: an entry that runs past it is corrupt. */
static void a_short_total_is_corrupt(void **state)
{
	struct gs_bytes b = fatbin_file("zstd.fatbin");
	uint8_t *copy = malloc(b.len);

	(void)state;
	assert_non_null(copy);
	for (uint64_t total = 1; total < b.len - 16; total++) {
		memcpy(copy, b.data, b.len);
		memcpy(copy + 8, &total, sizeof(total));
		if (total == 1320) /* exactly the first entry */
			continue;
		assert_int_equal(exercise(copy, b.len), -1);
	}
	free(copy);
	fatbin_drop(b);
}

/* The libraries that unpack are not watched by the sanitizers: the field itself is tested. */
static void packed_bytes_outside_the_entry_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		struct gs_bytes b = fatbin_file(containers[i]);
		uint8_t *copy = malloc(b.len);
		uint32_t packed;
		uint64_t stored;

		assert_non_null(copy);
		memcpy(copy, b.data, b.len);
		memcpy(&stored, copy + 16 + 8, sizeof(stored));
		packed = (uint32_t)stored;
		memcpy(copy + 16 + 16, &packed, sizeof(packed));
		assert_int_equal(exercise(copy, b.len), 0);
		packed++;
		memcpy(copy + 16 + 16, &packed, sizeof(packed));
		assert_int_equal(exercise(copy, b.len), -1);
		packed = 0;
		memcpy(copy + 16 + 16, &packed, sizeof(packed));
		assert_int_equal(exercise(copy, b.len), -1);
		free(copy);
		fatbin_drop(b);
	}
}

/* Any bit may be wrong: the sanitizers watch, and headers that matter are refused. */
static void flipped_bits_do_no_harm(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		struct gs_bytes b = fatbin_file(containers[i]);
		uint8_t *copy = malloc(b.len);

		assert_non_null(copy);
		memcpy(copy, b.data, b.len);
		for (size_t bit = 0; bit < b.len * 8; bit++) {
			int rc;

			copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
			rc = exercise(copy, b.len);
			if (bit < 8 * 8)
				assert_int_equal(rc, -1); /* magic, version, header size */
			copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		free(copy);
		fatbin_drop(b);
	}
}

static void walk_host(const uint8_t *data, size_t len)
{
	struct gs_host_walk w;
	struct gs_error err;
	struct gs_fatbin fb;

	if (gs_host_open(data, len, &w, &err) < 0)
		return;
	while (gs_host_next(&w, &fb, &err) > 0)
		exercise(fb.bytes.data, fb.bytes.len);
}

static void broken_host_files_do_no_harm(void **state)
{
	struct gs_bytes b = fatbin_file("library.so");
	struct gs_error err;
	struct gs_host_walk w;
	uint64_t table;
	uint8_t *copy = malloc(b.len);

	(void)state;
	assert_non_null(copy);
	for (size_t len = 0; len < b.len; len += 61) {
		uint8_t *cut = malloc(len ? len : 1);

		assert_non_null(cut);
		memcpy(cut, b.data, len);
		/* The section table is at the end: without it nothing is found. */
		assert_int_equal(gs_host_open(cut, len, &w, &err), -1);
		free(cut);
	}
	memcpy(copy, b.data, b.len);
	memcpy(&table, b.data + 40, sizeof(table));
	for (size_t at = 0; at < b.len; at++) {
		if (at == 64)
			at = (size_t)table; /* the ELF header, then the section headers */
		for (int bit = 0; bit < 8; bit++) {
			copy[at] ^= (uint8_t)(1 << bit);
			walk_host(copy, b.len);
			copy[at] ^= (uint8_t)(1 << bit);
		}
	}
	free(copy);
	fatbin_drop(b);
}

/* A small entry may not ask for memory without end. */
static void the_unpacked_size_is_bounded(void **state)
{
	static const char *const name[] = { "zstd.fatbin", "lz4.fatbin" };
	static const uint64_t size[] = {
		0, 1, 2161, 2163, (uint64_t)200 << 20, GS_FATBIN_UNPACK_MAX + 1, UINT64_MAX
	};

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		struct gs_bytes b = fatbin_file(name[i]);
		struct gs_fatbin fb = fatbin_opened(b);
		struct gs_fatbin_entry e = fatbin_entry(&fb, GS_ENTRY_PTX);
		struct gs_error err;
		size_t len;

		for (size_t k = 0; k < sizeof(size) / sizeof(size[0]); k++) {
			e.size = size[k];
			assert_null(gs_fatbin_unpack(&e, &len, &err));
		}
		fatbin_drop(b);
	}
}

/* A block whose match copies from nowhere: what it makes would be what the memory held before. */
static void a_match_of_offset_zero_is_corrupt(void **state)
{
	/* 14 and 0xf + 0x23 = 50 literals, between them a match of 4 + 4 at `offset`, no match
	 * behind */
	uint8_t block[72] = { 0xe4 };
	struct gs_fatbin_entry e = { .packing = GS_PACKING_LZ4, .size = 72 };
	uint8_t head[64];
	size_t len;

	(void)state;
	memset(block + 1, '.', sizeof(block) - 1);
	block[16] = 0;
	block[17] = 0xf0;
	block[18] = 35;
	e.payload.data = block;
	e.payload.len = 69;
	for (unsigned int offset = 0; offset < 256; offset++) {
		uint8_t *whole;
		int good = offset >= 1 && offset <= 14;

		block[15] = (uint8_t)offset;
		whole = gs_fatbin_unpack(&e, &len, NULL);
		assert_int_equal(whole != NULL, good);
		assert_int_equal(gs_fatbin_peek(&e, head, sizeof(head), NULL) == 0, good);
		assert_int_equal(gs_fatbin_peek(&e, head, 14, NULL), 0); /* before the match */
		free(whole);
	}
}

/* A name or options among the header's fields would change when another text is put in: refused. */
static void texts_lie_behind_the_fields(void **state)
{
	static const uint32_t bad[] = { 1, 8, 16, 56, 60, 63 };
	static const size_t field[] = { 20, 32 }; /* options, name */
	struct gs_bytes b = fatbin_file("cuda12.fatbin");
	struct gs_fatbin fb = fatbin_opened(b);
	struct gs_fatbin_entry e = fatbin_entry(&fb, GS_ENTRY_PTX);
	size_t header = (size_t)(e.header.data - b.data);
	uint8_t *copy = malloc(b.len);
	uint32_t options;

	(void)state;
	assert_non_null(copy);
	memcpy(&options, e.header.data + 20, sizeof(options));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (size_t k = 0; k < sizeof(field) / sizeof(field[0]); k++) {
			memcpy(copy, b.data, b.len);
			memcpy(copy + header + field[k], &bad[i], sizeof(bad[i]));
			assert_int_equal(exercise(copy, b.len), -1);
		}
		memcpy(copy, b.data, b.len);
		memcpy(copy + header + options, &bad[i], sizeof(bad[i])); /* where the text is */
		assert_int_equal(exercise(copy, b.len), -1);
	}
	free(copy);
	fatbin_drop(b);
}

/* The first bytes are those of the whole for every window that a frame may name (RFC
 * 8878, 3.1.1.1.2). */
static void a_wide_window_is_peeked_into(void **state)
{
	/* magic; no checksum, no size; the window; one raw block, the last, of 100 bytes */
	uint8_t frame[4 + 2 + 3 + 100] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0x21, 0x03, 0 };
	struct gs_fatbin_entry e = { .packing = GS_PACKING_ZSTD, .size = 100 };
	uint8_t head[64];
	unsigned int good = 0;
	size_t len;

	(void)state;
	for (size_t i = 9; i < sizeof(frame); i++)
		frame[i] = (uint8_t)i;
	e.payload.data = frame;
	e.payload.len = sizeof(frame);
	for (unsigned int window = 0; window < 256; window++) {
		uint8_t *whole;

		frame[5] = (uint8_t)window;
		whole = gs_fatbin_unpack(&e, &len, NULL);
		if (!whole)
			continue;
		assert_int_equal(gs_fatbin_peek(&e, head, sizeof(head), NULL), 0);
		assert_memory_equal(head, whole, sizeof(head));
		free(whole);
		good++;
	}
	assert_true(good > 22 * 8 - 8); /* 2^10 to 2^31 bytes */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_container_is_refused),
		cmocka_unit_test(a_short_total_is_corrupt),
		cmocka_unit_test(packed_bytes_outside_the_entry_are_refused),
		cmocka_unit_test(flipped_bits_do_no_harm),
		cmocka_unit_test(broken_host_files_do_no_harm),
		cmocka_unit_test(the_unpacked_size_is_bounded),
		cmocka_unit_test(a_match_of_offset_zero_is_corrupt),
		cmocka_unit_test(texts_lie_behind_the_fields),
		cmocka_unit_test(a_wide_window_is_peeked_into),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
