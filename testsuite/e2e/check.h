/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For a test program of one file: a driver call that fails ends it, a wrong result is counted. */
#ifndef TESTSUITE_E2E_CHECK_H
#define TESTSUITE_E2E_CHECK_H

#include <cuda.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int failures;

#define CHECK(call) check(call, #call, __LINE__)
static void check(CUresult rc, const char *call, int line)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, __BASE_FILE__ ":%d: %s: %d\n", line, call, (int)rc);
	exit(1);
}

static void expect(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "NOT OK: %s\n", what);
	failures++;
}

/* The first GPU's primary context becomes current, and the PTX its module; its kernel of that name.
 */
static inline CUfunction start_with(const char *ptx, const char *name, CUmodule *module)
{
	CUfunction kernel;
	CUdevice device;
	CUcontext ctx;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, device));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoadData(module, ptx));
	CHECK(cuModuleGetFunction(&kernel, *module, name));
	return kernel;
}

#endif
