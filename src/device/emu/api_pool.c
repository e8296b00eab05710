/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream-ordered allocation and its pools.  The memory is there at once, which
 * is earlier than promised, and goes back to the device when it is freed: a
 * pool counts, it keeps nothing.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

#define MAGIC 0x6c6f6f70u

struct CUmemPoolHandle_st {
	uint32_t magic;
	CUmemPoolProps props;
	int reuse[4]; /* by attribute; kept, without effect */
	uint64_t threshold, used, high;
};

/* What was allocated from a pool and not freed yet. */
struct pooled {
	struct pooled *next;
	uint64_t ptr, size;
	struct CUmemPoolHandle_st *pool;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct CUmemPoolHandle_st default_pool = { .magic = MAGIC, .reuse = { 0, 1, 1, 1 } };
static struct CUmemPoolHandle_st *current = &default_pool;
static struct pooled *all;

static CUresult check(const struct CUmemPoolHandle_st *p)
{
	EMU_TRY(emu_enter_plain());
	return p && p->magic == MAGIC ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_device(CUdevice dev)
{
	EMU_TRY(emu_enter_plain());
	return dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

void emu_pool_freed(uint64_t ptr)
{
	struct pooled *gone = NULL;

	pthread_mutex_lock(&mutex);
	for (struct pooled **p = &all; *p; p = &(*p)->next) {
		if ((*p)->ptr != ptr)
			continue;
		gone = *p;
		*p = gone->next;
		gone->pool->used -= gone->size;
		break;
	}
	pthread_mutex_unlock(&mutex);
	free(gone);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
					 CUstream stream)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct pooled *p;
	uint64_t at;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	EMU_TRY(check(pool));
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu_capturing(s))
		return CUDA_ERROR_NOT_SUPPORTED; /* a graph's own memory */
	p = malloc(sizeof(*p));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->pool = pool;
	p->size = (bytes + 511) & ~511ull;
	pthread_mutex_lock(&mutex);
	if (pool->props.maxSize &&
	    (p->size > pool->props.maxSize || pool->used > pool->props.maxSize - p->size)) {
		pthread_mutex_unlock(&mutex);
		free(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	pool->used += p->size;
	pthread_mutex_unlock(&mutex);
	if (emu_alloc(NULL, &at, bytes, EMU_MEM_DEVICE, 0) != CUDA_SUCCESS) {
		pthread_mutex_lock(&mutex);
		pool->used -= p->size;
		pthread_mutex_unlock(&mutex);
		free(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->ptr = at;
	pthread_mutex_lock(&mutex);
	if (pool->used > pool->high)
		pool->high = pool->used;
	p->next = all;
	all = p;
	pthread_mutex_unlock(&mutex);
	*ptr = at;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	return cuMemAllocFromPoolAsync(ptr, bytes, current, stream);
}

static CUresult free_task(struct CUctx_st *ctx, struct emu_task *t)
{
	emu_pool_freed(t->a);
	return emu_free(ctx, t->a, EMU_KINDS_DEVICE);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_range r;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (!ptr || emu_mem_find(emu.mem, ptr, 1, &r) || r.base != ptr ||
	    !(EMU_KINDS_DEVICE & 1u << r.kind))
		return CUDA_ERROR_INVALID_VALUE;
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = free_task;
	t->node = CU_GRAPH_NODE_TYPE_MEM_FREE;
	t->a = ptr;
	return emu_stream_enqueue(s, t, NULL);
}

EMU_GET(cuDeviceGetDefaultMemPool, (CUmemoryPool * pool, CUdevice dev), check_device(dev), pool,
	&default_pool);
EMU_GET(cuDeviceGetMemPool, (CUmemoryPool * pool, CUdevice dev), check_device(dev), pool, current);

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	EMU_TRY(check_device(dev));
	EMU_TRY(check(pool));
	current = pool;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	struct CUmemPoolHandle_st *p;

	EMU_TRY(emu_enter_plain());
	if (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || props->location.id)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->handleTypes)
		return CUDA_ERROR_NOT_SUPPORTED;
	p = malloc(sizeof(*p));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*p = (struct CUmemPoolHandle_st) { .magic = MAGIC,
					   .props = *props,
					   .reuse = { 0, 1, 1, 1 } };
	*pool = p;
	return CUDA_SUCCESS;
}

/* What is still allocated from the pool stays valid, so the pool is only forgotten, not freed. */
CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
	EMU_TRY(check(pool));
	if (pool == &default_pool)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mutex);
	pool->magic = 0;
	if (current == pool)
		current = &default_pool;
	if (pool->used == 0)
		free(pool);
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute a, void *value)
{
	EMU_TRY(check(pool));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (a) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		pool->reuse[a] = *(const int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		pool->threshold = *(const uint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(const uint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		pthread_mutex_lock(&mutex);
		pool->high = pool->used;
		pthread_mutex_unlock(&mutex);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute a, void *value)
{
	EMU_TRY(check(pool));
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (a) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = pool->reuse[a];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(uint64_t *)value = pool->threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(uint64_t *)value = pool->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(uint64_t *)value = pool->high;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	(void)keep;
	return check(pool);
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n)
{
	EMU_TRY(check(pool));
	for (size_t i = 0; i < n; i++)
		if (!map || map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    map[i].location.id)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				    CUmemLocation *location)
{
	EMU_TRY(check(pool));
	if (!flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = location->type == CU_MEM_LOCATION_TYPE_DEVICE && !location->id ?
			 CU_MEM_ACCESS_FLAGS_PROT_READWRITE :
			 CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}

/* ---- hints: host and device share their memory here, so there is nothing to move ---- */

static CUresult managed(CUdeviceptr ptr, size_t bytes)
{
	struct CUctx_st *ctx;
	struct emu_range r;

	EMU_TRY(emu_enter(&ctx));
	if (!bytes || emu_mem_find(emu.mem, ptr, bytes, &r) || r.kind != EMU_MEM_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation location,
				       unsigned int flags, CUstream stream)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;

	(void)location;
	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	return flags ? CUDA_ERROR_INVALID_VALUE : managed(ptr, bytes);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, int advice, CUmemLocation location)
{
	(void)advice;
	(void)location;
	return managed(ptr, bytes);
}

CUresult CUDAAPI cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t bytes,
					unsigned int flags)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_range r;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
	    flags != CU_MEM_ATTACH_SINGLE)
		return CUDA_ERROR_INVALID_VALUE;
	return emu_mem_find(emu.mem, ptr, bytes ? bytes : 1, &r) ? CUDA_ERROR_INVALID_VALUE :
								   CUDA_SUCCESS;
}
