/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A driver for test_fatbin_program: one device of compute capability 7.5 that
 * writes every container it is given to $FATBIN_DRIVER_OUT.1, .2 and so on,
 * and says yes; or, with FATBIN_DRIVER_REFUSE, no to every transformed one.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/driver/cuda.h"
#include "device/fatbin/fatbin.h"
#include "device/ptx/transform.h"

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
				   void **jit_values, unsigned int njit,
				   CUlibraryOption *options, void **values, unsigned int n)
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
	if (getenv("FATBIN_DRIVER_REFUSE") &&
	    memmem(image.data, image.len, PTX_PERSISTENT_SUFFIX, strlen(PTX_PERSISTENT_SUFFIX)))
		return CUDA_ERROR_INVALID_PTX;
	*library = (CUlibrary)(uintptr_t)(0x100 * loads);
	return CUDA_SUCCESS;
}

VISIBLE CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	static uintptr_t given = 0x10000;

	(void)library;
	printf("driver: %s\n", name);
	*kernel = (CUkernel)(given += 0x10);
	return CUDA_SUCCESS;
}
