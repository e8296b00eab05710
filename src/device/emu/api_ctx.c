/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts: the thread's stack of them, the primary one, limits. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/checkpoint_wait.h"
#include "device/emu/emu.h"

#define STACK 64
static __thread struct CUctx_st *stack[STACK];
static __thread uint64_t stack_id[STACK]; /* another context may have been given the handle of one
					   * that was destroyed */
static __thread int depth;

CUresult emu_enter_plain(void)
{
	return emu.ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult emu_enter_any(struct CUctx_st **ctx)
{
	EMU_TRY(emu_enter_plain());
	emu_checkpoint_barrier();
	if (!depth || !stack[depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	if (stack[depth - 1]->magic != EMU_MAGIC_CTX || stack[depth - 1]->id != stack_id[depth - 1])
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ctx = stack[depth - 1];
	return CUDA_SUCCESS;
}

CUresult emu_enter(struct CUctx_st **ctx)
{
	EMU_TRY(emu_enter_any(ctx));
	return atomic_load(&(*ctx)->error);
}

static struct CUctx_st *create(unsigned int flags)
{
	struct CUctx_st *ctx =
		emu_handle_take(EMU_H_CTX, sizeof(*ctx), offsetof(struct CUctx_st, next));

	if (!ctx)
		return NULL;
	if (!ctx->kept) {
		pthread_mutex_init(&ctx->mutex, NULL);
		pthread_cond_init(&ctx->changed, NULL);
		ctx->kept = 1;
	}
	ctx->flags = flags;
	ctx->id = atomic_fetch_add(&emu.next_id, 1) + 1;
	ctx->limit[CU_LIMIT_STACK_SIZE] = 1024;
	ctx->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	ctx->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	emu_channels_init(&ctx->channels);
	ctx->legacy = emu_stream_create(ctx, CU_STREAM_DEFAULT, 0);
	if (!ctx->legacy) {
		emu_handle_put(EMU_H_CTX, ctx);
		return NULL;
	}
	ctx->magic = EMU_MAGIC_CTX;
	return ctx;
}

/* Wait for its work, free everything in it, and let the next context have its handle. */
static void destroy(struct CUctx_st *ctx)
{
	emu_ctx_wait(ctx);
	ctx->magic = EMU_MAGIC_GONE;
	emu_captures_end(ctx);
	emu_streams_end(ctx);
	while (ctx->modules) {
		struct CUmod_st *m = ctx->modules;

		ctx->modules = m->next;
		emu_module_free(m);
	}
	emu_free_of(ctx->id);
	emu_handle_put(EMU_H_CTX, ctx);
}

static int is_context(const struct CUctx_st *ctx)
{
	return emu_handle_is(ctx, EMU_MAGIC_CTX, "a context");
}

static void put_on(int at, struct CUctx_st *ctx)
{
	stack[at] = ctx;
	stack_id[at] = ctx ? ctx->id : 0;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	CUresult rc = CUDA_SUCCESS;

	EMU_TRY(emu_enter_plain());
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&emu.mutex);
	if (!emu.primary) {
		emu.primary = create(emu.primary_flags);
		if (emu.primary)
			emu.primary->is_primary = 1;
	}
	if (emu.primary)
		emu.primary_refs++;
	else
		rc = CUDA_ERROR_OUT_OF_MEMORY;
	*ctx = emu.primary;
	pthread_mutex_unlock(&emu.mutex);
	return rc;
}

static CUresult release(CUdevice dev, int all)
{
	struct CUctx_st *gone = NULL;

	EMU_TRY(emu_enter_plain());
	if (dev)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&emu.mutex);
	if (!emu.primary && !all) {
		pthread_mutex_unlock(&emu.mutex);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	if (all)
		emu.primary_refs = 0;
	else if (emu.primary_refs)
		emu.primary_refs--;
	if (emu.primary && !emu.primary_refs) {
		gone = emu.primary;
		emu.primary = NULL;
	}
	pthread_mutex_unlock(&emu.mutex);
	if (gone)
		destroy(gone);
	return CUDA_SUCCESS;
}

#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return release(dev, 0);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	return release(dev, 0);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev)
{
	return release(dev, 1);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	return release(dev, 1);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	EMU_TRY(emu_enter_plain());
	if (dev)
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags)
		*flags = emu.primary_flags;
	if (active)
		*active = emu.primary != NULL;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	EMU_TRY(emu_enter_plain());
	if (dev)
		return CUDA_ERROR_INVALID_DEVICE;
	emu.primary_flags = flags;
	return CUDA_SUCCESS;
}

EMU_ALIAS(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags);

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice dev)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter_plain());
	if (!out || (flags & ~(unsigned int)CU_CTX_FLAGS_MASK))
		return CUDA_ERROR_INVALID_VALUE;
	if (dev)
		return CUDA_ERROR_INVALID_DEVICE;
	if (depth == STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx = create(flags);
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&emu.mutex);
	ctx->next = emu.contexts;
	emu.contexts = ctx;
	pthread_mutex_unlock(&emu.mutex);
	put_on(depth++, ctx);
	*out = ctx;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *params, int n,
				unsigned int flags, CUdevice dev)
{
	(void)params;
	return n ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : cuCtxCreate_v2(out, flags, dev);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned int flags,
				CUdevice dev)
{
	return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(out, flags, dev);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
	EMU_TRY(emu_enter_plain());
	if (!is_context(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth && stack[depth - 1] == ctx)
		depth--;
	pthread_mutex_lock(&emu.mutex);
	for (struct CUctx_st **p = &emu.contexts; *p; p = &(*p)->next) {
		if (*p == ctx) {
			*p = ctx->next;
			break;
		}
	}
	pthread_mutex_unlock(&emu.mutex);
	destroy(ctx);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
	EMU_TRY(emu_enter_plain());
	if (ctx && !is_context(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!depth)
		depth = 1;
	put_on(depth - 1, ctx);
	if (!ctx)
		depth--;
	return CUDA_SUCCESS;
}

EMU_GET(cuCtxGetCurrent, (CUcontext * ctx), emu_enter_plain(), ctx,
	depth ? stack[depth - 1] : NULL);

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
	EMU_TRY(emu_enter_plain());
	if (!is_context(ctx) || depth == STACK)
		return CUDA_ERROR_INVALID_CONTEXT;
	put_on(depth++, ctx);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *ctx)
{
	EMU_TRY(emu_enter_plain());
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (ctx)
		*ctx = stack[depth];
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter_any(&ctx));
	return emu_ctx_wait(ctx);
}

EMU_GET_OF_CTX(cuCtxGetDevice, (CUdevice * device), emu_enter_any, device, 0);

/* The context with that handle; NULL: the current one. */
static CUresult enter_named(CUcontext handle, struct CUctx_st **ctx)
{
	EMU_TRY(emu_enter_plain());
	*ctx = handle;
	if (!handle)
		return emu_enter_any(ctx);
	return is_context(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
	struct CUctx_st *ctx;

	EMU_TRY(enter_named(handle, &ctx));
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter_any(&ctx));
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if ((unsigned int)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	ctx->limit[limit] = value;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!value || (unsigned int)limit >= CU_LIMIT_MAX)
		return value ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
	*value = ctx->limit[limit];
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	ctx->cache = config;
	return CUDA_SUCCESS;
}

EMU_GET_OF_CTX(cuCtxGetCacheConfig, (CUfunc_cache * config), emu_enter, config, ctx->cache);
EMU_GET_OF_CTX(cuCtxGetFlags, (unsigned int *flags), emu_enter_any, flags, ctx->flags);

CUresult CUDAAPI cuCtxSetFlags(unsigned int flags)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter_any(&ctx));
	ctx->flags = flags;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetId(CUcontext handle, unsigned long long *id)
{
	struct CUctx_st *ctx;

	EMU_TRY(enter_named(handle, &ctx));
	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	*id = ctx->id;
	return CUDA_SUCCESS;
}
