/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launches by other calls than cuLaunchKernel: those of CUDA 2 and 3, whose block dimensions and
 * parameters the driver keeps with the function (cuFuncSetBlockShape, cuParamSet*), and the one on
 * several devices. They go out as written, between two markers.
 */
#define _GNU_SOURCE
#include "device/shim/context/context.h"
#include "device/shim/launch/request.h"
#include "device/shim/base/wraps.h"

static CUresult by_launch(const struct shim_request *r)
{
	return REAL(cuLaunch)(r->f);
}

SHIM_EXPORT CUresult cuLaunch(CUfunction f)
{
	struct shim_request r = { .f = f, .grid = { 1, 1, 1 }, .as_written = by_launch };

	return shim_launch(&r);
}

/* The grid is given as int; the driver refuses a value that is not positive. */
static unsigned int blocks(int n)
{
	return n > 0 ? (unsigned int)n : 0;
}

static CUresult by_grid(const struct shim_request *r)
{
	return REAL(cuLaunchGrid)(r->f, (int)r->grid[0], (int)r->grid[1]);
}

SHIM_EXPORT CUresult cuLaunchGrid(CUfunction f, int width, int height)
{
	struct shim_request r = { .f = f,
				  .grid = { blocks(width), blocks(height), 1 },
				  .as_written = by_grid };

	return shim_launch(&r);
}

static CUresult by_grid_async(const struct shim_request *r)
{
	return REAL(cuLaunchGridAsync)(r->f, (int)r->grid[0], (int)r->grid[1], r->stream);
}

SHIM_EXPORT CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
	struct shim_request r = {
		.f = f,
		.grid = { blocks(width), blocks(height), 1 },
		.stream = stream,
		.as_written = by_grid_async,
	};

	return shim_launch(&r);
}

struct on_devices {
	CUDA_LAUNCH_PARAMS *list;
	unsigned int n, flags;
};

static CUresult by_list(const struct shim_request *r)
{
	const struct on_devices *on = r->own;

	return REAL(cuLaunchCooperativeKernelMultiDevice)(on->list, on->n, on->flags);
}

/*
 * One launch, in the stream and the context of the first device. Its markers stand for all devices,
 * since their kernels begin together and synchronise with each other. A job has one GPU, so mostly
 * there is only one device.
 */
SHIM_EXPORT CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int n,
							  unsigned int flags)
{
	struct on_devices on = { list, n, flags };
	struct shim_request r = { .own = &on, .cooperative = 1, .as_written = by_list };
	CUcontext ctx = NULL;
	CUresult rc;

	/* Without a list or a stream the call is wrong, and the driver returns the right error. */
	if (!shim_session() || !list || !n ||
	    REAL(cuStreamGetCtx)(list->hStream, &ctx) != CUDA_SUCCESS ||
	    REAL(cuCtxPushCurrent_v2)(ctx) != CUDA_SUCCESS)
		return by_list(&r);
	shim_context_changes();
	r.f = list->function;
	r.grid[0] = list->gridDimX;
	r.grid[1] = list->gridDimY;
	r.grid[2] = list->gridDimZ;
	r.block[0] = list->blockDimX;
	r.block[1] = list->blockDimY;
	r.block[2] = list->blockDimZ;
	r.shared = list->sharedMemBytes;
	r.stream = list->hStream;
	rc = shim_launch(&r);
	REAL(cuCtxPopCurrent_v2)(&ctx);
	shim_context_changes();
	return rc;
}
