/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doors CASE...: a program that allocates device memory in every way there is.
 *
 *   info                    what the driver says there is: total, free and device total, bytes
 *   limit TIMES             fill the memory to the byte, then ask each door for more, TIMES over
 *   neighbour SECONDS       allocate all that is ours and give it back, over and over
 *   random COUNT SEED       that many random allocations and releases
 *   price COUNT             nanoseconds of an allocation and of a release of 4 KiB
 *   keep MIB FILE           fill so much with a pattern, write "ready" to FILE, wait until FILE
 *                           is gone, look whether the pattern is still there
 *
 * Doors that the driver lacks are said to be so.  Exit status 1: not as it must be.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define ROOM (64 * MIB) /* the random case allocates up to so much at once */

static CUdevice dev;
static int failures;

#define CHECK(call) check(call, #call, __LINE__)

static void check(CUresult rc, const char *call, int line)
{
	const char *name = "?";

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorName(rc, &name);
	fprintf(stderr, "doors:%d: %s: %s\n", line, call, name);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the doors ---------------------------------------------------------- */

/* A driver's function that not every driver has. */
#define OPTIONAL(result, name, ...) \
	CUresult (*name##_)(__VA_ARGS__) = \
		(CUresult (*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, #name); \
	if (!name##_) \
		return result

static CUresult linear(size_t bytes, uint64_t *h)
{
	return cuMemAlloc((CUdeviceptr *)h, bytes);
}

static CUresult linear_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuMemFree(h);
}

static CUresult pitched(size_t bytes, uint64_t *h)
{
	size_t pitch;

	return cuMemAllocPitch((CUdeviceptr *)h, &pitch, 512, (bytes + 511) / 512, 4);
}

static CUresult managed(size_t bytes, uint64_t *h)
{
	return cuMemAllocManaged((CUdeviceptr *)h, bytes, CU_MEM_ATTACH_GLOBAL);
}

static CUresult ordered(size_t bytes, uint64_t *h)
{
	return cuMemAllocAsync((CUdeviceptr *)h, bytes, NULL);
}

static CUresult ordered_free(uint64_t h, size_t bytes)
{
	CUresult rc = cuMemFreeAsync(h, NULL);

	(void)bytes;
	return rc == CUDA_SUCCESS ? cuStreamSynchronize(NULL) : rc;
}

static CUmemoryPool pool;

static CUresult from_pool(size_t bytes, uint64_t *h)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, dev },
	};
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate, CUmemoryPool *, const CUmemPoolProps *);
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemAllocFromPoolAsync, CUdeviceptr *, size_t,
		 CUmemoryPool, CUstream);
	CUresult rc = CUDA_SUCCESS;

	if (!pool)
		rc = cuMemPoolCreate_(&pool, &props);
	return rc == CUDA_SUCCESS ? cuMemAllocFromPoolAsync_((CUdeviceptr *)h, bytes, pool, NULL) : rc;
}

static size_t granularity(void)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, dev },
	};
	size_t g = 0;
	OPTIONAL(0, cuMemGetAllocationGranularity, size_t *, const CUmemAllocationProp *,
		 CUmemAllocationGranularity_flags);

	return cuMemGetAllocationGranularity_(&g, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
		       CUDA_SUCCESS ? g : 0;
}

static CUresult vmm(size_t bytes, uint64_t *h)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, dev },
	};
	size_t g = granularity();
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate, CUmemGenericAllocationHandle *, size_t,
		 const CUmemAllocationProp *, unsigned long long);

	if (!g)
		return CUDA_ERROR_NOT_SUPPORTED;
	return cuMemCreate_((CUmemGenericAllocationHandle *)h, (bytes + g - 1) / g * g, &prop, 0);
}

static CUresult vmm_free(uint64_t h, size_t bytes)
{
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuMemRelease, CUmemGenericAllocationHandle);

	(void)bytes;
	return cuMemRelease_(h);
}

static CUresult array(size_t bytes, uint64_t *h)
{
	CUDA_ARRAY_DESCRIPTOR d = { 1024, (bytes + 4095) / 4096, CU_AD_FORMAT_FLOAT, 1 };
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuArrayCreate_v2, CUarray *, const CUDA_ARRAY_DESCRIPTOR *);

	return cuArrayCreate_v2_((CUarray *)h, &d);
}

static CUresult array3d(size_t bytes, uint64_t *h)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 64, 64, (bytes + 16383) / 16384, CU_AD_FORMAT_FLOAT, 1, 0 };
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate_v2, CUarray *,
		 const CUDA_ARRAY3D_DESCRIPTOR *);

	return cuArray3DCreate_v2_((CUarray *)h, &d);
}

static CUresult array_free(uint64_t h, size_t bytes)
{
	OPTIONAL(CUDA_ERROR_NOT_SUPPORTED, cuArrayDestroy, CUarray);

	(void)bytes;
	return cuArrayDestroy_((CUarray)(uintptr_t)h);
}

static CUresult heap(size_t bytes, uint64_t *h)
{
	size_t value;

	CHECK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
	*h = value;
	return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, value + bytes);
}

static CUresult heap_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, h);
}

static CUresult module(size_t bytes, uint64_t *h)
{
	char ptx[256];

	snprintf(ptx, sizeof(ptx), ".version 7.0\n.target sm_70\n.address_size 64\n"
		 ".visible .global .align 4 .b8 big[%zu];\n"
		 ".visible .entry nothing()\n{\n\tret;\n}\n", bytes);
	return cuModuleLoadData((CUmodule *)h, ptx);
}

static CUresult module_free(uint64_t h, size_t bytes)
{
	(void)bytes;
	return cuModuleUnload((CUmodule)(uintptr_t)h);
}

static const struct door {
	const char *name;
	CUresult (*alloc)(size_t bytes, uint64_t *handle);
	CUresult (*release)(uint64_t handle, size_t bytes);
	int often; /* cheap enough for the random case */
} doors[] = {
	{ "linear", linear, linear_free, 1 },       { "pitched", pitched, linear_free, 1 },
	{ "managed", managed, linear_free, 1 },     { "ordered", ordered, ordered_free, 1 },
	{ "pool", from_pool, ordered_free, 1 },     { "vmm", vmm, vmm_free, 1 },
	{ "array", array, array_free, 1 },          { "array3d", array3d, array_free, 1 },
	{ "heap", heap, heap_free, 0 },             { "module", module, module_free, 0 },
};

#define DOORS (sizeof(doors) / sizeof(doors[0]))

/* ---- the cases ------------------------------------------------------------ */

static void info(void)
{
	size_t left, total, device;

	CHECK(cuMemGetInfo(&left, &total));
	CHECK(cuDeviceTotalMem(&device, dev));
	printf("%zu %zu %zu\n", total, left, device);
}

/* A door that works with a small allocation. */
static int there(const struct door *d)
{
	uint64_t h;

	if (d->alloc(4096, &h) != CUDA_SUCCESS)
		return 0;
	CHECK(d->release(h, 4096));
	return 1;
}

/* All that is ours but `but`, in pieces; how many. */
static int fill(size_t but, CUdeviceptr *piece, int most)
{
	size_t left, total, one = 256 * MIB;
	int n = 0;

	CHECK(cuMemGetInfo(&left, &total));
	left = left > but ? left - but : 0;
	while (left && n < most) {
		if (one > left)
			one = left;
		if (cuMemAlloc(&piece[n], one) == CUDA_SUCCESS) {
			n++;
			left -= one;
		} else if (one > MIB) {
			one /= 2;
		} else {
			break;
		}
	}
	return n;
}

static void at_limit(const struct door *d, int times, size_t size)
{
	int granted = 0, refused = 0;
	uint64_t h, more;

	for (int i = 0; i < times; i++) {
		if (d->alloc(size, &h) != CUDA_SUCCESS)
			continue;
		granted++;
		refused += d->alloc(size, &more) == CUDA_ERROR_OUT_OF_MEMORY;
		CHECK(d->release(h, size));
	}
	printf("%s,%d,%d,%d\n", d->name, times, granted, refused);
	failures += granted != times || refused != times;
}

/* Room for one allocation of each door, not for two: the second is refused, every time. */
static int limit(int times)
{
	static CUdeviceptr piece[4096];
	size_t size = 8 * MIB;
	int n, usable[DOORS];

	if (times < 1)
		return 2;
	for (size_t i = 0; i < DOORS; i++)
		usable[i] = there(&doors[i]);
	puts("door,times,granted,refused");
	/* Room for one, and for what the limit door keeps, not for two. */
	n = fill(size + size / 2, piece, 4096);
	for (size_t i = 0; i < DOORS; i++) {
		if (usable[i])
			at_limit(&doors[i], times, size);
		else
			printf("%s,not on this device,,\n", doors[i].name);
	}
	while (n--)
		CHECK(cuMemFree(piece[n]));
	return failures != 0;
}

static int neighbour(double seconds)
{
	double until = now_ns() + seconds * 1e9;
	size_t left, total;
	int rounds = 0;

	CHECK(cuMemGetInfo(&left, &total));
	while (now_ns() < until) {
		CUdeviceptr p = 0, q = 0;

		CHECK(cuMemAlloc(&p, total / 2));
		CHECK(cuMemAlloc(&q, total - total / 2));
		CHECK(cuMemFree(p));
		CHECK(cuMemFree(q));
		rounds++;
	}
	printf("%d rounds of %zu bytes\n", rounds, total);
	return rounds == 0;
}

#define SLOTS 64

static int at_random(long count, unsigned seed)
{
	struct {
		const struct door *door;
		uint64_t handle;
		size_t bytes;
	} slot[SLOTS] = { { NULL, 0, 0 } };
	long granted = 0, refused = 0, other = 0;
	const struct door *usable[DOORS];
	unsigned n = 0;

	for (size_t i = 0; i < DOORS; i++)
		if (doors[i].often && there(&doors[i]))
			usable[n++] = &doors[i];
	for (long i = 0; i < count; i++) {
		unsigned k = (unsigned)rand_r(&seed) % SLOTS;
		const struct door *d = usable[(unsigned)rand_r(&seed) % n];
		size_t bytes = (size_t)rand_r(&seed) % (ROOM / SLOTS * 4) + 1;
		CUresult rc;

		if (slot[k].door) {
			CHECK(slot[k].door->release(slot[k].handle, slot[k].bytes));
			slot[k].door = NULL;
			continue;
		}
		rc = d->alloc(bytes, &slot[k].handle);
		if (rc == CUDA_SUCCESS) {
			slot[k].door = d;
			slot[k].bytes = bytes;
			granted++;
		} else if (rc == CUDA_ERROR_OUT_OF_MEMORY) {
			refused++;
		} else {
			other++;
		}
	}
	for (int k = 0; k < SLOTS; k++)
		if (slot[k].door)
			CHECK(slot[k].door->release(slot[k].handle, slot[k].bytes));
	printf("%ld operations: %ld granted, %ld refused, %ld failed otherwise\n", count, granted,
	       refused, other);
	return other != 0 || granted == 0;
}

static int price(long count)
{
	double alloc = 0, release = 0, t0, t1;
	CUdeviceptr p;

	if (count < 1)
		return 2;
	for (long i = -10; i < count; i++) {
		t0 = now_ns();
		CHECK(cuMemAlloc(&p, 4096));
		t1 = now_ns();
		CHECK(cuMemFree(p));
		if (i < 0)
			continue;
		alloc += t1 - t0;
		release += now_ns() - t1;
	}
	printf("%.1f,%.1f\n", alloc / (double)count, release / (double)count);
	return 0;
}

static uint32_t pattern(size_t i)
{
	return (uint32_t)(i * 2654435761u) ^ 0x5bd1e995u;
}

static int keep(size_t mib, const char *file)
{
	size_t words = mib * MIB / 4, chunk = 4 * MIB;
	uint32_t *host = malloc(chunk * 4);
	size_t bad = 0;
	CUdeviceptr p;
	FILE *f;

	if (!host || !words)
		return 2;
	CHECK(cuMemAlloc(&p, words * 4));
	for (size_t at = 0; at < words; at += chunk) {
		size_t n = words - at < chunk ? words - at : chunk;

		for (size_t i = 0; i < n; i++)
			host[i] = pattern(at + i);
		CHECK(cuMemcpyHtoD(p + at * 4, host, n * 4));
	}
	f = fopen(file, "w");
	if (!f)
		return 2;
	fprintf(f, "ready %d\n", (int)getpid());
	fclose(f);
	while (access(file, F_OK) == 0)
		usleep(10000);
	for (size_t at = 0; at < words; at += chunk) {
		size_t n = words - at < chunk ? words - at : chunk;

		CHECK(cuMemcpyDtoH(host, p + at * 4, n * 4));
		for (size_t i = 0; i < n; i++)
			bad += host[i] != pattern(at + i);
	}
	CHECK(cuMemFree(p));
	free(host);
	printf("%zu MiB, %zu words wrong\n", mib, bad);
	return bad != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	CUcontext ctx;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuCtxCreate(&ctx, NULL, 0, dev));
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "info") == 0)
		return info(), 0;
	if (strcmp(what, "limit") == 0 && argc == 3)
		return limit(atoi(argv[2]));
	if (strcmp(what, "neighbour") == 0 && argc == 3)
		return neighbour(atof(argv[2]));
	if (strcmp(what, "random") == 0 && argc == 4)
		return at_random(atol(argv[2]), (unsigned)atoi(argv[3]));
	if (strcmp(what, "price") == 0 && argc == 3)
		return price(atol(argv[2]));
	if (strcmp(what, "keep") == 0 && argc == 4)
		return keep((size_t)atol(argv[2]), argv[3]);
	fputs("usage: doors info | limit TIMES | neighbour SECONDS | random COUNT SEED | "
	      "price COUNT | keep MIB FILE\n", stderr);
	return 2;
}
