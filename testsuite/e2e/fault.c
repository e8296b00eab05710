/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault [KIND [BLOCK [FILE]]]: a kernel of which one block does what ends its context; says what
 * the program gets for it, from the next call as well.  KIND: bounds, misaligned, trap, assert.
 * With FILE the program stays as long as that is there, and then asks once more.  The blocks sleep,
 * so that they take their time and not the machine's.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

#define BLOCKS 4096u

/* Every block writes its word, and the one whose number is `at` does something else. */
#define ENTRY(name, wrong) \
	".visible .entry " name "(.param .u64 p, .param .u32 at)\n" \
	"{\n" \
	"	.reg .pred %p1;\n" \
	"	.reg .b32 %r<4>;\n" \
	"	.reg .b64 %rd<6>;\n" \
	"	ld.param.u64 %rd1, [p];\n" \
	"	ld.param.u32 %r2, [at];\n" \
	"	mov.u32 %r1, %ctaid.x;\n" \
	"	nanosleep.u32 200000;\n" \
	"	mul.wide.u32 %rd2, %r1, 4;\n" \
	"	add.u64 %rd2, %rd1, %rd2;\n" \
	"	setp.ne.u32 %p1, %r1, %r2;\n" \
	"	@%p1 bra OVER;\n" wrong "OVER:\n" \
	"	st.global.u32 [%rd2], %r1;\n" \
	"	ret;\n" \
	"}\n"

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
	".global .align 1 .b8 what[6] = {102, 97, 108, 115, 101, 0};\n" /* "false" */
	ENTRY("bounds", "	mov.u64 %rd3, 16;\n	st.global.u32 [%rd3], %r1;\n") ENTRY(
		"misaligned", "	st.global.u32 [%rd1+2], %r1;\n") ENTRY("trap", "	trap;\n")
		ENTRY("assert",
		      "	mov.u64 %rd3, what;\n"
		      "	cvta.global.u64 %rd4, %rd3;\n"
		      "	{\n"
		      "	.param .b64 p0;\n	.param .b64 p1;\n	.param .b32 p2;\n	.param .b64 p3;\n	.param .b64 p4;\n"
		      "	st.param.b64 [p0], %rd4;\n"
		      "	st.param.b64 [p1], %rd4;\n"
		      "	st.param.b32 [p2], 7;\n"
		      "	st.param.b64 [p3], %rd4;\n"
		      "	mov.u64 %rd5, 1;\n"
		      "	st.param.b64 [p4], %rd5;\n"
		      "	call.uni __assertfail, (p0, p1, p2, p3, p4);\n"
		      "	}\n");

static const struct {
	const char *name;
	CUresult rc;
} kinds[] = {
	{ "bounds", CUDA_ERROR_ILLEGAL_ADDRESS },
	{ "misaligned", CUDA_ERROR_MISALIGNED_ADDRESS },
	{ "trap", CUDA_ERROR_LAUNCH_FAILED },
	{ "assert", CUDA_ERROR_ASSERT },
};

static CUresult wanted(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].rc;
	fprintf(stderr, "fault: no kind %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "bounds";
	uint32_t at = argc > 2 ? (uint32_t)atoi(argv[2]) : 2000;
	CUresult first, next, last, want = wanted(name);
	CUdeviceptr d;
	void *params[] = { &d, &at };
	CUmodule module;
	CUfunction kernel;

	kernel = start_with(ptx, name, &module);
	CHECK(cuMemAlloc(&d, 1 << 20));
	CHECK(cuLaunchKernel(kernel, BLOCKS, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	first = cuCtxSynchronize();
	next = cuLaunchKernel(kernel, BLOCKS, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
	printf("fault: %d, then %d\n", (int)first, (int)next);
	fflush(stdout);
	while (argc > 3 && access(argv[3], F_OK) == 0)
		usleep(5000);
	last = cuMemFree(d);
	printf("at last: %d\n", (int)last);
	expect(first == want && next == want && last == want, "it gets the driver's own error");
	return failures != 0;
}
