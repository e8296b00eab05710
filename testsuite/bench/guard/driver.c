/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guard_run.h. */
#define _GNU_SOURCE
#include "guard_run.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STRING(x) #x
#define SYMBOL(x) STRING(x)
#define LIMIT_US 10e6

struct driver cu;
struct gpu gpu;

void must_be(CUresult result, const char *what)
{
	const char *name = NULL;

	if (result == CUDA_SUCCESS)
		return;
	cu.cuGetErrorName(result, &name);
	printf("failed: %s: %s\n", what, name ? name : "?");
	fflush(stdout);
	exit(3);
}

static void load_driver(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *symbol;

	if (!handle) {
		printf("no driver: %s\n", dlerror());
		exit(77);
	}
#define F(name) \
	symbol = dlsym(handle, SYMBOL(name)); \
	if (!symbol) { \
		printf("the driver has no %s\n", SYMBOL(name)); \
		exit(3); \
	} \
	memcpy(&cu.name, &symbol, sizeof(symbol));
#include "calls.def"
#undef F
}

static int attribute(CUdevice_attribute a)
{
	int v = 0;

	MUST(cuDeviceGetAttribute(&v, a, gpu.device));
	return v;
}

void gpu_open(void)
{
	int low, high, version;
	char name[100] = "";
	CUcontext context;

	load_driver();
	MUST(cuInit(0));
	MUST(cuDeviceGet(&gpu.device, 0));
	MUST(cuDevicePrimaryCtxRetain(&context, gpu.device));
	MUST(cuCtxSetCurrent(context));
	MUST(cuCtxGetStreamPriorityRange(&low, &high));
	MUST(cuStreamCreateWithPriority(&gpu.run, CU_STREAM_NON_BLOCKING, low));
	MUST(cuStreamCreateWithPriority(&gpu.evict, CU_STREAM_NON_BLOCKING, high));
	MUST(cuMemAllocHost((void **)&gpu.leave, 4096));
	*gpu.leave = GS_GUARD_LEAVE_UPPER;
	gpu.guard = gpu_alloc(GS_GUARD_BYTES);
	gpu.count = gpu_alloc(8);
	gpu.sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	MUST(cuDeviceGetName(name, sizeof(name), gpu.device));
	MUST(cuDriverGetVersion(&version));
	printf("# %s, %d multiprocessors, driver API %d\n", name, gpu.sms, version);
	if (attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) != 9) {
		printf("this is not a device of compute capability 9.0\n");
		exit(77);
	}
}

CUdeviceptr gpu_alloc(size_t bytes)
{
	CUdeviceptr p;

	MUST(cuMemAlloc(&p, bytes));
	return p;
}

CUdeviceptr gpu_alloc_at(CUdeviceptr at, size_t bytes)
{
	CUmemAllocationProp what = { .type = CU_MEM_ALLOCATION_TYPE_PINNED };
	CUmemGenericAllocationHandle handle;
	CUmemAccessDesc access = { .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUdeviceptr got = 0;

	what.location.type = access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	what.location.id = access.location.id = gpu.device;
	bytes = (bytes + ((size_t)2 << 20) - 1) & ~(((size_t)2 << 20) - 1);
	if (cu.cuMemAddressReserve(&got, bytes, 0, at, 0) != CUDA_SUCCESS || got != at)
		return 0;
	MUST(cuMemCreate(&handle, bytes, &what, 0));
	MUST(cuMemMap(at, bytes, 0, handle, 0));
	MUST(cuMemSetAccess(at, bytes, &access, 1));
	return at;
}

static void launch_own(CUfunction f, void **args)
{
	CUlaunchConfig c = { 2048, 1, 1, 256, 1, 1, 0, gpu.run, NULL, 0 };

	MUST(cuLaunchKernelEx(&c, f, args, NULL));
}

void gpu_fill(CUdeviceptr p, size_t bytes, unsigned seed)
{
	long n = (long)(bytes / 4);
	void *args[] = { &p, &n, &seed };

	launch_own(gpu.fill, args);
	gpu_finish();
}

uint64_t gpu_differ(CUdeviceptr a, CUdeviceptr b, size_t bytes)
{
	long n = (long)(bytes / 4);
	void *args[] = { &a, &b, &n, &gpu.count };
	uint64_t count = 0;

	MUST(cuMemsetD32Async(gpu.count, 0, 2, gpu.run));
	launch_own(gpu.differ, args);
	gpu_finish();
	MUST(cuMemcpyDtoH(&count, gpu.count, 8));
	return count;
}

CUmodule gpu_load(const void *image, const char *name, int must)
{
	CUmodule m = NULL;
	CUresult r = cu.cuModuleLoadData(&m, image);
	const char *words = "?";

	if (r == CUDA_SUCCESS)
		return m;
	cu.cuGetErrorName(r, &words);
	printf("the driver refuses %s: %s\n", name, words);
	if (must)
		exit(3);
	return NULL;
}

void gpu_finish(void)
{
	double end = now_us() + LIMIT_US;
	CUresult r;

	while ((r = cu.cuStreamQuery(gpu.run)) == CUDA_ERROR_NOT_READY)
		if (now_us() > end) {
			printf("a kernel does not end\n");
			fflush(stdout);
			_exit(9);
		}
	must_be(r, "waiting for a kernel");
}

double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

void delay_us(double us)
{
	double end = now_us() + us;

	while (now_us() < end)
		;
}

uint64_t random_word(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

double random_part(void)
{
	return (double)(random_word() >> 11) * (1.0 / 9007199254740992.0);
}
