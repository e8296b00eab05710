/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * residue fill ENTRY MARK MIB FILE: has so much device memory, by that way to allocate, with MARK
 * in each word; writes "filled", waits until FILE is gone, and says whether it is still so. residue
 * look MARK: takes all that it may have, by each way to allocate, and counts the words that are
 * MARK (row F6 of the campaign).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../e2e/entries.h"

#define UNIT (2 * MIB) /* what each way to allocate can give exactly */
#define WORDS (MIB / sizeof(uint32_t))
#define ROW 4096 /* bytes, of the array of entries_list.c */

CUdevice dev;
int failures;

/* Those whose memory can be read and written from outside of a kernel. */
static const char *const readable[] = { "linear", "pitched", "managed", "ordered",
					"pool",   "mapped",  "array",   "module" };

void check(CUresult rc, const char *call, int line)
{
	if (rc == CUDA_SUCCESS)
		return;
	printf("residue:%d: %s: error %d\n", line, call, (int)rc);
	exit(1);
}

static const struct entry *find(const char *name)
{
	for (size_t i = 0; i < ndoors; i++)
		if (strcmp(name, entries[i].name) == 0)
			return &entries[i];
	printf("residue: no %s\n", name);
	exit(2);
}

/* Its address; 0: it has none, and is an array. */
static CUdeviceptr address(const struct entry *entry, uint64_t handle, size_t bytes)
{
	CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, dev },
				   CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUdeviceptr p;
	OPTIONAL(0, cuMemSetAccess, CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);

	if (strcmp(entry->name, "array") == 0)
		return 0;
	if (strcmp(entry->name, "module") == 0) {
		CHECK(cuModuleGetGlobal(&p, NULL, (CUmodule)(uintptr_t)handle, "big"));
		return p;
	}
	if (strcmp(entry->name, "mapped") == 0)
		CHECK(cuMemSetAccess_(handle, bytes, &access, 1));
	return handle;
}

/* A MiB of it at that place, to or from the host. */
static void copy(const struct entry *entry, uint64_t handle, size_t bytes, size_t at, void *host,
		 int to_host)
{
	CUdeviceptr p = address(entry, handle, bytes);
	CUDA_MEMCPY2D c = { .WidthInBytes = ROW, .Height = MIB / ROW };

	if (p && to_host)
		CHECK(cuMemcpyDtoH(host, p + at, MIB));
	else if (p)
		CHECK(cuMemcpyHtoD(p + at, host, MIB));
	if (p)
		return;
	c.srcMemoryType = to_host ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
	c.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
	if (to_host) {
		c.srcArray = (CUarray)(uintptr_t)handle;
		c.srcY = at / ROW;
		c.dstHost = host;
		c.dstPitch = ROW;
	} else {
		c.dstArray = (CUarray)(uintptr_t)handle;
		c.dstY = at / ROW;
		c.srcHost = host;
		c.srcPitch = ROW;
	}
	CHECK(cuMemcpy2D(&c));
}

static size_t marked(const struct entry *entry, uint64_t handle, size_t bytes, uint32_t mark)
{
	static uint32_t word[WORDS];
	size_t found = 0;

	for (size_t at = 0; at < bytes; at += MIB) {
		copy(entry, handle, bytes, at, word, 1);
		for (size_t i = 0; i < WORDS; i++)
			found += word[i] == mark;
	}
	return found;
}

static void wait_until_gone(const char *file)
{
	while (access(file, F_OK) == 0)
		usleep(2000);
}

static int fill_it(const struct entry *entry, uint32_t mark, size_t bytes, const char *file)
{
	uint32_t *word = malloc(MIB);
	uint64_t handle;
	size_t found;

	if (!word)
		return 2;
	for (size_t i = 0; i < WORDS; i++)
		word[i] = mark;
	CHECK(entry->alloc(bytes, &handle));
	for (size_t at = 0; at < bytes; at += MIB)
		copy(entry, handle, bytes, at, word, 0);
	puts("filled");
	wait_until_gone(file);
	found = marked(entry, handle, bytes, mark);
	printf("residue: %zu of %zu words are there\n", found, bytes / sizeof(mark));
	return found != bytes / sizeof(mark);
}

static int look(uint32_t mark, const char *file)
{
	size_t left, total, found = 0, looked = 0;

	for (size_t i = 0; i < sizeof(readable) / sizeof(readable[0]); i++) {
		const struct entry *entry = find(readable[i]);
		size_t here;
		uint64_t handle;

		CHECK(cuMemGetInfo(&left, &total));
		left = left / UNIT * UNIT;
		CHECK(entry->alloc(left, &handle));
		here = marked(entry, handle, left, mark);
		if (here)
			printf("residue: %s: %zu words of another program\n", entry->name, here);
		found += here;
		looked += left;
		CHECK(entry->release(handle, left));
	}
	printf("residue: %zu words found in %zu MiB\n", found, looked / MIB);
	wait_until_gone(file);
	return found != 0;
}

int main(int argc, char **argv)
{
	CUcontext ctx;

	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuCtxCreate(&ctx, NULL, 0, dev));
	if (argc == 6 && strcmp(argv[1], "fill") == 0)
		return fill_it(find(argv[2]), (uint32_t)strtoul(argv[3], NULL, 0),
			       (size_t)atol(argv[4]) * MIB, argv[5]);
	if (argc == 4 && strcmp(argv[1], "look") == 0)
		return look((uint32_t)strtoul(argv[2], NULL, 0), argv[3]);
	return 2;
}
