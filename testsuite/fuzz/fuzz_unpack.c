/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: any bytes as the packed contents of a container's entry.  The
 * first byte chooses LZ4 or zstd, the next three the length it claims to have
 * unpacked; the headers around them are right, so that all of the fuzzer's
 * work goes to what lies behind them.
 */
#include <stdlib.h>
#include <string.h>

#include "device/fatbin/fatbin.h"
#include "device/fatbin/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void put(uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

/* A container with one entry of `len` packed bytes; malloc'd. */
static uint8_t *container(const uint8_t *packed, size_t len, int zstd, uint64_t unpacked,
			  size_t *size)
{
	size_t stored = (len + 7) & ~(size_t)7;
	uint8_t *c, *e;

	*size = FATBIN_HEADER + ENTRY_HEADER + stored;
	c = calloc(1, *size);
	must(c != NULL);
	put(c, FATBIN_MAGIC, 4);
	put(c + 4, FATBIN_VERSION, 2);
	put(c + 6, FATBIN_HEADER, 2);
	put(c + 8, ENTRY_HEADER + stored, 8);
	e = c + FATBIN_HEADER;
	put(e + OFF_KIND, KIND_PTX, 2);
	put(e + OFF_VERSION, ENTRY_VERSION, 2);
	put(e + OFF_HEADER, ENTRY_HEADER, 4);
	put(e + OFF_STORED, stored, 8);
	put(e + OFF_PACKED, len, 4);
	put(e + OFF_MAJOR, 9, 2);
	put(e + OFF_SM, 75, 4);
	put(e + OFF_FLAGS, FLAG_64BIT | (zstd ? FLAG_ZSTD : FLAG_LZ4), 8);
	put(e + OFF_UNPACKED, unpacked, 8);
	memcpy(e + ENTRY_HEADER, packed, len);
	return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_fatbin_entry e;
	struct gs_fatbin fb;
	uint8_t *c, *whole, head[32];
	size_t at = 0, bytes, len;
	char *text;

	if (size < 5)
		return 0;
	c = container(data + 4, size - 4, data[0] & 1,
		      data[1] | (uint64_t)data[2] << 8 | (uint64_t)data[3] << 16, &bytes);
	must(gs_fatbin_open(c, bytes, &fb, NULL) == 0 && fb.bytes.len == bytes);
	if (gs_fatbin_next(&fb, &at, &e, NULL) == 1) {
		must(e.packing == (data[0] & 1 ? GS_PACKING_ZSTD : GS_PACKING_LZ4));
		whole = gs_fatbin_unpack(&e, &len, NULL);
		if (whole)
			must(whole[len] == 0);
		if (whole && len >= sizeof(head))
			must(gs_fatbin_peek(&e, head, sizeof(head), NULL) == 0 &&
			     memcmp(head, whole, sizeof(head)) == 0);
		free(whole);
		if (gs_fatbin_best_ptx(&fb, 90, &text, &len, NULL) == 1) {
			must(strlen(text) == len);
			free(text);
		}
	}
	free(c);
	return 0;
}
