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

enum { TILES, INNER, ROWS, REPEATS };

static struct demo_option options[] = {
	{ "tiles", "16 x 16 tiles along each side of the product", 16, 1, 16384 },
	{ "inner", "tiles along the side that is summed over; 0: as many", 0, 0, 16384 },
	{ "rows", "rows that are checked; 0: every row", 0, 0, 262144 },
	{ "repeats", "kernel launches", 1, 1, 1000000 },
	{ 0 },
};

struct product {
	size_t n, k; /* c is n x n, a n x k, b k x n */
	int *a, *b;
	CUdeviceptr dc;
};

/* Row i in wrap-around arithmetic, beside the device's; `row` and `c` are scratch of n each. */
static size_t wrong_in_row(const struct product *p, size_t i, uint32_t *row, int *c)
{
	size_t wrong = 0;

	CHECK(cuMemcpyDtoH(c, p->dc + i * p->n * sizeof(int), p->n * sizeof(int)));
	memset(row, 0, p->n * sizeof(*row));
	for (size_t x = 0; x < p->k; x++)
		for (size_t j = 0; j < p->n; j++)
			row[j] += (uint32_t)p->a[i * p->k + x] * (uint32_t)p->b[x * p->n + j];
	for (size_t j = 0; j < p->n; j++)
		wrong += row[j] != (uint32_t)c[j];
	return wrong;
}

/* That many rows, the first and the last among them. */
static size_t count_wrong(const struct product *p, size_t rows)
{
	uint32_t *row = demo_host(p->n * sizeof(*row));
	int *c = demo_host(p->n * sizeof(*c));
	size_t wrong = 0;

	for (size_t r = 0; r < rows; r++)
		wrong += wrong_in_row(p, rows > 1 ? r * (p->n - 1) / (rows - 1) : 0, row, c);
	free(c);
	free(row);
	return wrong;
}

/* No two neighbours alike, numbers of either sign. */
static int *operand(size_t elements, size_t period)
{
	int *m = demo_host(elements * sizeof(*m));

	for (size_t i = 0; i < elements; i++)
		m[i] = (int)(i % period) - (int)(period / 2);
	return m;
}

int main(int argc, char **argv)
{
	demo_options(argc, argv, "A matrix product of whole numbers, tiled in shared memory.",
		     options);

	unsigned int tiles = (unsigned int)options[TILES].value;
	long inner = options[INNER].value ? options[INNER].value : (long)tiles;
	int n = (int)tiles * 16, k = (int)inner * 16;
	struct product p = { .n = (size_t)n, .k = (size_t)k };
	size_t side = p.n * p.k, rows = (size_t)options[ROWS].value, wrong;

	if (!rows || rows > p.n)
		rows = p.n;
	p.a = operand(side, 97);
	p.b = operand(side, 89);

	CUfunction f = demo_start(ptx, "matmul");
	CUdeviceptr da = demo_memory(p.a, side * sizeof(int));
	CUdeviceptr db = demo_memory(p.b, side * sizeof(int));
	unsigned int grid[3] = { tiles, tiles, 1 }, block[3] = { 16, 16, 1 };

	p.dc = demo_memory(NULL, p.n * p.n * sizeof(int));
	CHECK(cuMemsetD32(p.dc, 0x80000000u, p.n * p.n));
	void *params[] = { &p.dc, &da, &db, &n, &k };

	demo_launch(f, grid, block, options[REPEATS].value, params);
	wrong = count_wrong(&p, rows);
	CHECK(cuMemFree(da));
	CHECK(cuMemFree(db));
	CHECK(cuMemFree(p.dc));
	free(p.a);
	free(p.b);
	return demo_verdict(rows * p.n, wrong);
}
