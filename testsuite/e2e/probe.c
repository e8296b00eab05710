/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe RESERVATION_MB: what a program sees of its memory reservation.
 * Prints one line per fact; exit status 1 when one is not as it must be.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>

static int failures;

static void expect(int ok, const char *what, long long got)
{
	printf("%s: %s (%lld)\n", ok ? "ok" : "NOT OK", what, got);
	failures += !ok;
}

int main(int argc, char **argv)
{
	size_t reservation = (size_t)(argc > 1 ? atol(argv[1]) : 0) << 20, free_bytes, total;
	CUdeviceptr a, b;
	CUdevice device;
	CUcontext ctx;
	CUresult rc;

	expect(cuInit(0) == CUDA_SUCCESS, "cuInit", 0);
	expect(cuDeviceGet(&device, 0) == CUDA_SUCCESS, "cuDeviceGet", 0);
	expect(cuDevicePrimaryCtxRetain(&ctx, device) == CUDA_SUCCESS, "context", 0);
	expect(cuCtxSetCurrent(ctx) == CUDA_SUCCESS, "cuCtxSetCurrent", 0);
	expect(cuDeviceTotalMem(&total, device) == CUDA_SUCCESS && total == reservation,
	       "cuDeviceTotalMem is the reservation", (long long)total);
	rc = cuMemAlloc(&a, reservation / 2);
	expect(rc == CUDA_SUCCESS, "half of it can be had", rc);
	rc = cuMemAlloc(&b, reservation / 2 + (1 << 20));
	expect(rc == CUDA_ERROR_OUT_OF_MEMORY, "more than the rest is refused", rc);
	rc = cuMemGetInfo(&free_bytes, &total);
	expect(rc == CUDA_SUCCESS && total == reservation && free_bytes == reservation / 2,
	       "cuMemGetInfo agrees", (long long)free_bytes);
	rc = cuMemAlloc(&b, reservation / 2);
	expect(rc == CUDA_SUCCESS, "exactly the rest can be had", rc);
	rc = cuMemFree(a);
	expect(rc == CUDA_SUCCESS, "it can be given back", rc);
	rc = cuMemAlloc(&a, reservation / 2);
	expect(rc == CUDA_SUCCESS, "and had again", rc);
	return failures != 0;
}
