/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-demo-reduce: a sum with shared memory and atomics, checked against the CPU. */
#include <stdio.h>
#include <stdlib.h>

#include "demo.h"

static const char ptx[] =
#include "reduce.ptx.inc"
	;

enum { ELEMENTS, PER_THREAD, REPEATS };

static struct demo_option options[] = {
	{ "elements", "numbers to add", 1 << 20, 1, 1 << 30 },
	{ "per-thread", "numbers per thread", 16, 1, 65536 },
	{ "repeats", "kernel launches (the sum grows with each)", 1, 1, 1000000 },
	{ 0 },
};

int main(int argc, char **argv)
{
	unsigned long long sum = 0, expected = 0;

	demo_options(argc, argv,
		     "A sum of whole numbers: shared memory, then one atomic per block.", options);

	unsigned int n = (unsigned int)options[ELEMENTS].value;
	unsigned int per_thread = (unsigned int)options[PER_THREAD].value;
	size_t bytes = n * sizeof(unsigned int);
	unsigned int *data = demo_host(bytes);

	for (unsigned int i = 0; i < n; i++) {
		data[i] = i * 2654435761u;
		expected += data[i];
	}
	expected *= (unsigned long long)options[REPEATS].value;

	CUfunction f = demo_start(ptx, "reduce");
	CUdeviceptr dsum = demo_memory(&sum, sizeof(sum)), ddata = demo_memory(data, bytes);
	unsigned long long per_block = 256ull * per_thread;
	unsigned int grid[3] = { (unsigned int)((n + per_block - 1) / per_block), 1, 1 };
	unsigned int block[3] = { 256, 1, 1 };
	void *params[] = { &dsum, &ddata, &n, &per_thread };

	demo_launch(f, grid, block, options[REPEATS].value, params);
	CHECK(cuMemcpyDtoH(&sum, dsum, sizeof(sum)));
	CHECK(cuMemFree(dsum));
	CHECK(cuMemFree(ddata));
	free(data);
	return demo_verdict(1, sum != expected);
}
