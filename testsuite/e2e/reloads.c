/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reloads CASE ROUNDS: loads what it launches, launches it and unloads it, again and again.
 *
 * It prints by how much the process's heap has grown from the tenth part of the rounds to their
 * end, bytes: the same module each time (same), one of another text (other), a library of another
 * text (library), a context with a module (context), a library's kernel in another context
 * (kernel), an executable graph (graph), and one of another text that is launched OFTEN times
 * (often).
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define WORDS 256
#define THREADS 64
/* Kernels' names differ as well, as those of programs that compile while they run. */
#define NAMES 7
#define OFTEN 50

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .entry k%d(.param .u64 p)\n{\n"
			   "\t.reg .b32 %%r<4>;\n\t.reg .b64 %%rd<4>;\n"
			   "\tld.param.u64 %%rd1, [p];\n\tmov.u32 %%r1, %%ctaid.x;\n"
			   "\tmul.wide.u32 %%rd2, %%r1, 4;\n\tadd.s64 %%rd3, %%rd1, %%rd2;\n"
			   "\tadd.u32 %%r1, %%r1, %d;\n"
			   "\tst.global.u32 [%%rd3], %%r1;\n\tret;\n}\n";

static struct {
	char text[sizeof(text) + 32], name[16];
	uint32_t adds;
} module;
static CUdevice device;

static void write_module(int round, int n)
{
	module.adds = (uint32_t)n;
	snprintf(module.name, sizeof(module.name), "k%d", n % NAMES);
	snprintf(module.text, sizeof(module.text), text, n % NAMES, n);
	(void)round;
}

static void launch(CUfunction f)
{
	uint32_t got[WORDS];
	void *params[1];
	CUdeviceptr p;
	int wrong = 0;

	CHECK(cuMemAlloc(&p, sizeof(got)));
	params[0] = &p;
	CHECK(cuLaunchKernel(f, WORDS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	CHECK(cuMemcpyDtoH(got, p, sizeof(got)));
	for (uint32_t i = 0; i < WORDS; i++)
		wrong += got[i] != i + module.adds;
	expect(!wrong, "the words that the kernel leaves");
	CHECK(cuMemFree(p));
}

static void load_module(void)
{
	CUmodule loaded;
	CUfunction f;

	CHECK(cuModuleLoadData(&loaded, module.text));
	CHECK(cuModuleGetFunction(&f, loaded, module.name));
	launch(f);
	CHECK(cuModuleUnload(loaded));
}

static void same(int round)
{
	write_module(round, 0);
	load_module();
}

static void other(int round)
{
	write_module(round, round);
	load_module();
}

static void often(int round)
{
	CUmodule loaded;
	CUdeviceptr p;
	CUfunction f;
	void *params[] = { &p };

	write_module(round, round);
	CHECK(cuMemAlloc(&p, WORDS * sizeof(uint32_t)));
	CHECK(cuModuleLoadData(&loaded, module.text));
	CHECK(cuModuleGetFunction(&f, loaded, module.name));
	for (int i = 0; i < OFTEN; i++)
		CHECK(cuLaunchKernel(f, 4, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuModuleUnload(loaded));
	CHECK(cuMemFree(p));
}

static void library(int round)
{
	CUlibrary loaded;
	CUkernel kernel;
	CUfunction f;

	write_module(round, round);
	CHECK(cuLibraryLoadData(&loaded, module.text, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, loaded, module.name));
	CHECK(cuKernelGetFunction(&f, kernel));
	launch(f);
	launch((CUfunction)(uintptr_t)kernel);
	CHECK(cuLibraryUnload(loaded));
}

static void context(int round)
{
	CUmodule loaded;
	CUcontext ctx;
	CUfunction f;

	write_module(round, round);
	CHECK(cuCtxCreate(&ctx, NULL, 0, device));
	CHECK(cuModuleLoadData(&loaded, module.text));
	CHECK(cuModuleGetFunction(&f, loaded, module.name));
	launch(f);
	CHECK(cuCtxDestroy(ctx));
}

static void kernel(int round)
{
	static CUlibrary loaded;
	CUkernel is;
	CUcontext ctx;

	if (!loaded) {
		write_module(round, 1);
		CHECK(cuLibraryLoadData(&loaded, module.text, NULL, NULL, 0, NULL, NULL, 0));
	}
	CHECK(cuCtxCreate(&ctx, NULL, 0, device));
	CHECK(cuLibraryGetKernel(&is, loaded, module.name));
	launch((CUfunction)(uintptr_t)is);
	CHECK(cuCtxDestroy(ctx));
}

static void graph(int round)
{
	CUgraphExec exec;
	CUgraph of;

	(void)round;
	CHECK(cuGraphCreate(&of, 0));
	CHECK(cuGraphInstantiateWithFlags(&exec, of, 0));
	CHECK(cuGraphLaunch(exec, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuGraphExecDestroy(exec));
	CHECK(cuGraphDestroy(of));
}

static size_t heap(void)
{
	struct mallinfo2 is = mallinfo2();

	return is.uordblks + is.hblkhd;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*round)(int round);
	} cases[] = { { "same", same },       { "other", other },   { "library", library },
		      { "context", context }, { "kernel", kernel }, { "graph", graph },
		      { "often", often } };
	int rounds = argc == 3 ? atoi(argv[2]) : 0;
	size_t before = 0;
	CUcontext ctx;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, device));
	CHECK(cuCtxSetCurrent(ctx));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc != 3 || strcmp(argv[1], cases[i].name) != 0)
			continue;
		for (int round = 0; round < rounds; round++) {
			if (round == rounds / 10)
				before = heap();
			cases[i].round(round);
		}
		printf("%s %zd\n", cases[i].name, (ssize_t)(heap() - before));
		return failures != 0;
	}
	fprintf(stderr, "usage: reloads same|other|library|context|kernel|graph|often ROUNDS\n");
	return 2;
}
