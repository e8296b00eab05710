/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lazy FILE: launches one kernel again and again as long as FILE is there, and says whether the
 * result is that of as many launches.  The kernel reads a constant and a variable of its module and
 * counts in another one, which a variant of it must share.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 64u
#define THREADS 64u
#define SPIN 19200u /* 3 ms of a block-task on the emulated device */
#define WORDS (BLOCKS * THREADS)
#define BYTES (WORDS * sizeof(uint32_t))
#define LAUNCHES_MAX 2000

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".const .align 4 .u32 factor[2] = {7, 1664525};\n"
			  ".visible .global .align 4 .u32 offset;\n"
			  ".visible .global .align 4 .u32 blocks;\n"
			  ".visible .entry unused(.param .u64 p)\n{\n\tret;\n}\n"
			  ".visible .entry lazy(.param .u64 words, .param .u32 spin)\n"
			  "{\n"
			  "	.reg .pred %p<3>;\n"
			  "	.reg .b32 %r<12>;\n"
			  "	.reg .b64 %rd<6>;\n"
			  "	ld.param.u64 %rd1, [words];\n"
			  "	ld.param.u32 %r1, [spin];\n"
			  "	mov.u32 %r2, %ctaid.x;\n"
			  "	mov.u32 %r3, %ntid.x;\n"
			  "	mov.u32 %r4, %tid.x;\n"
			  "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
			  "AGAIN:\n"
			  "	sub.u32 %r1, %r1, 1;\n"
			  "	setp.ne.u32 %p1, %r1, 0;\n"
			  "	@%p1 bra AGAIN;\n"
			  "	setp.ne.u32 %p2, %r4, 0;\n"
			  "	@!%p2 red.global.add.u32 [blocks], 1;\n"
			  "	ld.const.u32 %r6, [factor+4];\n"
			  "	ld.global.u32 %r7, [offset];\n"
			  "	cvta.to.global.u64 %rd2, %rd1;\n"
			  "	mul.wide.u32 %rd3, %r5, 4;\n"
			  "	add.s64 %rd4, %rd2, %rd3;\n"
			  "	ld.global.u32 %r8, [%rd4];\n"
			  "	mad.lo.s32 %r9, %r8, %r6, %r7;\n"
			  "	st.global.u32 [%rd4], %r9;\n"
			  "	ret;\n"
			  "}\n";

static uint32_t after(uint32_t x, unsigned int launches, uint32_t offset)
{
	while (launches--)
		x = x * 1664525u + offset;
	return x;
}

int main(int argc, char **argv)
{
	uint32_t *words = malloc(BYTES), spin = SPIN, offset = 1013904223, blocks, wrong = 0;
	unsigned int launches = 0;
	CUdeviceptr d, of_offset, of_blocks;
	void *params[] = { &d, &spin };
	size_t bytes;
	CUmodule module;
	CUfunction kernel;

	if (argc != 2 || !words)
		return 2;
	kernel = start_with(ptx, "lazy", &module);
	CHECK(cuModuleGetGlobal(&of_offset, &bytes, module, "offset"));
	CHECK(cuModuleGetGlobal(&of_blocks, &bytes, module, "blocks"));
	CHECK(cuMemcpyHtoD(of_offset, &offset, sizeof(offset)));
	CHECK(cuMemAlloc(&d, BYTES));
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i;
	CHECK(cuMemcpyHtoD(d, words, BYTES));
	while (launches < LAUNCHES_MAX && access(argv[1], F_OK) == 0) {
		CHECK(cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
		CHECK(cuCtxSynchronize());
		launches++;
	}
	CHECK(cuMemcpyDtoH(words, d, BYTES));
	CHECK(cuMemcpyDtoH(&blocks, of_blocks, sizeof(blocks)));
	for (uint32_t i = 0; i < WORDS; i++)
		wrong += words[i] != after(i, launches, offset);
	expect(wrong == 0, "each word has taken a step in each launch");
	expect(blocks == launches * BLOCKS, "each block has counted once in each launch");
	printf("lazy: %s, %u launches\n", failures ? "FAILED" : "right", launches);
	free(words);
	return failures != 0;
}
