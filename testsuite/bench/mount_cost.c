/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount_cost BEGUN: what a program that launches kernels one after the other sees of the library
 * that it has for a driver.
 *
 * BEGUN is CLOCK_MONOTONIC in ns from before the program was started.  Prints the milliseconds from
 * there to the first kernel's result; for each line of standard input the microseconds of a launch
 * in a batch; and at its end "shim" or "driver" after what is mapped into the process.  Its thread
 * keeps to the last of its processors after the first result, as the one beside which it is timed.
 * Exit status 1: a result is wrong, or the driver failed.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda.h"

#define WARM 200
#define BATCH 2000

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

/* The time of a launch in us, behind some that are not timed: another process has had the GPU. */
static double batch(void)
{
	double from;

	for (int i = 0; i < WARM; i++)
		launch();
	check(cuCtxSynchronize(), "synchronize");
	from = now_ns();
	for (int i = 0; i < BATCH; i++)
		launch();
	check(cuCtxSynchronize(), "synchronize");
	return (now_ns() - from) / 1e3 / BATCH;
}

static void keep_to_one_processor(void)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_ZERO(&one);
			CPU_SET(i, &one);
		}
	sched_setaffinity(0, sizeof(one), &one);
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
	char line[16];

	if (argc != 2) {
		fprintf(stderr, "usage: mount_cost BEGUN\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	begin();
	if (result() != 1) {
		fprintf(stderr, "mount_cost: the first result is wrong\n");
		return 1;
	}
	printf("%.4f\n", (now_ns() - strtod(argv[1], NULL)) / 1e6);
	keep_to_one_processor();
	while (fgets(line, sizeof(line), stdin)) {
		printf("%.5f\n", batch());
		launched += WARM + BATCH;
	}
	if (result() != launched) {
		fprintf(stderr, "mount_cost: the last result is wrong\n");
		return 1;
	}
	puts(library());
	return 0;
}
