/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver for test_fatbin_program: one device of compute capability 7.5 that
 * writes every container it is given to $FATBIN_DRIVER_OUT.1, .2 and so on,
 * and says yes.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/driver/cuda.h"
#include "device/fatbin/fatbin.h"

#define VISIBLE __attribute__((visibility("default")))

static int loads;

VISIBLE CUresult cuInit(unsigned int flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

VISIBLE CUresult cuDeviceGetCount(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

VISIBLE CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 7 : 5;
	return CUDA_SUCCESS;
}

static void record(struct gs_bytes image)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s.%d", getenv("FATBIN_DRIVER_OUT"), loads);
	f = fopen(path, "wb");
	if (!f || fwrite(image.data, 1, image.len, f) != image.len || fclose(f) != 0)
		abort();
}

VISIBLE CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
				   void **jit_values, unsigned int njit, CUlibraryOption *options,
				   void **values, unsigned int n)
{
	struct gs_bytes image;
	int linked;

	(void)jit, (void)jit_values, (void)njit, (void)options, (void)values, (void)n;
	switch (gs_image_in_memory(code, &image, &linked)) {
	case GS_IMAGE_FATBIN:
	case GS_IMAGE_WRAPPER:
		break;
	default:
		return CUDA_ERROR_INVALID_IMAGE;
	}
	loads++;
	record(image);
	*library = (CUlibrary)(uintptr_t)(0x100 * loads);
	return CUDA_SUCCESS;
}

/* Kernels and functions are told apart, as the real driver does. */
#define KERNELS_MAX 64
static struct {
	char name[64];
} kernels[KERNELS_MAX];
static int nkernel;

static int number_of(CUkernel kernel)
{
	uintptr_t n = ((uintptr_t)kernel - 0x10000) / 0x10;

	if ((uintptr_t)kernel < 0x10000 || n >= (uintptr_t)nkernel) {
		printf("driver: %p is no kernel of a library\n", (void *)kernel);
		abort();
	}
	return (int)n;
}

VISIBLE CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	(void)library;
	if (nkernel == KERNELS_MAX)
		abort();
	printf("driver: kernel %s\n", name);
	snprintf(kernels[nkernel].name, sizeof(kernels[nkernel].name), "%s", name);
	*kernel = (CUkernel)(uintptr_t)(0x10000 + 0x10 * nkernel++);
	return CUDA_SUCCESS;
}

VISIBLE CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
				      CUdevice device)
{
	(void)device;
	printf("driver: attribute %d of %s is %d\n", (int)attribute,
	       kernels[number_of(kernel)].name, value);
	return CUDA_SUCCESS;
}

VISIBLE CUresult cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
	printf("driver: function of %s\n", kernels[number_of(kernel)].name);
	*f = (CUfunction)(uintptr_t)(0x20000 + 0x10 * number_of(kernel));
	return CUDA_SUCCESS;
}

VISIBLE CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	uintptr_t n = ((uintptr_t)f - 0x20000) / 0x10;

	if ((uintptr_t)f < 0x20000 || n >= (uintptr_t)nkernel) {
		printf("driver: %p is no function\n", (void *)f);
		abort();
	}
	printf("driver: function's attribute %d of %s is %d\n", (int)attribute, kernels[n].name,
	       value);
	return CUDA_SUCCESS;
}

/* What the program has are libraries: their handles are no modules. */
VISIBLE CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	(void)f;
	printf("driver: %s asked of %p, which is no module\n", name, (void *)module);
	abort();
}
