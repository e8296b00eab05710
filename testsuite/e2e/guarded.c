/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guarded BLOCKS US [once | FILE]: a kernel that may be guarded and no more, since lanes leave
 * before a barrier, launched three times in one stream, its parameters listed, packed, and with a
 * launch attribute; or once.  A block sleeps for so many microseconds; with a FILE only those that
 * begin while it is there.
 *
 * The first thread of a block takes one step of a linear congruential generator in the block's
 * word: one that ran twice, or not at all, or under another's index leaves a wrong one.  How often
 * each of the wrong ones has run is printed, neighbours together.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as_long.h"
#include "check.h"

#define PLANES 4u
#define ROWS 16u
#define NEXT(x) ((x)*1664525u + 1013904223u)
#define MOST 9     /* times that a block may have run and be recognised by its word */
#define PRINTED 4u /* groups of neighbours; a test that fails shows few lines */

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry guarded(.param .u64 words, .param .u64 over, .param .u32 us)\n"
	"{\n"
	"	.reg .pred %p<3>;\n"
	"	.reg .b32 %r<12>;\n"
	"	.reg .b64 %rd<4>;\n"
	"	ld.param.u64 %rd1, [words];\n"
	"	ld.param.u32 %r1, [us];\n"
	"	mov.u32 %r2, %tid.x;\n"
	"	setp.gt.u32 %p1, %r2, 20;\n"
	"	@%p1 bra OUT;\n"
	"	bar.sync 0;\n"
	"	ld.param.u64 %rd2, [over];\n"
	"	cvta.to.global.u64 %rd2, %rd2;\n"
	"	ld.volatile.global.u32 %r11, [%rd2];\n"
	"	setp.ne.u32 %p1, %r11, 0;\n"
	"	@%p1 bra STEP;\n"
	"AGAIN:\n" /* a ms at most at a time */
	"	min.u32 %r3, %r1, 1000;\n"
	"	mul.lo.u32 %r3, %r3, 1000;\n"
	"	nanosleep.u32 %r3;\n"
	"	sub.u32 %r1, %r1, 1000;\n"
	"	setp.gt.s32 %p1, %r1, 0;\n"
	"	@%p1 bra AGAIN;\n"
	"STEP:\n"
	"	setp.ne.u32 %p2, %r2, 0;\n"
	"	@%p2 bra OUT;\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mov.u32 %r4, %ctaid.y;\n"
	"	mov.u32 %r5, %ctaid.z;\n"
	"	mov.u32 %r6, %nctaid.x;\n"
	"	mov.u32 %r7, %nctaid.y;\n"
	"	mad.lo.u32 %r8, %r5, %r7, %r4;\n"
	"	mad.lo.u32 %r9, %r8, %r6, %r3;\n"
	"	cvta.to.global.u64 %rd2, %rd1;\n"
	"	mul.wide.u32 %rd3, %r9, 4;\n"
	"	add.s64 %rd2, %rd2, %rd3;\n"
	"	ld.global.u32 %r10, [%rd2];\n"
	"	mad.lo.s32 %r10, %r10, 1664525, 1013904223;\n"
	"	st.global.u32 [%rd2], %r10;\n"
	"OUT:\n"
	"	ret;\n"
	"}\n";

/* How many steps lead from `from` to `word`, at most MOST; -1: it is not among them. */
static int steps(uint32_t from, uint32_t word)
{
	int n = 0;

	for (; n <= MOST && from != word; n++)
		from = NEXT(from);
	return n <= MOST ? n : -1;
}

/* Prints which blocks have not run `want` times, and returns how many these are. */
static uint32_t print_wrong(const uint32_t *words, uint32_t n, int want)
{
	uint32_t wrong = 0, groups = 0, first = 0;

	for (uint32_t i = 1; i <= n; i++) {
		int ran = steps(first, words[first]);

		if (i < n && steps(i, words[i]) == ran)
			continue;
		if (ran != want) {
			wrong += i - first;
			if (groups++ < PRINTED)
				printf("guarded: blocks %u to %u have run %d times (-1: no number of times)\n",
				       first, i - 1, ran);
		}
		first = i;
	}
	if (wrong)
		printf("guarded: %u of %u blocks are wrong, in %u groups\n", wrong, n, groups);
	return wrong;
}

int main(int argc, char **argv)
{
	uint32_t blocks = argc >= 3 ? (uint32_t)atoi(argv[1]) / (ROWS * PLANES) : 0;
	uint32_t n = blocks * ROWS * PLANES, *words = malloc(n * sizeof(*words) + 1);
	struct {
		CUdeviceptr words, over;
		uint32_t us;
	} packed;
	size_t bytes = 20;
	void *params[] = { &packed.words, &packed.over, &packed.us };
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
			  &bytes, CU_LAUNCH_PARAM_END };
	CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_PRIORITY };
	CUlaunchConfig config = { blocks, ROWS, PLANES, 32, 1, 1, 0, NULL, &attribute, 1 };
	int once = argc == 4 && strcmp(argv[3], "once") == 0;
	CUmodule module;
	CUfunction kernel;

	if (!n || !words)
		return 2;
	packed.us = (uint32_t)atoi(argv[2]);
	kernel = start_with(ptx, "guarded", &module);
	CHECK(cuMemAlloc(&packed.words, n * sizeof(*words)));
	CHECK(cuStreamCreate(&config.hStream, CU_STREAM_NON_BLOCKING));
	for (uint32_t i = 0; i < n; i++)
		words[i] = i;
	CHECK(cuMemcpyHtoD(packed.words, words, n * sizeof(*words)));
	packed.over = as_long_as(argc == 4 && !once ? argv[3] : NULL);
	CHECK(cuLaunchKernel(kernel, blocks, ROWS, PLANES, 32, 1, 1, 0, config.hStream, params,
			     NULL));
	if (!once) {
		CHECK(cuLaunchKernel(kernel, blocks, ROWS, PLANES, 32, 1, 1, 0, config.hStream,
				     NULL, extra));
		CHECK(cuLaunchKernelEx(&config, kernel, params, NULL));
	}
	CHECK(cuStreamSynchronize(config.hStream));
	as_long_end();
	CHECK(cuMemcpyDtoH(words, packed.words, n * sizeof(*words)));
	expect(print_wrong(words, n, once ? 1 : 3) == 0, "each block has run once in each launch");
	printf("guarded: %s\n", failures ? "FAILED" : "right");
	free(words);
	return failures != 0;
}
