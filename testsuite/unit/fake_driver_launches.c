/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules, functions and launches of the recording driver. */
#define _GNU_SOURCE
#include "fake_driver_core.h"

#include <string.h>

#include "device/ptx/guard_end.h"
#include "device/ptx/transform.h"

static unsigned char params[4096];
static unsigned int grid;

const void *fake_driver_params(void)
{
	return params;
}

unsigned int fake_driver_grid(void)
{
	return grid;
}

static CUresult fake_load(CUmodule *module, const void *image, unsigned int n,
			  CUjit_option *options, void **values)
{
	int variant = strstr(image, "__gpushare_ctl") != NULL;

	(void)n, (void)options, (void)values;
	if (strcmp(image, ptx_guard_module) == 0) {
		*module = FAKE_GUARD_MODULE;
		return CUDA_SUCCESS;
	}
	if (strstr(image, "__gpushare_guard")) {
		*module = FAKE_GUARDED_MODULE;
		return fake_called("load-guarded");
	}
	*module = variant ? FAKE_VARIANTS_MODULE : FAKE_MODULE;
	return fake_called(variant ? "load-variant" : "load");
}

static CUresult fake_load_plain(CUmodule *module, const void *image)
{
	return fake_load(module, image, 0, NULL, NULL);
}

static CUresult fake_function(CUfunction *f, CUmodule module, const char *name)
{
	*f = module == FAKE_VARIANTS_MODULE     ? FAKE_VARIANT :
	     module == FAKE_GUARDED_MODULE      ? FAKE_GUARDED :
	     strcmp(name, "leaves") == 0        ? FAKE_LEAVES :
	     strcmp(name, PTX_GUARD_END) == 0   ? FAKE_END :
	     strcmp(name, PTX_GUARD_WATCH) == 0 ? FAKE_WATCH :
						  FAKE_ORIGINAL;
	return strstr(name, PTX_PERSISTENT_SUFFIX) ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

static CUresult fake_name(const char **name, CUfunction f)
{
	(void)f;
	*name = "machine_code";
	return CUDA_SUCCESS;
}

static CUfunction framed;
static int frame;

void fake_driver_frame(CUfunction f, int bytes)
{
	framed = f;
	frame = bytes;
}

static CUresult fake_function_attribute(int *value, CUfunction_attribute attribute, CUfunction f)
{
	*value = attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES && f == framed ? frame : 0;
	return CUDA_SUCCESS;
}

static unsigned int fits_own = FAKE_BLOCKS_PER_SM, fits_variant = FAKE_BLOCKS_PER_SM;
static unsigned int fit_requested;

void fake_driver_fits(unsigned int own, unsigned int variant)
{
	fits_own = own;
	fits_variant = variant;
	fit_requested = 0;
}

unsigned int fake_driver_fit_requested(void)
{
	return fit_requested;
}

static CUresult fake_occupancy(int *blocks, CUfunction f, int threads, size_t shared)
{
	(void)threads, (void)shared;
	fit_requested++;
	*blocks = (int)(f == FAKE_VARIANT ? fits_variant : fits_own);
	return CUDA_SUCCESS;
}

CUfunction fake_launched, fake_elsewhere;
CUdeviceptr fake_watched[FAKE_WATCHED];
unsigned int fake_watches;

static CUresult fake_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			    unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			    CUstream stream, void **kernel_params, void **extra)
{
	(void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
	if (fake_elsewhere && f == fake_elsewhere)
		return CUDA_ERROR_INVALID_HANDLE;
	if (f == FAKE_END)
		return fake_called_in((uintptr_t)stream == 0x20 ? "relaunch-end" : "launch-end",
				      stream);
	if (f == FAKE_WATCH)
		fake_watched[fake_watches++ % FAKE_WATCHED] = *(CUdeviceptr *)kernel_params[0];
	if (f == FAKE_WATCH)
		return fake_called_in("watch", stream);
	fake_launched = f;
	grid = gx;
	if (extra)
		memcpy(params, extra[1], *(size_t *)extra[3]);
	if (f == FAKE_GUARDED)
		return fake_called_in(
			(uintptr_t)stream == 0x20 ? "relaunch-guarded" : "launch-guarded", stream);
	if (f == FAKE_VARIANT)
		return fake_called_in(
			(uintptr_t)stream == 0x20 ? "relaunch-variant" : "launch-variant", stream);
	return fake_called_in("launch-original", stream);
}

static CUresult fake_launch_ex(const CUlaunchConfig *config, CUfunction f, void **kernel_params,
			       void **extra)
{
	fake_called(config->numAttrs == 1 ? "attribute" : "attributes");
	return fake_launch(f, config->gridDimX, config->gridDimY, config->gridDimZ,
			   config->blockDimX, config->blockDimY, config->blockDimZ,
			   config->sharedMemBytes, config->hStream, kernel_params, extra);
}

static CUresult fake_graph_launch(CUgraphExec graph, CUstream stream)
{
	(void)graph;
	return fake_called_in("launch-graph", stream);
}

static CUresult fake_launch_old(CUfunction f)
{
	(void)f;
	return fake_called("launch-old");
}

static CUresult fake_launch_grid(CUfunction f, int width, int height)
{
	(void)f;
	grid = (unsigned int)(width * height);
	return fake_called("launch-grid");
}

static CUresult fake_launch_grid_async(CUfunction f, int width, int height, CUstream stream)
{
	(void)f;
	grid = (unsigned int)(width * height);
	return fake_called_in("launch-async", stream);
}

static CUresult fake_launch_devices(CUDA_LAUNCH_PARAMS *list, unsigned int n, unsigned int flags)
{
	(void)flags;
	grid = n * list->gridDimX;
	return fake_called_in("launch-devices", list->hStream);
}

static CUresult fake_instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	(void)graph, (void)flags;
	*exec = FAKE_GRAPH;
	return CUDA_SUCCESS;
}

static int eager;

static CUresult fake_loading_mode(CUmoduleLoadingMode *mode)
{
	*mode = eager ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

void fake_driver_loads_eagerly(void)
{
	eager = 1;
}

void fake_launches_install(void)
{
	FAKE_PUT(cuModuleGetLoadingMode, fake_loading_mode);
	FAKE_PUT(cuModuleLoadDataEx, fake_load);
	FAKE_PUT(cuModuleLoadData, fake_load_plain);
	FAKE_PUT(cuModuleGetFunction, fake_function);
	FAKE_PUT(cuFuncGetName, fake_name);
	FAKE_PUT(cuFuncGetAttribute, fake_function_attribute);
	FAKE_PUT(cuOccupancyMaxActiveBlocksPerMultiprocessor, fake_occupancy);
	FAKE_PUT(cuLaunchKernel, fake_launch);
	FAKE_PUT(cuLaunchKernelEx, fake_launch_ex);
	FAKE_PUT(cuGraphLaunch, fake_graph_launch);
	FAKE_PUT(cuLaunch, fake_launch_old);
	FAKE_PUT(cuLaunchGrid, fake_launch_grid);
	FAKE_PUT(cuLaunchGridAsync, fake_launch_grid_async);
	FAKE_PUT(cuLaunchCooperativeKernelMultiDevice, fake_launch_devices);
	FAKE_PUT(cuGraphInstantiateWithFlags, fake_instantiate);
}
