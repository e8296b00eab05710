/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guard_run.h. */
#define _GNU_SOURCE
#include "guard_run.h"

#include <string.h>

#define MIB ((size_t)1 << 20)
#define BUFFER (1024 * MIB)

/* What an argument stands for, until memory is there. */
enum { A = 1, B, OUT, STATE, LAST };
#define POINTER(which) (UINT64_C(0xff00000000000000) | (which))
#define FIXED_AT 0x600000000000u /* no_parameters knows it */
#define FIXED_BLOCKS 65536u

#define WORDS(n) ((size_t)4 * (n))

struct test tests[] = {
	{ .name = "vector_sum",
	  .kernel = "vector_sum",
	  .grid = { 1 << 20, 1, 1 },
	  .block = { 256, 1, 1 },
	  .nargs = 4,
	  .args = { POINTER(A), POINTER(B), POINTER(OUT), 1 << 28 },
	  .out_bytes = BUFFER },
	{ .name = "100_threads",
	  .kernel = "vector_sum",
	  .grid = { 671089, 1, 1 },
	  .block = { 100, 1, 1 },
	  .nargs = 4,
	  .args = { POINTER(A), POINTER(B), POINTER(OUT), 1 << 26 },
	  .out_bytes = 256 * MIB },
	{ .name = "matrix_product",
	  .kernel = "matrix_product",
	  .grid = { 128, 64, 1 },
	  .block = { 32, 32, 1 },
	  .nargs = 5,
	  .args = { POINTER(A), POINTER(B), POINTER(OUT), 4096, 1024 },
	  .out_bytes = WORDS(4096 * 2048) },
	{ .name = "long_blocks",
	  .kernel = "long_blocks",
	  .grid = { 64, 32, 1 },
	  .block = { 256, 1, 1 },
	  .nargs = 5,
	  .args = { POINTER(A), POINTER(B), POINTER(OUT), 8192, 2048 },
	  .out_bytes = WORDS(8192 * 4096) },
	{ .name = "slow_sines",
	  .kernel = "slow_sines",
	  .grid = { 16384, 1, 1 },
	  .block = { 256, 1, 1 },
	  .nargs = 2,
	  .args = { POINTER(A), POINTER(OUT) },
	  .out_bytes = WORDS(16384 * 256) },
	{ .name = "calls_driver",
	  .kernel = "calls_driver",
	  .grid = { 65536, 1, 1 },
	  .block = { 256, 1, 1 },
	  .nargs = 4,
	  .args = { POINTER(A), POINTER(B), POINTER(OUT), 1 << 24 },
	  .out_bytes = 64 * MIB },
	{ .name = "branches",
	  .kernel = "branches",
	  .grid = { 65536, 1, 1 },
	  .block = { 256, 1, 1 },
	  .nargs = 4,
	  .args = { POINTER(A), POINTER(OUT), POINTER(B), 1 << 24 },
	  .out_bytes = 64 * MIB },
	{ .name = "count_blocks",
	  .kernel = "count_blocks",
	  .grid = { 37, 19, 23 },
	  .block = { 8, 8, 2 },
	  .nargs = 2,
	  .args = { POINTER(OUT), 30 },
	  .out_bytes = WORDS(37 * 19 * 23),
	  .counts = 1 },
	{ .name = "pipeline",
	  .kernel = "pipeline",
	  .grid = { 8192, 1, 1 },
	  .block = { 256, 1, 1 },
	  .shared = 3 * 256 * 16,
	  .nargs = 3,
	  .args = { POINTER(A), POINTER(OUT), 16 },
	  .out_bytes = 512 * MIB },
	{ .name = "bulk_copies",
	  .kernel = "bulk_copies",
	  .grid = { 16384, 1, 1 },
	  .block = { 256, 1, 1 },
	  .nargs = 3,
	  .args = { POINTER(A), POINTER(OUT), 8 },
	  .out_bytes = 512 * MIB },
	{ .name = "registers_255",
	  .kernel = "registers_255",
	  .grid = { 16384, 1, 1 },
	  .block = { 256, 1, 1 },
	  .nargs = 3,
	  .args = { POINTER(A), POINTER(OUT), 1 << 20 },
	  .out_bytes = 16 * MIB },
	{ .name = "cluster_of_two",
	  .kernel = "cluster_of_two",
	  .grid = { 65536, 1, 1 },
	  .block = { 256, 1, 1 },
	  .cluster = { 2, 1, 1 },
	  .nargs = 2,
	  .args = { POINTER(A), POINTER(OUT) },
	  .out_bytes = 64 * MIB },
	{ .name = "cluster_of_launch",
	  .kernel = "cluster_of_launch",
	  .grid = { 96, 640, 1 },
	  .block = { 256, 1, 1 },
	  .cluster = { 3, 2, 1 },
	  .nargs = 2,
	  .args = { POINTER(A), POINTER(OUT) },
	  .out_bytes = WORDS(96 * 640 * 256) },
	{ .name = "look_back_scan",
	  .kernel = "look_back_scan",
	  .grid = { 65536, 1, 1 },
	  .block = { 256, 1, 1 },
	  .nargs = 3,
	  .args = { POINTER(B), POINTER(OUT), POINTER(STATE) },
	  .out_bytes = 512 * MIB,
	  .scratch_bytes = 65536 * 8 },
	{ .name = "no_parameters",
	  .kernel = "no_parameters",
	  .grid = { FIXED_BLOCKS, 1, 1 },
	  .block = { 256, 1, 1 },
	  .out_bytes = WORDS(FIXED_BLOCKS * 256) },
};
const unsigned ntests = sizeof(tests) / sizeof(tests[0]);

void tests_prepare(void)
{
	CUdeviceptr at[LAST] = { 0 };

	for (int i = A; i < LAST; i++)
		at[i] = gpu_alloc(i == STATE ? MIB : BUFFER);
	gpu_fill(at[A], BUFFER, 1);
	gpu_fill(at[B], BUFFER, 2);
	for (unsigned i = 0; i < ntests; i++) {
		struct test *t = &tests[i];

		for (unsigned a = 0; a < t->nargs; a++)
			if (t->args[a] >> 56 == 0xff)
				t->args[a] = at[t->args[a] & 0xff];
		t->out = t->nargs ? at[OUT] : gpu_alloc_at(FIXED_AT, t->out_bytes);
		t->scratch = t->scratch_bytes ? at[STATE] : 0;
		if (!t->out)
			printf("# %s is left out: its address is taken\n", t->name);
	}
}

uint64_t test_units(const struct test *t)
{
	uint64_t blocks = (uint64_t)t->grid[0] * t->grid[1] * t->grid[2];

	return t->cluster[0] ? blocks / (t->cluster[0] * t->cluster[1] * t->cluster[2]) : blocks;
}

unsigned test_threads(const struct test *t)
{
	return t->block[0] * t->block[1] * t->block[2];
}

void test_reset(const struct test *t)
{
	/* What no kernel writes; counts begin at zero. */
	MUST(cuMemsetD8Async(t->out, t->counts ? 0 : 0xa5, t->out_bytes, gpu.run));
	if (t->scratch)
		MUST(cuMemsetD8Async(t->scratch, 0, t->scratch_bytes, gpu.run));
	gpu_finish();
}

void test_launch(const struct test *t, CUfunction f, const struct gs_guard *guard)
{
	CUlaunchAttribute cluster = { .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION };
	CUlaunchConfig c = { t->grid[0],  t->grid[1], t->grid[2], t->block[0], t->block[1],
			     t->block[2], t->shared,  gpu.run,    &cluster,    0 };
	uint64_t args[ARGS_MAX];
	struct gs_guard copy;
	void *list[ARGS_MAX + 2] = { NULL };

	memcpy(args, t->args, sizeof(args));
	for (unsigned i = 0; i < t->nargs; i++)
		list[i] = &args[i];
	if (guard) {
		copy = *guard;
		list[t->nargs] = &copy;
	}
	if (t->cluster[0]) {
		cluster.value.clusterDim.x = t->cluster[0];
		cluster.value.clusterDim.y = t->cluster[1];
		cluster.value.clusterDim.z = t->cluster[2];
		c.numAttrs = 1;
	}
	MUST(cuLaunchKernelEx(&c, f, list, NULL));
}
