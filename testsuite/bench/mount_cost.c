/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount_cost BEGUN SECONDS: what a program that launches kernels one after the other sees of the
 * library that it has for a driver.
 *
 * BEGUN is CLOCK_MONOTONIC in ns from before the program was started.  Prints the milliseconds from
 * there to the first kernel's result, the microseconds of a launch (the median of batches, over so
 * many seconds), and "shim" or "driver" after what is mapped into the process.  Exit status 1: the
 * result is wrong, or the driver failed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda.h"

#define BATCH 1000
#define BATCHES_MAX 10000

static const char kernel_text[] = ".version 6.4\n"
				  ".target sm_75\n"
				  ".address_size 64\n"
				  ".visible .entry add_one(.param .u64 p)\n"
				  "{\n"
				  "	.reg .b64 %rd<3>;\n"
				  "	.reg .b32 %r<3>;\n"
				  "	ld.param.u64 %rd1, [p];\n"
				  "	cvta.to.global.u64 %rd2, %rd1;\n"
				  "	ld.global.u32 %r1, [%rd2];\n"
				  "	add.u32 %r2, %r1, 1;\n"
				  "	st.global.u32 [%rd2], %r2;\n"
				  "	ret;\n"
				  "}\n";

static CUfunction kernel;
static CUdeviceptr number;

static void check(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "mount_cost: %s: error %d\n", what, (int)rc);
	exit(1);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void launch(void)
{
	void *params[] = { &number };

	check(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "launch");
}

static uint32_t result(void)
{
	uint32_t value;

	check(cuMemcpyDtoH(&value, number, sizeof(value)), "copy");
	return value;
}

static void begin(void)
{
	uint32_t zero = 0;
	CUdevice device;
	CUmodule module;
	CUcontext ctx;

	check(cuInit(0), "init");
	check(cuDeviceGet(&device, 0), "device");
	check(cuDevicePrimaryCtxRetain(&ctx, device), "context");
	check(cuCtxSetCurrent(ctx), "context");
	check(cuModuleLoadData(&module, kernel_text), "module");
	check(cuModuleGetFunction(&kernel, module, "add_one"), "kernel");
	check(cuMemAlloc(&number, sizeof(uint32_t)), "memory");
	check(cuMemcpyHtoD(number, &zero, sizeof(zero)), "copy");
	launch();
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The batches' launches; the time of one in us, the median. */
static double launches(double seconds, uint32_t *count)
{
	static double took[BATCHES_MAX];
	double end = now_ns() + seconds * 1e9;
	size_t n = 0;

	do {
		double from = now_ns();

		for (int i = 0; i < BATCH; i++)
			launch();
		check(cuCtxSynchronize(), "synchronize");
		took[n++] = (now_ns() - from) / 1e3 / BATCH;
		*count += BATCH;
	} while (n < BATCHES_MAX && now_ns() < end);
	qsort(took, n, sizeof(took[0]), by_size);
	return took[n / 2];
}

/* Under the shim the driver's own file is mapped from the folder where the mounts have put it. */
static const char *library(void)
{
	const char *name = "driver";
	char line[1024];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/job/real/"))
			name = "shim";
	if (maps)
		fclose(maps);
	return name;
}

int main(int argc, char **argv)
{
	uint32_t launched = 1;
	double first_ms, us;

	if (argc != 3) {
		fprintf(stderr, "usage: mount_cost BEGUN SECONDS\n");
		return 2;
	}
	begin();
	if (result() != 1) {
		fprintf(stderr, "mount_cost: the first result is wrong\n");
		return 1;
	}
	first_ms = (now_ns() - strtod(argv[1], NULL)) / 1e6;
	us = launches(strtod(argv[2], NULL), &launched);
	if (result() != launched) {
		fprintf(stderr, "mount_cost: the last result is wrong\n");
		return 1;
	}
	printf("%.4f %.5f %s\n", first_ms, us, library());
	return 0;
}
