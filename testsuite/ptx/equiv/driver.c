/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding the driver's calls; see driver.h. */
#define _GNU_SOURCE
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

void driver_check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "FAIL: %s: CUDA error %d\n", what, result);
	exit(1);
}

void driver_open(struct driver *d, const char *path)
{
	const struct {
		const char *name;
		void *slot;
	} calls[] = {
		{ "cuInit", &d->init },
		{ "cuDeviceGet", &d->device_get },
		{ "cuDeviceGetAttribute", &d->device_attribute },
		{ "cuDevicePrimaryCtxRetain", &d->ctx_retain },
		{ "cuCtxSetCurrent", &d->ctx_set },
		{ "cuCtxSynchronize", &d->ctx_sync },
		{ "cuModuleLoadData", &d->module_load },
		{ "cuModuleUnload", &d->module_unload },
		{ "cuModuleGetFunction", &d->module_function },
		{ "cuModuleGetGlobal_v2", &d->module_global },
		{ "cuMemAlloc_v2", &d->mem_alloc },
		{ "cuMemFree_v2", &d->mem_free },
		{ "cuMemHostAlloc", &d->host_alloc },
		{ "cuMemHostGetDevicePointer_v2", &d->host_device },
		{ "cuMemFreeHost", &d->host_free },
		{ "cuMemcpyHtoD_v2", &d->to_device },
		{ "cuMemcpyDtoH_v2", &d->to_host },
		{ "cuMemcpyDtoHAsync_v2", &d->to_host_async },
		{ "cuStreamCreate", &d->stream_create },
		{ "cuStreamSynchronize", &d->stream_sync },
		{ "cuStreamWaitValue32_v2", &d->stream_wait },
		{ "cuTexObjectCreate", &d->tex_create },
		{ "cuTexObjectDestroy", &d->tex_destroy },
		{ "cuSurfObjectCreate", &d->surf_create },
		{ "cuSurfObjectDestroy", &d->surf_destroy },
		{ "cuArray3DCreate_v2", &d->array_create },
		{ "cuArrayDestroy", &d->array_destroy },
		{ "cuMemcpy2D_v2", &d->copy_2d },
		{ "cuMemcpy2DAsync_v2", &d->copy_2d_async },
		{ "cuLaunchKernel", &d->launch },
		{ "cuOccupancyMaxActiveBlocksPerMultiprocessor", &d->occupancy },
	};
	void *lib, *ctx;
	int device, sms;

	/* a first launch beside a held stream must not load anything */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	lib = dlopen(path, RTLD_NOW);
	if (!lib) {
		fprintf(stderr, "SKIP: %s\n", dlerror());
		exit(77);
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		*(void **)calls[i].slot = dlsym(lib, calls[i].name);
		if (!*(void **)calls[i].slot) {
			fprintf(stderr, "FAIL: %s has no %s\n", path, calls[i].name);
			exit(1);
		}
	}
	DO(d->init(0));
	DO(d->device_get(&device, 0));
	DO(d->device_attribute(&sms, 16 /* multiprocessors */, device));
	d->sms = (unsigned)sms;
	DO(d->ctx_retain(&ctx, device));
	DO(d->ctx_set(ctx));
}
