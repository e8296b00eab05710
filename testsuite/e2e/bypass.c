/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bypass MIB [LIBRARY]: which CUDA driver has a program, linked with it or (LIBRARY) opening it?
 *
 * Prints one line: the device's memory as the program sees it, whether it gets MIB of it at once,
 * its own number, and the library's file, then waits for standard input to end.  Exit status 1: no
 * device.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda.h"

static void *library = RTLD_DEFAULT;

static void *function(const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		fprintf(stderr, "bypass: no %s: %s\n", name, dlerror());
		exit(1);
	}
	return p;
}

/* With the version that cuda.h makes of the name. */
#define TEXT(name) #name
#define CALL(name, ...) ((__typeof__(&name))function(TEXT(name)))(__VA_ARGS__)

static void check(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	printf("%s=%d\n", what, (int)rc);
	exit(1);
}

int main(int argc, char **argv)
{
	size_t total = 0, bytes = (size_t)(argc > 1 ? atol(argv[1]) : 0) << 20;
	CUdeviceptr piece;
	CUdevice device;
	CUcontext ctx;
	Dl_info info;
	CUresult got;

	if (argc > 2)
		library = dlopen(argv[2], RTLD_NOW);
	if (!library && argc > 2) {
		printf("open=%s\n", dlerror());
		return 1;
	}
	check(CALL(cuInit, 0), "init");
	check(CALL(cuDeviceGet, &device, 0), "device");
	check(CALL(cuDevicePrimaryCtxRetain, &ctx, device), "context");
	check(CALL(cuCtxSetCurrent, ctx), "current");
	check(CALL(cuDeviceTotalMem, &total, device), "memory");
	got = CALL(cuMemAlloc, &piece, bytes);
	if (!dladdr(function("cuInit"), &info))
		info.dli_fname = "?";
	printf("total=%zu alloc=%s pid=%d library=%s\n", total >> 20,
	       got == CUDA_SUCCESS             ? "granted" :
	       got == CUDA_ERROR_OUT_OF_MEMORY ? "refused" :
						 "failed",
	       (int)getpid(), info.dli_fname);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
