/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * periodic TIMES MS: so many times a kernel of some milliseconds and a pause of so many ms, however
 * long the kernel took: on a busy machine two times would follow each other at once otherwise. Each
 * word takes one step of a linear congruential generator each time: a block-task that ran twice or
 * not at all leaves a wrong one.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define BLOCKS 8u
#define THREADS 64u
#define SPIN 20000u /* some ms of a block-task on the emulated device */
#define WORDS (BLOCKS * THREADS)
#define BYTES (WORDS * sizeof(uint32_t))

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry periodic(.param .u64 words, .param .u32 spin)\n"
			  "{\n"
			  "	.reg .pred %p1;\n"
			  "	.reg .b32 %r<8>;\n"
			  "	.reg .b64 %rd<4>;\n"
			  "	ld.param.u64 %rd1, [words];\n"
			  "	ld.param.u32 %r1, [spin];\n"
			  "	mov.u32 %r2, %ctaid.x;\n"
			  "	mov.u32 %r3, %ntid.x;\n"
			  "	mov.u32 %r4, %tid.x;\n"
			  "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
			  "	cvta.to.global.u64 %rd2, %rd1;\n"
			  "	mul.wide.u32 %rd3, %r5, 4;\n"
			  "	add.s64 %rd2, %rd2, %rd3;\n"
			  "AGAIN:\n"
			  "	sub.u32 %r1, %r1, 1;\n"
			  "	setp.ne.u32 %p1, %r1, 0;\n"
			  "	@%p1 bra AGAIN;\n"
			  "	ld.global.u32 %r6, [%rd2];\n"
			  "	mad.lo.s32 %r6, %r6, 1664525, 1013904223;\n"
			  "	st.global.u32 [%rd2], %r6;\n"
			  "	ret;\n"
			  "}\n";

int main(int argc, char **argv)
{
	long times = argc == 3 ? atol(argv[1]) : 0, ms = argc == 3 ? atol(argv[2]) : 0;
	uint32_t words[WORDS], spin = SPIN, wrong = 0;
	CUdeviceptr d;
	void *params[] = { &d, &spin };
	const struct timespec pause = { .tv_nsec = ms * 1000000 };
	CUmodule module;
	CUfunction kernel;

	if (times <= 0 || ms <= 0 || ms >= 1000)
		return 2;
	kernel = start_with(ptx, "periodic", &module);
	CHECK(cuMemAlloc(&d, BYTES));
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i;
	CHECK(cuMemcpyHtoD(d, words, BYTES));
	for (long i = 0; i < times; i++) {
		CHECK(cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
		CHECK(cuCtxSynchronize());
		nanosleep(&pause, NULL);
	}
	CHECK(cuMemcpyDtoH(words, d, BYTES));
	for (uint32_t i = 0; i < WORDS; i++) {
		uint32_t want = i;

		for (long k = 0; k < times; k++)
			want = want * 1664525u + 1013904223u;
		wrong += words[i] != want;
	}
	expect(wrong == 0, "each word has taken a step each time");
	printf("periodic: %s\n", failures ? "FAILED" : "right");
	return failures != 0;
}
