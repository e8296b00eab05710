/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the driver: libcuda.so.1 as the dynamic linker sees it, opened at the first call that
 * needs it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "device/cudart/rt.h"

static const char *const names[RT_FN_COUNT] = {
#define DRIVER(name) #name,
#include "device/cudart/driver.def"
#undef DRIVER
};
static void *fn[RT_FN_COUNT];
static pthread_once_t opened = PTHREAD_ONCE_INIT;
static cudaError_t state;

static CUresult not_there(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void open_driver(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < RT_FN_COUNT; i++) {
		fn[i] = handle ? dlsym(handle, names[i]) : NULL;
		if (!fn[i])
			fn[i] = (void *)(uintptr_t)not_there;
	}
	state = handle ? rt_error(((__typeof__(&cuInit))fn[RT_FN_cuInit])(0)) :
			 cudaErrorInsufficientDriver;
	if (state == cudaErrorStubLibrary)
		state = cudaErrorInsufficientDriver;
}

void *rt_driver(enum rt_fn i)
{
	pthread_once(&opened, open_driver);
	return fn[i];
}

cudaError_t rt_init(void)
{
	pthread_once(&opened, open_driver);
	return state;
}
