/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sees BYTES GO OVER: one process of a job, which has so much device memory, by several
 * allocations. Writes "has"; from when file GO is there until file OVER is, a line again and again
 * of what it is told: total and free by cuMemGetInfo, total by cuDeviceTotalMem, total, used and
 * free by nvmlDeviceGetMemoryInfo, bytes (row G3 of the campaign).
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../e2e/check.h"

#define PIECES 4

static void *nvml;

static void *find(const char *name)
{
	void *p = nvml ? dlsym(nvml, name) : NULL;

	if (p)
		return p;
	fprintf(stderr, "no NVML with %s: %s\n", name, dlerror());
	exit(1);
}
#define NVML(name, type) ((int(*) type)(uintptr_t)find(name))

static void wait_for(const char *file)
{
	while (access(file, F_OK) != 0)
		usleep(2000);
}

static void say(CUdevice device, void *of_nvml)
{
	unsigned long long m[3] = { 0 }; /* total, free, used */
	size_t free_bytes, total, whole;

	CHECK(cuMemGetInfo(&free_bytes, &total));
	CHECK(cuDeviceTotalMem(&whole, device));
	expect(NVML("nvmlDeviceGetMemoryInfo", (void *, void *))(of_nvml, m) == 0,
	       "NVML says the memory");
	printf("sees %d %zu %zu %zu %llu %llu %llu\n", (int)getpid(), total, free_bytes, whole,
	       m[0], m[2], m[1]);
}

int main(int argc, char **argv)
{
	CUdeviceptr p[PIECES];
	CUdevice device;
	CUcontext ctx;
	void *of_nvml;
	size_t bytes;

	if (argc != 4)
		return 2;
	bytes = (size_t)atol(argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuCtxCreate(&ctx, NULL, 0, device));
	for (size_t i = 0; i < PIECES; i++)
		CHECK(cuMemAlloc(&p[i], bytes / PIECES));
	nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	expect(NVML("nvmlInit_v2", (void))() == 0, "NVML begins");
	expect(NVML("nvmlDeviceGetHandleByIndex_v2", (unsigned int, void **))(0, &of_nvml) == 0,
	       "NVML has the GPU");
	puts("has");
	wait_for(argv[2]);
	while (access(argv[3], F_OK) != 0 && !failures) {
		say(device, of_nvml);
		usleep(20000);
	}
	for (size_t i = 0; i < PIECES; i++)
		CHECK(cuMemFree(p[i]));
	return failures != 0;
}
