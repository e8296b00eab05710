/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * modules CASE: the ways to a kernel other than by its name in a module of PTX.
 *
 * Each prints what it found and what the kernel computed: the same without the
 * shim as under it.  Cases: functions, kernels (as a module and as a library
 * list them); exit status 1 when a result is not as it must be.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define WORDS 16384
#define BYTES (WORDS * sizeof(uint32_t))
#define THREADS 64
#define SPIN 4000u

#define KERNEL(name, factor) \
	".visible .entry " name "(.param .u64 p, .param .u32 spin)\n" \
	"{\n" \
	"	.reg .pred %p1;\n" \
	"	.reg .b32 %r<8>;\n" \
	"	.reg .b64 %rd<4>;\n" \
	"	ld.param.u64 %rd1, [p];\n" \
	"	ld.param.u32 %r1, [spin];\n" \
	"	mov.u32 %r2, %ctaid.x;\n" \
	"	mov.u32 %r3, %ntid.x;\n" \
	"	mov.u32 %r4, %tid.x;\n" \
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n" \
	"	cvta.to.global.u64 %rd2, %rd1;\n" \
	"	mul.wide.u32 %rd3, %r5, 4;\n" \
	"	add.s64 %rd2, %rd2, %rd3;\n" \
	"	mov.u32 %r6, %r5;\n" \
	"	mov.u32 %r7, 0;\n" \
	"AGAIN:\n" \
	"	mad.lo.s32 %r6, %r6, " factor ", 1;\n" \
	"	add.s32 %r7, %r7, 1;\n" \
	"	setp.lt.u32 %p1, %r7, %r1;\n" \
	"	@%p1 bra AGAIN;\n" \
	"	st.global.u32 [%rd2], %r6;\n" \
	"	ret;\n" \
	"}\n"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n" KERNEL("threes", "3") KERNEL("fives", "5");

/* One launch of it, each word checked. */
static void run(CUfunction f, uint32_t factor, CUdeviceptr p)
{
	uint32_t spin = SPIN, *got = malloc(BYTES);
	void *params[] = { &p, &spin };
	int wrong = 0;

	CHECK(cuMemsetD32(p, 0, WORDS));
	CHECK(cuLaunchKernel(f, WORDS / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	CHECK(cuMemcpyDtoH(got, p, BYTES));
	for (uint32_t i = 0; i < WORDS; i++) {
		uint32_t word = i;

		for (uint32_t n = 0; n < SPIN; n++)
			word = word * factor + 1;
		wrong += got[i] != word;
	}
	free(got);
	expect(!wrong, "the words that the kernel leaves");
}

static void run_named(const char *name, CUfunction f, CUdeviceptr p)
{
	printf("%s\n", name);
	if (strcmp(name, "threes") == 0)
		run(f, 3, p);
	else if (strcmp(name, "fives") == 0)
		run(f, 5, p);
	else
		expect(0, "a kernel that is not the program's");
}

#define ROOM 8

static void functions(CUdeviceptr p)
{
	CUfunction f[ROOM] = { NULL };
	unsigned int n = 0, listed = 0;
	const char *name;
	CUmodule module;

	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunctionCount(&n, module));
	CHECK(cuModuleEnumerateFunctions(f, ROOM, module));
	while (listed < ROOM && f[listed])
		listed++;
	printf("functions %u listed %u\n", n, listed);
	expect(n == 2 && listed == 2, "two functions");
	for (unsigned int i = 0; i < listed; i++) {
		CHECK(cuFuncGetName(&name, f[i]));
		run_named(name, f[i], p);
	}
	CHECK(cuModuleUnload(module));
}

static void kernels(CUdeviceptr p)
{
	CUkernel k[ROOM] = { NULL };
	unsigned int n = 0, listed = 0;
	const char *name;
	CUlibrary library;
	CUfunction f;

	CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernelCount(&n, library));
	CHECK(cuLibraryEnumerateKernels(k, ROOM, library));
	while (listed < ROOM && k[listed])
		listed++;
	printf("kernels %u listed %u\n", n, listed);
	expect(n == 2 && listed == 2, "two kernels");
	for (unsigned int i = 0; i < listed; i++) {
		CHECK(cuKernelGetName(&name, k[i]));
		CHECK(cuKernelGetFunction(&f, k[i]));
		run_named(name, f, p);
	}
	CHECK(cuLibraryUnload(library));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(CUdeviceptr p);
	} cases[] = { { "functions", functions }, { "kernels", kernels } };
	CUdevice device;
	CUdeviceptr p;
	CUcontext ctx;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, device));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuMemAlloc(&p, BYTES));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run(p);
			return failures != 0;
		}
	}
	fprintf(stderr, "usage: modules functions|kernels\n");
	return 2;
}
