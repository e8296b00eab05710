/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-demo-matmul: a matrix product in shared memory, checked against the CPU. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo.h"

static const char ptx[] =
#include "matmul.ptx.inc"
;

enum { TILES, REPEATS };

static struct demo_option options[] = {
	{ "tiles", "16 x 16 tiles along each side", 16, 1, 512 },
	{ "repeats", "kernel launches", 1, 1, 1000000 },
	{ 0 },
};

/* The product in wrap-around arithmetic, row by row. */
static size_t count_wrong(const int *c, const int *a, const int *b, size_t n)
{
	uint32_t *row = demo_host(n * sizeof(*row));
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		memset(row, 0, n * sizeof(*row));
		for (size_t k = 0; k < n; k++)
			for (size_t j = 0; j < n; j++)
				row[j] += (uint32_t)a[i * n + k] * (uint32_t)b[k * n + j];
		for (size_t j = 0; j < n; j++)
			wrong += row[j] != (uint32_t)c[i * n + j];
	}
	free(row);
	return wrong;
}

int main(int argc, char **argv)
{
	demo_options(argc, argv, "A matrix product of whole numbers, tiled in shared memory.",
		     options);

	unsigned int tiles = (unsigned int)options[TILES].value;
	int n = (int)tiles * 16;
	size_t elements = (size_t)n * (size_t)n, bytes = elements * sizeof(int), wrong;
	int *a = demo_host(bytes), *b = demo_host(bytes), *c = demo_host(bytes);

	for (size_t i = 0; i < elements; i++) {
		a[i] = (int)(i % 97) - 48;
		b[i] = (int)(i % 89) - 44;
		c[i] = INT32_MIN;
	}

	CUfunction f = demo_start(ptx, "matmul");
	CUdeviceptr da = demo_memory(a, bytes), db = demo_memory(b, bytes);
	CUdeviceptr dc = demo_memory(c, bytes);
	unsigned int grid[3] = { tiles, tiles, 1 }, block[3] = { 16, 16, 1 };
	void *params[] = { &dc, &da, &db, &n };

	demo_launch(f, grid, block, options[REPEATS].value, params);
	CHECK(cuMemcpyDtoH(c, dc, bytes));
	wrong = count_wrong(c, a, b, (size_t)n);
	CHECK(cuMemFree(da));
	CHECK(cuMemFree(db));
	CHECK(cuMemFree(dc));
	free(a);
	free(b);
	free(c);
	return demo_verdict(elements, wrong);
}
