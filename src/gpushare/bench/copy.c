/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See copy.h. */
#define _GNU_SOURCE
#include "gpushare/bench/copy.h"

#include <stdlib.h>
#include <string.h>

/* Of a plane: so many bytes of each row are copied. */
#define PITCH UINT64_C(65536)
#define WIDTH (PITCH - 256)

struct bench_copier {
	const struct bench_driver *cu;
	CUstream stream;
	uint32_t kind;
	uint64_t bytes;
	void *host;
	CUdeviceptr device;
};

static uint32_t memory_of(uint32_t kind)
{
	return kind & ~(uint32_t)(BENCH_COPY_BACK | BENCH_COPY_PAST);
}

static uint64_t rows_of(uint64_t bytes)
{
	return (bytes + WIDTH - 1) / WIDTH;
}

static int release(struct bench_copier *c, struct gs_error *err)
{
	if (c->device && BENCH_CU(c->cu, err, cuMemFree, c->device) < 0)
		return -1;
	c->device = 0;
	if (memory_of(c->kind) == BENCH_COPY_PAGEABLE)
		free(c->host);
	else if (c->host && BENCH_CU(c->cu, err, cuMemFreeHost, c->host) < 0)
		return -1;
	c->host = NULL;
	return 0;
}

static int make(struct bench_copier *c, uint32_t kind, uint64_t bytes, struct gs_error *err)
{
	uint64_t room = memory_of(kind) == BENCH_COPY_PLANE ? rows_of(bytes) * PITCH : bytes;

	c->kind = kind;
	c->bytes = bytes;
	if (BENCH_CU(c->cu, err, cuMemAlloc, &c->device, room) < 0)
		return -1;
	if (memory_of(kind) == BENCH_COPY_PAGEABLE)
		c->host = malloc(room);
	else if (BENCH_CU(c->cu, err, cuMemHostAlloc, &c->host, room, 0) < 0)
		return -1;
	if (!c->host)
		return gs_fail(err, "no memory");
	memset(c->host, 1, room);
	return 0;
}

int bench_copier_room(struct bench_copier **copier, const struct bench_kernel *k, uint32_t kind,
		      uint64_t bytes, struct gs_error *err)
{
	struct bench_copier *c = *copier;

	if (!c)
		c = *copier = calloc(1, sizeof(*c));
	if (!c || !bytes)
		return gs_fail(err, c ? "copies of nothing" : "no memory");
	c->cu = k->cu;
	c->stream = k->stream;
	if (c->host && memory_of(c->kind) == memory_of(kind) && c->bytes == bytes) {
		c->kind = kind;
		return 0;
	}
	return release(c, err) < 0 ? -1 : make(c, kind, bytes, err);
}

static int copy_plane(const struct bench_copier *c, int back, struct gs_error *err)
{
	CUDA_MEMCPY2D p = { .srcMemoryType = back ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
			    .srcHost = c->host,
			    .srcDevice = c->device,
			    .srcPitch = PITCH,
			    .dstMemoryType = back ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
			    .dstHost = c->host,
			    .dstDevice = c->device,
			    .dstPitch = PITCH,
			    .WidthInBytes = c->bytes < WIDTH ? c->bytes : WIDTH,
			    .Height = rows_of(c->bytes) };

	return BENCH_CU(c->cu, err, cuMemcpy2DAsync, &p, c->stream);
}

int bench_copier_copy(const struct bench_copier *c, int back, struct gs_error *err)
{
	if (memory_of(c->kind) == BENCH_COPY_PLANE)
		return copy_plane(c, back, err);
	return back ? BENCH_CU(c->cu, err, cuMemcpyDtoHAsync, c->host, c->device, c->bytes,
			       c->stream) :
		      BENCH_CU(c->cu, err, cuMemcpyHtoDAsync, c->device, c->host, c->bytes,
			       c->stream);
}
