/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting copies; see count.h. */
#define _GNU_SOURCE
#include "device/shim/copy/count.h"

#include "common/clock.h"
#include "device/shim/session/session.h"

/* The driver is asked about addresses of copies of so many bytes: these take longer than the
 * answer by far. */
#define QUERY_BYTES (UINT64_C(64) << 10)

static int is_host(CUdeviceptr p)
{
	unsigned int type = 0;

	/* Of pageable memory it knows nothing. */
	return REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) !=
		       CUDA_SUCCESS ||
	       type == CU_MEMORYTYPE_HOST;
}

static enum gs_copy_direction way(int from_host, int to_host)
{
	return from_host == to_host ? GS_COPY_OTHER : to_host ? GS_COPY_TO_HOST : GS_COPY_TO_DEVICE;
}

enum gs_copy_direction shim_copy_between(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return bytes < QUERY_BYTES ? GS_COPY_OTHER : way(is_host(src), is_host(dst));
}

/* An end of a copy, as it is named. */
static int is_host_end(CUmemorytype type, CUdeviceptr at, size_t bytes)
{
	return type == CU_MEMORYTYPE_HOST ||
	       (type == CU_MEMORYTYPE_UNIFIED && bytes >= QUERY_BYTES && is_host(at));
}

enum gs_copy_direction shim_copy_of_plane(const CUDA_MEMCPY2D *c)
{
	size_t bytes = shim_copy_plane_bytes(c);

	return way(is_host_end(c->srcMemoryType, c->srcDevice, bytes),
		   is_host_end(c->dstMemoryType, c->dstDevice, bytes));
}

enum gs_copy_direction shim_copy_of_box(const CUDA_MEMCPY3D *c)
{
	size_t bytes = shim_copy_box_bytes(c);

	return way(is_host_end(c->srcMemoryType, c->srcDevice, bytes),
		   is_host_end(c->dstMemoryType, c->dstDevice, bytes));
}

size_t shim_copy_plane_bytes(const CUDA_MEMCPY2D *c)
{
	return c->WidthInBytes * c->Height;
}

size_t shim_copy_box_bytes(const CUDA_MEMCPY3D *c)
{
	return c->WidthInBytes * c->Height * c->Depth;
}

void shim_copy_count(enum gs_copy_direction is, size_t bytes, uint64_t since_ns)
{
	struct shim_session *s = shim_session_peek();
	struct gs_copies_made *made;

	if (!s)
		return;
	made = &s->page->copies.made[is];
	atomic_fetch_add_explicit(&made->copies, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&made->bytes, bytes, memory_order_relaxed);
	if (since_ns)
		atomic_fetch_add_explicit(&made->host_ns, gs_clock_ns() - since_ns,
					  memory_order_relaxed);
}

void shim_copy_count_sum(const struct shim_copy_sum *sum)
{
	struct shim_session *s = shim_session_peek();

	for (int i = 0; s && i < GS_COPY_DIRECTIONS; i++) {
		struct gs_copies_made *made = &s->page->copies.made[i];

		atomic_fetch_add_explicit(&made->copies, sum->copies[i], memory_order_relaxed);
		atomic_fetch_add_explicit(&made->bytes, sum->bytes[i], memory_order_relaxed);
	}
}
