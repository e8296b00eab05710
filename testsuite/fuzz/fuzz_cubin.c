/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: any bytes as a cubin, read, written and cut; what is handed out
 * lies inside them, and what was written or cut can be read again.
 */
#include <stdlib.h>
#include <string.h>

#include "device/cubin/cubin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds)
		abort();
}

static void reads_again(uint8_t *image, size_t size, uint32_t kernels)
{
	struct gs_error err = { "" };
	struct cubin *c = cubin_open(image, size, &err);

	must(c && cubin_kernels(c) == kernels);
	cubin_close(c);
	free(image);
}

static void kernel(const struct cubin *c, uint32_t i, const uint8_t *data, size_t size)
{
	struct gs_error err = { "" };
	enum cubin_reason reason;
	uint32_t offset, bytes;
	struct cubin_kernel k;
	uint8_t *cut;
	size_t n;
	int rc = cubin_kernel(c, i, &k, &err);

	must(rc == 0 || err.text[0]);
	must(k.reason < CUBIN_REASON_COUNT && (k.reason == CUBIN_REASON_NONE || err.text[0]));
	must(!*k.name || ((const uint8_t *)k.name > data &&
			  (const uint8_t *)k.name + strlen(k.name) < data + size));
	for (uint32_t p = 0; p < 3; p++)
		cubin_param(c, i, p, &offset, &bytes);
	cut = cubin_cut(c, i, &n, &reason, &err);
	must((cut != NULL) == (rc == 0 && k.reason == CUBIN_REASON_NONE));
	if (cut)
		reads_again(cut, n, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gs_error err = { "" };
	struct cubin *c = cubin_open(data, size, &err);
	uint8_t *again;
	size_t n;

	if (!c) {
		must(err.text[0]);
		return 0;
	}
	again = cubin_write(c, &n, &err);
	must(again || err.text[0]);
	if (again)
		reads_again(again, n, cubin_kernels(c));
	for (uint32_t i = 0; i < cubin_kernels(c) && i < 64; i++)
		kernel(c, i, data, size);
	cubin_close(c);
	return 0;
}
