/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contexts SEED COST FILE: makes and ends contexts at random, its device's primary one too, with
 * memory in them, and keeps account of what that takes where each context is charged with COST
 * bytes; now and then there is no room for one more. Then writes "has BYTES", waits until FILE is
 * gone, and ends all of them (row G5 of the campaign).
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../e2e/check.h"

#define MOST 16
#define OPERATIONS 200
#define PIECE 65536u

struct context {
	CUcontext handle;
	size_t bytes; /* of memory in it */
};

static CUdevice device;
static CUcontext base; /* there all the time, so that the driver can be asked */
static struct context made[MOST], primary;
static unsigned retained, seed;
static size_t cost, total, has;
static long refused;

static void compare(const char *after)
{
	size_t left;

	CHECK(cuCtxSetCurrent(base));
	CHECK(cuMemGetInfo(&left, &total));
	if (total - left == has)
		return;
	printf("contexts: after %s it has %zu bytes, and is charged with %zu\n", after, has,
	       total - left);
	exit(1);
}

/* Is there room for so many bytes, and is that the driver's answer? */
static int granted(CUresult rc, size_t bytes, const char *what)
{
	int fits = bytes <= total - has;

	if (rc != (fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY)) {
		printf("contexts: %s with %zu of %zu bytes taken: error %d\n", what, has, total,
		       (int)rc);
		exit(1);
	}
	if (fits)
		has += bytes;
	else
		refused++;
	return fits;
}

static void allocate_in(struct context *c)
{
	size_t bytes = (size_t)rand_r(&seed) % PIECE + 1;
	CUdeviceptr p;

	CHECK(cuCtxSetCurrent(c->handle));
	if (granted(cuMemAlloc(&p, bytes), bytes, "an allocation"))
		c->bytes += bytes;
	compare("an allocation");
}

static void make(struct context *c)
{
	CUcontext current;

	if (granted(cuCtxCreate(&c->handle, NULL, 0, device), cost, "cuCtxCreate"))
		CHECK(cuCtxPopCurrent(&current)); /* the stack of them is short */
	else
		c->handle = NULL;
	compare("cuCtxCreate");
}

/* All that was in it goes with it. */
static void gone(struct context *c, const char *how)
{
	has -= cost + c->bytes;
	*c = (struct context) { NULL, 0 };
	compare(how);
}

static void end(struct context *c)
{
	CHECK(cuCtxDestroy(c->handle));
	gone(c, "cuCtxDestroy");
}

static void retain(void)
{
	CUresult rc = cuDevicePrimaryCtxRetain(&primary.handle, device);

	if (!retained && !granted(rc, cost, "cuDevicePrimaryCtxRetain"))
		return;
	CHECK(rc);
	retained++;
	compare("cuDevicePrimaryCtxRetain");
}

static void release(void)
{
	CHECK(cuDevicePrimaryCtxRelease(device));
	if (--retained)
		compare("a release that is not the last");
	else
		gone(&primary, "the last cuDevicePrimaryCtxRelease");
}

static void reset(void)
{
	CHECK(cuDevicePrimaryCtxReset(device));
	retained = 0;
	gone(&primary, "cuDevicePrimaryCtxReset");
}

static void something(void)
{
	struct context *c = &made[(unsigned)rand_r(&seed) % MOST];

	switch (rand_r(&seed) % 16) {
	case 0:
	case 1:
		retain();
		break;
	case 2:
		if (retained)
			release();
		break;
	case 3:
		if (retained && rand_r(&seed) % 4 == 0)
			reset();
		break;
	case 4:
		if (retained)
			allocate_in(&primary);
		break;
	default:
		if (!c->handle)
			make(c);
		else if (rand_r(&seed) % 2)
			end(c);
		else
			allocate_in(c);
		break;
	}
}

int main(int argc, char **argv)
{
	size_t left;

	if (argc != 4)
		return 2;
	seed = (unsigned)atoi(argv[1]);
	cost = (size_t)atol(argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuCtxCreate(&base, NULL, 0, device));
	CHECK(cuMemGetInfo(&left, &total));
	has = cost;
	compare("the first cuCtxCreate");
	for (int i = 0; i < OPERATIONS; i++)
		something();
	printf("has %zu refused %ld\n", has, refused);
	while (access(argv[3], F_OK) == 0)
		usleep(2000);
	for (struct context *c = made; c < made + MOST; c++)
		if (c->handle)
			end(c);
	while (retained)
		release();
	expect(has == cost, "all but the first context is back");
	puts("contexts: right");
	return failures != 0;
}
