/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * longblock MS: one kernel of which each block takes MS ms by the GPU's clock, however busy the
 * machine is, and then the generator's next number: a block-task that ran twice or not at all
 * leaves a wrong one.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../e2e/check.h"

/* So many that they take two seconds on two multiprocessors, and 24 at least. */
#define BLOCKS_MOST 600u
#define BLOCKS_LEAST 24u
#define ALL_MS 6000u
#define THREADS 32u
#define WORDS (BLOCKS_MOST * THREADS)
#define LIMIT_S 100
#define NEXT(x) ((x)*1664525u + 1013904223u)

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry longblock(.param .u64 words, .param .u64 ns)\n"
			  "{\n"
			  "	.reg .pred %p1;\n"
			  "	.reg .b32 %r<7>;\n"
			  "	.reg .b64 %rd<8>;\n"
			  "	ld.param.u64 %rd1, [words];\n"
			  "	ld.param.u64 %rd2, [ns];\n"
			  "	mov.u64 %rd3, %globaltimer;\n"
			  "	add.u64 %rd3, %rd3, %rd2;\n"
			  "	mov.u32 %r1, %ctaid.x;\n"
			  "	mov.u32 %r2, %ntid.x;\n"
			  "	mov.u32 %r3, %tid.x;\n"
			  "	mad.lo.s32 %r4, %r1, %r2, %r3;\n"
			  "	mul.wide.u32 %rd4, %r4, 4;\n"
			  "	add.s64 %rd4, %rd1, %rd4;\n"
			  "WAIT:\n"
			  "	nanosleep.u32 500000;\n"
			  "	mov.u64 %rd5, %globaltimer;\n"
			  "	setp.lt.u64 %p1, %rd5, %rd3;\n"
			  "	@%p1 bra WAIT;\n"
			  "	ld.global.u32 %r5, [%rd4];\n"
			  "	mad.lo.s32 %r5, %r5, 1664525, 1013904223;\n"
			  "	st.global.u32 [%rd4], %r5;\n"
			  "	ret;\n"
			  "}\n";

int main(int argc, char **argv)
{
	uint64_t ns = argc == 2 ? strtoull(argv[1], NULL, 10) * 1000000 : 0;
	static uint32_t words[WORDS];
	uint32_t wrong = 0, blocks, n;
	CUdeviceptr d;
	void *params[] = { &d, &ns };
	CUmodule module;
	CUfunction kernel;

	if (!ns)
		return 2;
	alarm(LIMIT_S);
	blocks = (uint32_t)(ALL_MS * 1000000ull / ns);
	blocks = blocks < BLOCKS_LEAST ? BLOCKS_LEAST : blocks > BLOCKS_MOST ? BLOCKS_MOST : blocks;
	n = blocks * THREADS;
	kernel = start_with(ptx, "longblock", &module);
	CHECK(cuMemAlloc(&d, sizeof(words)));
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i;
	CHECK(cuMemcpyHtoD(d, words, sizeof(words)));
	CHECK(cuLaunchKernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH(words, d, sizeof(words)));
	for (uint32_t i = 0; i < n; i++)
		wrong += words[i] != NEXT(i);
	expect(wrong == 0, "each word has taken one step");
	printf("longblock: %s\n", failures ? "FAILED" : "right");
	return failures != 0;
}
