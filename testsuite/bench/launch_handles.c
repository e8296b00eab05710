/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch_handles DRIVER ROUNDS KIB: what a launch takes on the host that is given a library's
 * kernel (CUkernel), as the CUDA runtime does, and one that is given the kernel's function in the
 * context (CUfunction), by both calls that launch. hot: one after the other; cold: so much data is
 * written in between (4096 leaves nothing in the second cache of most processors).  Prints CSV.
 *
 * launch_handles DRIVER contexts: which of the two the driver takes where another context is
 * current, or the stream is another's, and whether attributes of the one are the other's.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOT 200 /* launches in a row: the GPU's queue has room for them */
#define COLD 20
#define MOST 100000
#define TEXT_OF(name) #name
#define SYMBOL(name) TEXT_OF(name)
#define F(name) __typeof__(&name) name##_p

static struct {
	F(cuInit);
	F(cuDeviceGet);
	F(cuDevicePrimaryCtxRetain);
	F(cuCtxCreate);
	F(cuCtxSetCurrent);
	F(cuCtxSynchronize);
	F(cuLibraryLoadData);
	F(cuLibraryGetKernel);
	F(cuKernelGetFunction);
	F(cuKernelSetAttribute);
	F(cuFuncSetAttribute);
	F(cuStreamCreate);
	F(cuLaunchKernel);
	F(cuLaunchKernelEx);
	F(cuGetErrorName);
} cu;

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 d, .param .u32 e, .param .u64 f)\n{\n\tret;\n}\n";

static CUdevice device;
static CUlibrary library;
static CUkernel kernel;
static uint64_t took[4][MOST];

static const char *name_of(CUresult rc)
{
	const char *name = "?";

	cu.cuGetErrorName_p(rc, &name);
	return name;
}

static void check(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "launch_handles: %s: %s\n", what, name_of(rc));
	exit(1);
}
#define CHECK(call) check(call, #call)

static void get(void *driver, const char *name, void *slot)
{
	void *p = dlsym(driver, name);

	if (!p) {
		fprintf(stderr, "launch_handles: the driver has no %s\n", name);
		exit(1);
	}
	memcpy(slot, &p, sizeof(p));
}
#define GET(name) get(driver, SYMBOL(name), &cu.name##_p)

static void open_driver(const char *path)
{
	void *driver = dlopen(path, RTLD_NOW);

	if (!driver) {
		fprintf(stderr, "launch_handles: %s\n", dlerror());
		exit(1);
	}
	GET(cuInit), GET(cuDeviceGet), GET(cuDevicePrimaryCtxRetain), GET(cuCtxCreate),
		GET(cuCtxSetCurrent), GET(cuCtxSynchronize);
	GET(cuLibraryLoadData), GET(cuLibraryGetKernel), GET(cuKernelGetFunction),
		GET(cuKernelSetAttribute), GET(cuFuncSetAttribute);
	GET(cuStreamCreate), GET(cuLaunchKernel), GET(cuLaunchKernelEx), GET(cuGetErrorName);
	CHECK(cu.cuInit_p(0));
	CHECK(cu.cuDeviceGet_p(&device, 0));
	CHECK(cu.cuLibraryLoadData_p(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cu.cuLibraryGetKernel_p(&kernel, library, "k"));
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static CUresult launch(CUfunction f, CUstream stream, int ex, unsigned int shared)
{
	uint64_t a = 1, b = 2, c = 3, g = 6;
	uint32_t d = 4, e = 5;
	void *params[] = { &a, &b, &c, &d, &e, &g };
	CUlaunchConfig config = {
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.sharedMemBytes = shared,
		.hStream = stream,
	};

	return ex ? cu.cuLaunchKernelEx_p(&config, f, params, NULL) :
		    cu.cuLaunchKernel_p(f, 1, 1, 1, 32, 1, 1, shared, stream, params, NULL);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Once around for each way, as often as told. */
static void measure(CUfunction function, CUstream stream, int rounds, unsigned char *data,
		    size_t bytes)
{
	static const char *const way[] = { "cuLaunchKernel,CUkernel", "cuLaunchKernel,CUfunction",
					   "cuLaunchKernelEx,CUkernel",
					   "cuLaunchKernelEx,CUfunction" };
	size_t n[4] = { 0 };

	for (int i = 0; i < rounds * 4; i++)
		for (int k = 0; k < (bytes ? COLD : HOT) && n[i % 4] < MOST; k++) {
			CUfunction f = i % 2 ? function : (CUfunction)(uintptr_t)kernel;
			uint64_t from;

			for (size_t at = 0; at < bytes; at += 64)
				*(volatile unsigned char *)&data[at] += 1;
			from = now_ns();
			check(launch(f, stream, i % 4 / 2, 0), "launching");
			took[i % 4][n[i % 4]++] = now_ns() - from;
			if (k == (bytes ? COLD : HOT) - 1)
				CHECK(cu.cuCtxSynchronize_p());
		}
	for (int w = 0; w < 4; w++) {
		qsort(took[w], n[w], sizeof(took[w][0]), by_size);
		printf("%s,%s,%s,%zu,%llu,%llu,%llu\n", bytes ? "cold" : "hot",
		       stream ? "own" : "default", way[w], n[w],
		       (unsigned long long)took[w][n[w] / 4], (unsigned long long)took[w][n[w] / 2],
		       (unsigned long long)took[w][n[w] * 3 / 4]);
	}
}

static CUresult create(CUcontext *ctx)
{
#if CUDA_VERSION >= 13000
	return cu.cuCtxCreate_p(ctx, NULL, 0, device);
#else
	return cu.cuCtxCreate_p(ctx, 0, device);
#endif
}

static void say(const char *what, CUfunction f, CUstream stream, unsigned int shared)
{
	printf("%s,%s\n", what, name_of(launch(f, stream, 0, shared)));
	CHECK(cu.cuCtxSynchronize_p());
}

static void contexts(void)
{
	CUfunction own, other, any = (CUfunction)(uintptr_t)kernel;
	CUstream streams[2];
	CUcontext ctx[2];

	for (int i = 1; i >= 0; i--) {
		CHECK(create(&ctx[i]));
		CHECK(cu.cuCtxSetCurrent_p(ctx[i]));
		CHECK(cu.cuKernelGetFunction_p(i ? &other : &own, kernel));
		CHECK(cu.cuStreamCreate_p(&streams[i], CU_STREAM_NON_BLOCKING));
	}
	puts("what,result");
	say("kernel; default stream", any, NULL, 0);
	say("kernel; another context's stream", any, streams[1], 0);
	say("function; default stream", own, NULL, 0);
	say("function; own stream", own, streams[0], 0);
	say("function; another context's stream", own, streams[1], 0);
	say("another context's function; default stream", other, NULL, 0);
	say("another context's function; per-thread stream", other, CU_STREAM_PER_THREAD, 0);
	say("another context's function; own stream", other, streams[0], 0);
	say("another context's function; its stream", other, streams[1], 0);
	CHECK(cu.cuKernelSetAttribute_p(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60 << 10,
					kernel, device));
	say("function with 60 KiB shared; 60 allowed by the kernel", own, NULL, 60 << 10);
	CHECK(cu.cuKernelSetAttribute_p(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 40 << 10,
					kernel, device));
	say("function with 60 KiB shared; 40 allowed by the kernel", own, NULL, 60 << 10);
	CHECK(cu.cuFuncSetAttribute_p(own, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				      60 << 10));
	say("kernel with 60 KiB shared; 60 allowed by the function", any, NULL, 60 << 10);
}

static void times(int rounds, size_t bytes)
{
	unsigned char *data = calloc(1, bytes);
	CUfunction function;
	CUstream stream;
	CUcontext ctx;

	if (!data)
		exit(1);
	CHECK(cu.cuDevicePrimaryCtxRetain_p(&ctx, device));
	CHECK(cu.cuCtxSetCurrent_p(ctx));
	CHECK(cu.cuKernelGetFunction_p(&function, kernel));
	CHECK(cu.cuStreamCreate_p(&stream, CU_STREAM_NON_BLOCKING));
	puts("caches,stream,call,given,launches,p25_ns,p50_ns,p75_ns");
	for (int i = 0; i < 4; i++)
		measure(function, i % 2 ? stream : NULL, rounds, data, i / 2 ? bytes : 0);
	free(data);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[2], "contexts") == 0) {
		open_driver(argv[1]);
		contexts();
		return 0;
	}
	if (argc != 4 || atoi(argv[2]) < 1 || strtoul(argv[3], NULL, 10) < 64) {
		fprintf(stderr,
			"usage: launch_handles DRIVER ROUNDS KIB\n       launch_handles DRIVER contexts\n");
		return 2;
	}
	open_driver(argv[1]);
	times(atoi(argv[2]), strtoul(argv[3], NULL, 10) * 1024);
	return 0;
}
