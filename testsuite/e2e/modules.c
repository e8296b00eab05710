/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * modules CASE: the ways to a kernel other than by its name in a module of PTX.
 *
 * Each prints what it found and what the kernel computed: the same without the
 * shim as under it.  Cases: functions, kernels (as a module and as a library
 * list them), library FILE (of a shared library, and what that loads); exit status 1 when a result
 * is not as it must be.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "modules.h"

#define WORDS 16384
#define BYTES (WORDS * sizeof(uint32_t))
#define THREADS 64
#define SPIN 4000u

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

static const char *library_file;

/* What is in a library's file, and what it loads from memory. */
static void library(CUdeviceptr p)
{
	CUresult (*load)(CUmodule * module, const void *image);
	void *handle = dlopen(library_file, RTLD_NOW),
	     *symbol = handle ? dlsym(handle, "library_load") : NULL;
	const char *const *text = handle ? dlsym(handle, "library_text") : NULL;
	char *copy = strdup(ptx);
	CUmodule its, loaded;
	CUfunction f;

	if (!symbol || !text || !copy) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	memcpy(&load, &symbol, sizeof(load));
	CHECK(cuModuleLoadData(&its, *text));
	CHECK(cuModuleGetFunction(&f, its, "threes"));
	run_named("threes", f, p);
	CHECK(load(&loaded, copy));
	CHECK(cuModuleGetFunction(&f, loaded, "fives"));
	run_named("fives", f, p);
	CHECK(cuModuleUnload(its));
	CHECK(cuModuleUnload(loaded));
	free(copy);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(CUdeviceptr p);
	} cases[] = { { "functions", functions }, { "kernels", kernels }, { "library", library } };
	CUdevice device;
	CUdeviceptr p;
	CUcontext ctx;

	library_file = argc == 3 ? argv[2] : "";
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, device));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuMemAlloc(&p, BYTES));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc >= 2 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run(p);
			return failures != 0;
		}
	}
	fprintf(stderr, "usage: modules functions|kernels|library FILE\n");
	return 2;
}
