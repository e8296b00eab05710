/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation, host memory, what is known of a pointer. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!free_bytes && !total)
		return CUDA_ERROR_INVALID_VALUE;
	if (total)
		*total = emu.config->memory;
	if (free_bytes)
		*free_bytes = emu_device_free_memory(emu.dev);
	return CUDA_SUCCESS;
}

static CUresult alloc(CUdeviceptr *ptr, size_t bytes, enum emu_mem_kind kind)
{
	struct CUctx_st *ctx;
	uint64_t p;

	EMU_TRY(emu_enter(&ctx));
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(emu_alloc(ctx, &p, bytes, kind, 0));
	*ptr = p;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	return alloc(ptr, bytes, EMU_MEM_DEVICE);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
				    unsigned int element)
{
	if (!pitch || (element != 4 && element != 8 && element != 16) || width > SIZE_MAX - 512)
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = (width + 511) & ~(size_t)511;
	if (height && *pitch > SIZE_MAX / height)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return alloc(ptr, *pitch * height, EMU_MEM_DEVICE);
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return alloc(ptr, bytes, EMU_MEM_MANAGED);
}

/* Waits for the context's work, as the real driver does. */
CUresult CUDAAPI cuMemFree_v2(CUdeviceptr ptr)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!ptr)
		return CUDA_SUCCESS;
	EMU_TRY(emu_ctx_wait(ctx));
	emu_pool_freed(ptr);
	return emu_free(ctx, ptr, EMU_KINDS_DEVICE);
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	struct emu_range r;
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (emu_mem_find(emu.mem, ptr, 1, &r))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = r.base;
	if (size)
		*size = r.size;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	struct CUctx_st *ctx;
	uint64_t p;

	EMU_TRY(emu_enter(&ctx));
	if (!ptr || !bytes || flags > 7)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(emu_alloc(ctx, &p, bytes, EMU_MEM_HOST, flags));
	*ptr = (void *)(uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocHost_v2(void **ptr, size_t bytes)
{
	return cuMemHostAlloc(ptr, bytes, CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult CUDAAPI cuMemFreeHost(void *ptr)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_ctx_wait(ctx));
	return emu_free(ctx, (uintptr_t)ptr, 1u << EMU_MEM_HOST);
}

CUresult CUDAAPI cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned int flags)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!ptr || !bytes || flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	return emu_mem_register(emu.mem, (uintptr_t)ptr, bytes, flags, ctx->id) ?
		       CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED :
		       CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostUnregister(void *ptr)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_ctx_wait(ctx));
	return emu_free(ctx, (uintptr_t)ptr, 1u << EMU_MEM_REGISTERED) ?
		       CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED :
		       CUDA_SUCCESS;
}

static int host_range(const void *ptr, struct emu_range *r)
{
	return !emu_mem_find(emu.mem, (uintptr_t)ptr, 1, r) &&
	       (r->kind == EMU_MEM_HOST || r->kind == EMU_MEM_REGISTERED);
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *dptr, void *ptr, unsigned int flags)
{
	struct emu_range r;
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!dptr || flags || !host_range(ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	*dptr = (uintptr_t)ptr;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned int *flags, void *ptr)
{
	struct emu_range r;
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!flags || !host_range(ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = r.flags;
	return CUDA_SUCCESS;
}

static CUresult pointer_attribute(void *data, CUpointer_attribute a, CUdeviceptr ptr,
				  struct CUctx_st *ctx)
{
	struct emu_range r;
	int host;

	if (emu_mem_find(emu.mem, ptr, 1, &r))
		return CUDA_ERROR_INVALID_VALUE;
	host = r.kind == EMU_MEM_HOST || r.kind == EMU_MEM_REGISTERED;
	switch ((int)a) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = ctx;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = ptr;
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!host && r.kind != EMU_MEM_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)ptr;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = r.base;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned int *)data = r.kind == EMU_MEM_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)data = r.base;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = r.size;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned int *)data = 1;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	return data ? pointer_attribute(data, attribute, ptr, ctx) : CUDA_ERROR_INVALID_VALUE;
}

static size_t attribute_size(CUpointer_attribute a)
{
	switch ((int)a) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		return 8;
	default:
		return 4;
	}
}

/* Unlike cuPointerGetAttribute, an unknown pointer is no error here: its attributes are 0. */
CUresult CUDAAPI cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes,
					void **data, CUdeviceptr ptr)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < n; i++)
		if (pointer_attribute(data[i], attributes[i], ptr, ctx) != CUDA_SUCCESS)
			memset(data[i], 0, attribute_size(attributes[i]));
	return CUDA_SUCCESS;
}
