/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * until FILE: one kernel that lasts as long as FILE is there, so that a test says when it has seen
 * enough; some minutes where nobody says so.
 *
 * Each word takes one step of a linear congruential generator: a block-task that ran twice or not
 * at all leaves a wrong one.  A block-task that begins while FILE is there takes its time, the
 * others end at once.  It sleeps meanwhile, which leaves the machine's processors to the other
 * tests.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "as_long.h"
#include "check.h"

#define BLOCKS 16384u
#define THREADS 64u
/* Sleeps of 1 ms; two warps in turn make 12 ms of a block-task on the emulated device. */
#define SLEEPS 6u
#define WORDS (BLOCKS * THREADS)
#define BYTES (WORDS * sizeof(uint32_t))
#define NEXT(x) ((x)*1664525u + 1013904223u)

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry until(.param .u64 words, .param .u64 over, .param .u32 sleeps)\n"
	"{\n"
	"	.reg .pred %p1;\n"
	"	.reg .b32 %r<9>;\n"
	"	.reg .b64 %rd<6>;\n"
	"	ld.param.u64 %rd1, [words];\n"
	"	ld.param.u64 %rd2, [over];\n"
	"	ld.param.u32 %r1, [sleeps];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"	cvta.to.global.u64 %rd3, %rd1;\n"
	"	cvta.to.global.u64 %rd4, %rd2;\n"
	"	mul.wide.u32 %rd5, %r5, 4;\n"
	"	add.s64 %rd3, %rd3, %rd5;\n"
	"	ld.volatile.global.u32 %r6, [%rd4];\n"
	"	setp.ne.u32 %p1, %r6, 0;\n"
	"	@%p1 bra STEP;\n"
	"AGAIN:\n"
	"	nanosleep.u32 1000000;\n"
	"	sub.u32 %r1, %r1, 1;\n"
	"	setp.ne.u32 %p1, %r1, 0;\n"
	"	@%p1 bra AGAIN;\n"
	"STEP:\n"
	"	ld.global.u32 %r7, [%rd3];\n"
	"	mad.lo.s32 %r7, %r7, 1664525, 1013904223;\n"
	"	st.global.u32 [%rd3], %r7;\n"
	"	ret;\n"
	"}\n";

int main(int argc, char **argv)
{
	uint32_t *words = malloc(BYTES), sleeps = SLEEPS, wrong = 0;
	CUdeviceptr d, seen;
	void *params[] = { &d, &seen, &sleeps };
	CUmodule module;
	CUfunction kernel;

	if (argc != 2 || !words)
		return 2;
	kernel = start_with(ptx, "until", &module);
	seen = as_long_as(argv[1]);
	CHECK(cuMemAlloc(&d, BYTES));
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i;
	CHECK(cuMemcpyHtoD(d, words, BYTES));
	CHECK(cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	CHECK(cuCtxSynchronize());
	as_long_end();
	CHECK(cuMemcpyDtoH(words, d, BYTES));
	for (uint32_t i = 0; i < WORDS; i++)
		wrong += words[i] != NEXT(i);
	expect(wrong == 0, "each word has taken one step");
	printf("until: %s\n", failures ? "FAILED" : "right");
	free(words);
	return failures != 0;
}
