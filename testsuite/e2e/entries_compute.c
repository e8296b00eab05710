/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels one after another until a file is gone, so that a test says when it has seen enough; then
 * what they left. */
#define _GNU_SOURCE
#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 512u
#define THREADS 128u
#define STEPS 20u
#define WORDS (BLOCKS * THREADS)
#define BESIDE \
	(32u << 20) /* bytes that no kernel touches: of what is moved in half a second, the rate \
		       is still told */
#define NEXT(x) ((x)*1664525u + 1013904223u)

/* Each word goes on by STEPS numbers of its sequence; WORDS of it. For most of its time a block
 * sleeps: that takes no processor from the other tests. */
static const char text[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry sequence(.param .u64 words, .param .u32 steps)\n{\n"
	"\t.reg .pred %p<3>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<5>;\n"
	"\tld.param.u64 %rd1, [words];\n\tld.param.u32 %r5, [steps];\n"
	"\tcvta.to.global.u64 %rd2, %rd1;\n"
	"\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n"
	"\tmad.lo.s32 %r4, %r1, %r2, %r3;\n"
	"\tmul.wide.u32 %rd3, %r4, 4;\n\tadd.s64 %rd4, %rd2, %rd3;\n"
	"\tld.global.u32 %r6, [%rd4];\n"
	"\tsetp.gt.u32 %p2, %r3, 31;\n"
	"\t@%p2 bra again;\n"
	"\tnanosleep.u32 100000;\n"
	"again:\n"
	"\tmad.lo.s32 %r6, %r6, 1664525, 1013904223;\n"
	"\tsub.s32 %r5, %r5, 1;\n"
	"\tsetp.ne.s32 %p1, %r5, 0;\n"
	"\t@%p1 bra again;\n"
	"\tst.global.u32 [%rd4], %r6;\n"
	"\tret;\n}\n";

int compute(const char *file)
{
	uint32_t *host = malloc(WORDS * sizeof(*host)), steps = STEPS;
	unsigned long launches = 0, bad = 0;
	CUmodule module;
	CUfunction f;
	CUdeviceptr p, beside;
	void *params[] = { &p, &steps };

	if (!host)
		return 2;
	CHECK(cuModuleLoadData(&module, text));
	CHECK(cuModuleGetFunction(&f, module, "sequence"));
	CHECK(cuMemAlloc(&p, WORDS * sizeof(*host)));
	CHECK(cuMemAlloc(&beside, BESIDE));
	for (uint32_t i = 0; i < WORDS; i++)
		host[i] = i;
	CHECK(cuMemcpyHtoD(p, host, WORDS * sizeof(*host)));
	while (access(file, F_OK) == 0) {
		CHECK(cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
		CHECK(cuCtxSynchronize());
		launches++;
	}
	CHECK(cuMemcpyDtoH(host, p, WORDS * sizeof(*host)));
	for (uint32_t i = 0; i < WORDS; i += 997) {
		uint32_t x = i;

		for (unsigned long n = 0; n < launches * STEPS; n++)
			x = NEXT(x);
		bad += host[i] != x;
	}
	CHECK(cuMemFree(beside));
	CHECK(cuMemFree(p));
	free(host);
	printf("%lu launches, %lu words wrong\n", launches, bad);
	return bad || !launches;
}
