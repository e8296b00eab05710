/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * entries CASE...: a program that allocates device memory in every way there is.
 *
 *   info                    what the driver says there is: total, free and device total, bytes
 *   limit TIMES             fill the memory, then ask each entry for more, TIMES over
 *   pair TIMES              two processes at the limit of their step, and what one imports of the
 * other contexts TIMES          contexts at the limit, where each is charged (ContextMemory); says
 * on standard error how far it is frames TIMES            the local memory of a kernel at the
 * limit, in a context of its own neighbour FILE          allocate all that is ours and give it
 * back, over and over until FILE is there random COUNT SEED       that many random allocations and
 * releases, of all sizes; "begun" comes first price COUNT             nanoseconds of an allocation
 * and of a release of 4 KiB keep MIB FILE           fill so much with a pattern, write "ready" to
 * FILE, wait until FILE is gone, look whether the pattern is still there compute FILE kernels one
 * after another until FILE is gone, and whether they were right
 *
 * Doors that the driver lacks are said to be so.  Exit status 1: not as it must be.
 */
#define _GNU_SOURCE
#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

CUdevice dev;
int failures;

void check(CUresult rc, const char *call, int line)
{
	const char *name = "?";

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorName(rc, &name);
	fprintf(stderr, "entries:%d: %s: %s\n", line, call, name);
	exit(1);
}

double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the cases ------------------------------------------------------------ */

static void info(void)
{
	size_t left, total, device;

	CHECK(cuMemGetInfo(&left, &total));
	CHECK(cuDeviceTotalMem(&device, dev));
	printf("%zu %zu %zu\n", total, left, device);
}

int fill(size_t but, CUdeviceptr *piece, int most)
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

/* How far it is, every five seconds. */
static void tell(const char *entry, int done, int times, double *told)
{
	if (now_ns() - *told <= 5e9)
		return;
	fprintf(stderr, "entries: %s: %d of %d\n", entry, done, times);
	*told = now_ns();
}

static void at_limit(const struct entry *d, int times, size_t size)
{
	int granted = 0, refused = 0;
	double told = now_ns();
	uint64_t h, more;

	for (int i = 0; i < times; i++) {
		CUresult rc = d->alloc(size, &h);

		tell(d->name, i, times, &told);
		if (rc != CUDA_SUCCESS) {
			fprintf(stderr, "entries: %s: round %d: error %d\n", d->name, i, (int)rc);
			continue;
		}
		granted++;
		refused += d->alloc(size, &more) == CUDA_ERROR_OUT_OF_MEMORY;
		CHECK(d->release(h, size));
	}
	printf("%s,%d,%d,%d\n", d->name, times, granted, refused);
	failures += granted != times || refused != times;
}

/* Room for one allocation of each entry, not for two: the second is refused, every time. */
static int limit(int times)
{
	static CUdeviceptr piece[4096];
	size_t size = 8 * MIB;
	int n, *usable = calloc(ndoors, sizeof(*usable));

	if (times < 1 || !usable)
		return 2;
	for (size_t i = 0; i < ndoors; i++)
		usable[i] = entry_is_there(&entries[i]);
	puts("entry,times,granted,refused");
	/* Room for one, and for what the limit entry keeps, not for two. */
	n = fill(size + size / 2, piece, 4096);
	for (size_t i = 0; i < ndoors; i++) {
		if (usable[i])
			at_limit(&entries[i], times, size);
		else
			printf("%s,not on this device,,\n", entries[i].name);
	}
	while (n--)
		CHECK(cuMemFree(piece[n]));
	free(usable);
	return failures != 0;
}

static int frames(int times)
{
	static CUdeviceptr piece[4096];
	size_t size = 8 * MIB, left, total, context;
	int n;

	if (times < 1)
		return 2;
	CHECK(cuMemGetInfo(&left, &total));
	context = total - left;
	n = fill(size + size / 2 + 2 * context, piece, 4096);
	at_limit(&frames_entry, times, size);
	while (n--)
		CHECK(cuMemFree(piece[n]));
	return failures != 0;
}

/* What the first context was charged with tells what another one would be. */
static int contexts(int times)
{
	static CUdeviceptr piece[4096];
	int n, granted = 0, refused = 0;
	size_t left, total, cost;
	CUcontext ctx, more;
	double told = now_ns();

	CHECK(cuMemGetInfo(&left, &total));
	cost = total - left;
	if (times < 1 || !cost) {
		fputs("entries: no context is charged (ContextMemory)\n", stderr);
		return 2;
	}
	n = fill(cost + cost / 2, piece, 4096);
	for (int i = 0; i < times; i++) {
		if (cuCtxCreate(&ctx, NULL, 0, dev) != CUDA_SUCCESS)
			continue;
		granted++;
		refused += cuCtxCreate(&more, NULL, 0, dev) == CUDA_ERROR_OUT_OF_MEMORY;
		CHECK(cuCtxDestroy(ctx)); /* the first one is current again */
		tell("context", i + 1, times, &told);
	}
	while (n--)
		CHECK(cuMemFree(piece[n]));
	printf("context,%d,%d,%d\n", times, granted, refused);
	return granted != times || refused != times;
}

/* All that is ours, to the byte, and its ends are written. */
static int neighbour(const char *file, unsigned pause_ms)
{
	size_t left, total;
	int rounds = 0;

	CHECK(cuMemGetInfo(&left, &total));
	do {
		CUdeviceptr p = 0, q = 0;

		CHECK(cuMemAlloc(&p, total / 2));
		CHECK(cuMemAlloc(&q, left - total / 2));
		CHECK(cuMemsetD32(p, 0x600d, 1024));
		CHECK(cuMemsetD32(q + (left - total / 2) - 4096, 0x600d, 1024));
		CHECK(cuMemFree(p));
		CHECK(cuMemFree(q));
		rounds++;
		usleep(pause_ms * 1000);
	} while (access(file, F_OK) != 0);
	printf("%d rounds of %zu bytes\n", rounds, left);
	return 0;
}

#define SLOTS 256

struct slot {
	const struct entry *entry;
	uint64_t handle;
	size_t bytes;
};

/* As many small ones as large ones: each power of two from 256 bytes to 8 MiB as often. */
static size_t random_size(unsigned *seed)
{
	size_t base = (size_t)256 << (unsigned)rand_r(seed) % 16;

	return base - (size_t)rand_r(seed) % (base / 2);
}

/* The entries as often as they say; the dear ones seldom, so that a million takes seconds. */
static const struct entry *random_entry(const struct entry *const *usable, unsigned n,
					unsigned *seed)
{
	int sum = 0, at;

	for (unsigned i = 0; i < n; i++)
		sum += usable[i]->often;
	at = rand_r(seed) % sum;
	while ((at -= (*usable)->often) >= 0)
		usable++;
	return *usable;
}

static int at_random(long count, unsigned seed)
{
	static struct slot slot[SLOTS];
	long granted = 0, refused = 0, other = 0;
	const struct entry **usable = calloc(ndoors, sizeof(struct entry *));
	double begun = now_ns();
	unsigned n = 0;

	if (!usable)
		return 2;
	for (size_t i = 0; i < ndoors; i++)
		if (entries[i].often && entry_is_there(&entries[i]))
			usable[n++] = &entries[i];
	puts("begun");
	for (long i = 0; i < count; i++) {
		struct slot *at = &slot[(unsigned)rand_r(&seed) % SLOTS];
		CUresult rc;

		if (at->entry) {
			CHECK(at->entry->release(at->handle, at->bytes));
			at->entry = NULL;
			continue;
		}
		at->bytes = random_size(&seed);
		at->entry = random_entry(usable, n, &seed);
		rc = at->entry->alloc(at->bytes, &at->handle);
		granted += rc == CUDA_SUCCESS;
		refused += rc == CUDA_ERROR_OUT_OF_MEMORY;
		other += rc != CUDA_SUCCESS && rc != CUDA_ERROR_OUT_OF_MEMORY;
		if (rc != CUDA_SUCCESS)
			at->entry = NULL;
	}
	for (struct slot *at = slot; at < slot + SLOTS; at++)
		if (at->entry)
			CHECK(at->entry->release(at->handle, at->bytes));
	free(usable);
	printf("%ld operations in %.1f s: %ld granted, %ld refused, %ld failed otherwise\n", count,
	       (now_ns() - begun) / 1e9, granted, refused, other);
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
	if (strcmp(what, "pair") == 0 && argc == 3)
		return pair(atoi(argv[2]));
	if (strcmp(what, "second") == 0)
		return pair_second();
	if (strcmp(what, "frames") == 0 && argc == 3)
		return frames(atoi(argv[2]));
	if (strcmp(what, "contexts") == 0 && argc == 3)
		return contexts(atoi(argv[2]));
	if (strcmp(what, "neighbour") == 0 && (argc == 3 || argc == 4))
		return neighbour(argv[2], argc == 4 ? (unsigned)atoi(argv[3]) : 0);
	if (strcmp(what, "random") == 0 && argc == 4)
		return at_random(atol(argv[2]), (unsigned)atoi(argv[3]));
	if (strcmp(what, "price") == 0 && argc == 3)
		return price(atol(argv[2]));
	if (strcmp(what, "keep") == 0 && argc == 4)
		return keep((size_t)atol(argv[2]), argv[3]);
	if (strcmp(what, "compute") == 0 && argc == 3)
		return compute(argv[2]);
	fputs("usage: entries info | limit TIMES | pair TIMES | contexts TIMES | frames TIMES | neighbour FILE [PAUSE-MS] | "
	      "random COUNT SEED | price COUNT | keep MIB FILE | compute FILE\n",
	      stderr);
	return 2;
}
