/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call_cost DRIVER COUNT WORD...: what cuMemAlloc and cuMemFree of 1 MiB take in
 * a context that has what the shim adds to one; prints "alloc_ns free_ns" (medians).
 * Where does the price of an allocation under gpushare come from?
 *
 *   streams   two non-blocking streams, each used once
 *   page      a shared page, registered with the driver
 *   block     an allocation of 16 KiB that stays
 *   thread    a second thread with the context, asleep
 *   async     not that: cuMemAllocAsync and cuMemFreeAsync, of a pool that keeps what it has
 * CUDA_DEVICE_MAX_CONNECTIONS and CUDA_MODULE_LOADING are the caller's to set.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BYTES (1u << 20)
#define PAGE 8192
#define TEXT_OF(name) #name
#define SYMBOL(name) TEXT_OF(name)
#define F(name) __typeof__(&name) name##_p

static struct {
	F(cuInit);
	F(cuDeviceGet);
	F(cuDevicePrimaryCtxRetain);
	F(cuCtxSetCurrent);
	F(cuMemAlloc);
	F(cuMemFree);
	F(cuStreamCreateWithPriority);
	F(cuMemsetD8Async);
	F(cuStreamSynchronize);
	F(cuMemHostRegister);
	F(cuMemAllocAsync);
	F(cuMemFreeAsync);
	F(cuDeviceGetDefaultMemPool);
	F(cuMemPoolSetAttribute);
} cu;

static int async;

static CUcontext ctx;

static void check(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "call_cost: %s: %d\n", what, (int)rc);
	exit(1);
}
#define CHECK(call) check(call, #call)

static void get(void *driver, const char *name, void *slot)
{
	void *p = dlsym(driver, name);

	if (!p) {
		fprintf(stderr, "call_cost: the driver has no %s\n", name);
		exit(1);
	}
	memcpy(slot, &p, sizeof(p));
}
#define GET(name) get(driver, SYMBOL(name), &cu.name##_p)

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void *sleeper(void *unused)
{
	CHECK(cu.cuCtxSetCurrent_p(ctx));
	for (;;)
		pause();
	return unused;
}

static void add(const char *word)
{
	CUdeviceptr p;
	CUstream stream;
	pthread_t thread;
	void *page;

	if (strcmp(word, "streams") == 0) {
		CHECK(cu.cuMemAlloc_p(&p, 64));
		for (int i = 0; i < 2; i++) {
			CHECK(cu.cuStreamCreateWithPriority_p(&stream, CU_STREAM_NON_BLOCKING, -i));
			CHECK(cu.cuMemsetD8Async_p(p, 0, 64, stream));
			CHECK(cu.cuStreamSynchronize_p(stream));
		}
	} else if (strcmp(word, "page") == 0) {
		page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CHECK(cu.cuMemHostRegister_p(
			page, PAGE, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
	} else if (strcmp(word, "block") == 0) {
		CHECK(cu.cuMemAlloc_p(&p, 16384));
	} else if (strcmp(word, "thread") == 0) {
		pthread_create(&thread, NULL, sleeper, NULL);
		usleep(100000);
	} else if (strcmp(word, "async") == 0) {
		cuuint64_t all = UINT64_MAX;
		CUmemoryPool pool;

		CHECK(cu.cuDeviceGetDefaultMemPool_p(&pool, 0));
		CHECK(cu.cuMemPoolSetAttribute_p(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
		async = 1;
	} else {
		fprintf(stderr, "call_cost: '%s' is nothing to add\n", word);
		exit(2);
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, warm = n / 10;
	uint64_t *alloc = calloc(n + 1, sizeof(*alloc)), *release = calloc(n + 1, sizeof(*release));
	void *driver = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	CUdevice device;
	CUdeviceptr p;

	if (!driver || n < 20 || !alloc || !release) {
		fprintf(stderr,
			"usage: call_cost DRIVER COUNT [streams|page|block|thread|async]...\n");
		return 2;
	}
	GET(cuInit), GET(cuDeviceGet), GET(cuDevicePrimaryCtxRetain), GET(cuCtxSetCurrent),
		GET(cuMemAlloc), GET(cuMemFree);
	GET(cuStreamCreateWithPriority), GET(cuMemsetD8Async), GET(cuStreamSynchronize),
		GET(cuMemHostRegister);
	GET(cuMemAllocAsync), GET(cuMemFreeAsync), GET(cuDeviceGetDefaultMemPool),
		GET(cuMemPoolSetAttribute);
	CHECK(cu.cuInit_p(0));
	CHECK(cu.cuDeviceGet_p(&device, 0));
	CHECK(cu.cuDevicePrimaryCtxRetain_p(&ctx, device));
	CHECK(cu.cuCtxSetCurrent_p(ctx));
	for (int i = 3; i < argc; i++)
		add(argv[i]);
	for (size_t i = 0; i < n; i++) {
		uint64_t t0 = now(), t1, t2;

		CHECK(async ? cu.cuMemAllocAsync_p(&p, BYTES, NULL) : cu.cuMemAlloc_p(&p, BYTES));
		t1 = now();
		CHECK(async ? cu.cuMemFreeAsync_p(p, NULL) : cu.cuMemFree_p(p));
		t2 = now();
		alloc[i] = t1 - t0;
		release[i] = t2 - t1;
		if (async &&
		    i % 16 == 15) /* what was freed is there again on the emulated device as well */
			CHECK(cu.cuStreamSynchronize_p(NULL));
	}
	qsort(alloc + warm, n - warm, sizeof(*alloc), by_size);
	qsort(release + warm, n - warm, sizeof(*release), by_size);
	printf("%llu %llu\n", (unsigned long long)alloc[warm + (n - warm) / 2],
	       (unsigned long long)release[warm + (n - warm) / 2]);
	return 0;
}
