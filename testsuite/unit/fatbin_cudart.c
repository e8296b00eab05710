/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `fatbin_cudart LIBRARY`: loads a library that nvcc compiled and does what
 * cudart does for it: its constructors hand over the wrappers of its
 * containers, which go to the driver as they are, and its kernels are asked
 * for by name and set up; with FATBIN_OWN, what is the program's own.  nvcc's host code needs the
 * functions below.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/driver/cuda.h"

#define WRAPPER 24 /* bytes: magic, version, two pointers */
#define VISIBLE __attribute__((visibility("default")))

static void *driver;

static void *function(const char *name)
{
	void *f = dlsym(driver, name);

	if (!f) {
		fprintf(stderr, "the driver lacks %s\n", name);
		exit(1);
	}
	return f;
}

void **__cudaRegisterFatBinary(void *wrapper);
VISIBLE void **__cudaRegisterFatBinary(void *wrapper)
{
	__typeof__(&cuLibraryLoadData) load;
	CUlibrary *library = calloc(1, sizeof(*library));
	void *own = NULL;
	CUresult rc;

	load = (__typeof__(load))function("cuLibraryLoadData");
	if (getenv("FATBIN_OWN")) { /* as if the program had put it together: it lies in no library
				     */
		own = malloc(WRAPPER);
		if (!own)
			abort();
		wrapper = memcpy(own, wrapper, WRAPPER);
	}
	rc = load(library, wrapper, NULL, NULL, 0, NULL, NULL, 0);
	free(own);
	printf("load: %d\n", (int)rc);
	return (void **)library;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int limit, void *tid, void *bid, void *block, void *grid, int *warp);
VISIBLE void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
				    int limit, void *tid, void *bid, void *block, void *grid,
				    int *warp)
{
	__typeof__(&cuLibraryGetKernel) get;
	__typeof__(&cuKernelSetAttribute) set_of_kernel;
	__typeof__(&cuKernelGetFunction) get_function;
	__typeof__(&cuFuncSetAttribute) set_of_function;
	CUkernel kernel;
	CUfunction f;
	CUresult rc;

	(void)host, (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid;
	(void)warp;
	get = (__typeof__(get))function("cuLibraryGetKernel");
	set_of_kernel = (__typeof__(set_of_kernel))function("cuKernelSetAttribute");
	get_function = (__typeof__(get_function))function("cuKernelGetFunction");
	set_of_function = (__typeof__(set_of_function))function("cuFuncSetAttribute");
	rc = get(&kernel, *(CUlibrary *)handle, name);
	if (rc == CUDA_SUCCESS)
		rc = set_of_kernel(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000, kernel,
				   0);
	if (rc == CUDA_SUCCESS)
		rc = get_function(&f, kernel);
	if (rc == CUDA_SUCCESS)
		rc = set_of_function(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2000);
	printf("kernel %s: %d\n", name, (int)rc);
}

/* What a program that launches nothing only has to find. */
#define UNUSED(name) \
	void name(void); \
	VISIBLE void name(void) \
	{ \
	}
UNUSED(__cudaRegisterVar)
UNUSED(__cudaRegisterFatBinaryEnd)
UNUSED(__cudaUnregisterFatBinary)
UNUSED(__cudaInitModule)
UNUSED(__cudaGetKernel)
UNUSED(__cudaLaunchKernel)
UNUSED(__cudaPopCallConfiguration)
UNUSED(__cxa_guard_acquire)
UNUSED(__cxa_guard_release)
UNUSED(__cxa_guard_abort)
UNUSED(__gxx_personality_v0)

int main(int argc, char **argv)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (argc != 2 || !driver || !dlopen(argv[1], RTLD_NOW)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return 0;
}
