/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies and memory sets: tasks of a stream; the synchronous ones wait for theirs. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

CUresult emu_copy_check(enum emu_end e, uint64_t ptr, uint64_t bytes)
{
	struct emu_range r;

	if (!bytes)
		return CUDA_SUCCESS;
	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	if (e == EMU_END_DEVICE && emu_mem_find(emu.mem, ptr, bytes, &r))
		return CUDA_ERROR_INVALID_VALUE;
	/* unified addressing: a range that begins inside an allocation must end inside it */
	if (e == EMU_END_ANY && !emu_mem_find(emu.mem, ptr, 1, &r) &&
	    emu_mem_find(emu.mem, ptr, bytes, &r))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult copy_rows(struct CUctx_st *ctx, struct emu_task *t)
{
	uint8_t *dst = (uint8_t *)(uintptr_t)t->a;
	const uint8_t *src = (const uint8_t *)(uintptr_t)t->b;

	(void)ctx;
	emu_copy_takes(t->a, t->b, t->c * t->d);
	for (uint64_t y = 0; y < t->d; y++)
		memmove(dst + y * t->e, src + y * t->f, t->c);
	return CUDA_SUCCESS;
}

CUresult emu_copy_enqueue(struct CUctx_st *ctx, CUstream stream, struct emu_task *t, int sync)
{
	struct CUstream_st *s;
	uint64_t seq;
	CUresult rc = emu_stream_resolve(ctx, stream, &s);

	if (rc != CUDA_SUCCESS) {
		free(t->buffer);
		free(t);
		return rc;
	}
	EMU_TRY(emu_stream_enqueue(s, t, &seq));
	return sync ? emu_stream_wait(s, seq) : CUDA_SUCCESS;
}

static CUresult copy(uint64_t dst, enum emu_end de, uint64_t src, enum emu_end se, uint64_t bytes,
		     CUstream stream, int sync)
{
	struct CUctx_st *ctx;
	struct CUstream_st *s;
	struct emu_range r;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(emu_copy_check(de, dst, bytes));
	EMU_TRY(emu_copy_check(se, src, bytes));
	EMU_TRY(emu_stream_resolve(ctx, stream, &s));
	if (!bytes)
		return CUDA_SUCCESS;
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = copy_rows;
	t->node = CU_GRAPH_NODE_TYPE_MEMCPY;
	t->a = dst;
	t->b = src;
	t->c = bytes;
	t->d = 1;
	/*
	 * an asynchronous copy from pageable memory has read its source when the call returns; in a
	 * graph each launch reads it
	 */
	if (!sync && !emu_capturing(s) && emu_mem_find(emu.mem, src, bytes, &r)) {
		t->buffer = malloc(bytes);
		if (!t->buffer) {
			free(t);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		memcpy(t->buffer, (const void *)(uintptr_t)src, bytes);
		t->b = (uintptr_t)t->buffer;
		t->buffer_bytes = bytes;
	}
	/* and one to pageable memory has written it */
	if (!sync && emu_mem_find(emu.mem, dst, bytes, &r))
		sync = 1;
	return emu_copy_enqueue(ctx, stream, t, sync);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy(dst, EMU_END_ANY, src, EMU_END_ANY, bytes, NULL, 1);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copy(dst, EMU_END_DEVICE, (uintptr_t)src, EMU_END_HOST, bytes, NULL, 1);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy((uintptr_t)dst, EMU_END_HOST, src, EMU_END_DEVICE, bytes, NULL, 1);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy(dst, EMU_END_DEVICE, src, EMU_END_DEVICE, bytes, NULL, 0);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy(dst, EMU_END_ANY, src, EMU_END_ANY, bytes, stream, 0);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes,
				      CUstream stream)
{
	return copy(dst, EMU_END_DEVICE, (uintptr_t)src, EMU_END_HOST, bytes, stream, 0);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy((uintptr_t)dst, EMU_END_HOST, src, EMU_END_DEVICE, bytes, stream, 0);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
				      CUstream stream)
{
	return copy(dst, EMU_END_DEVICE, src, EMU_END_DEVICE, bytes, stream, 0);
}

static CUresult set_rows(struct CUctx_st *ctx, struct emu_task *t)
{
	(void)ctx;
	for (uint64_t y = 0; y < t->d; y++) {
		uint8_t *row = (uint8_t *)(uintptr_t)(t->a + y * t->e);

		if (t->f == 1) {
			memset(row, (int)(t->b & 0xff), t->c);
		} else if (t->f == 2) {
			for (uint64_t x = 0; x < t->c; x++)
				((uint16_t *)(void *)row)[x] = (uint16_t)t->b;
		} else {
			for (uint64_t x = 0; x < t->c; x++)
				((uint32_t *)(void *)row)[x] = (uint32_t)t->b;
		}
	}
	return CUDA_SUCCESS;
}

CUresult emu_set_task(const CUDA_MEMSET_NODE_PARAMS *p, struct emu_task **task)
{
	uint64_t width = p->width, height = p->height, pitch = p->pitch;
	uint32_t size = p->elementSize;
	struct emu_task *t;

	if ((size != 1 && size != 2 && size != 4) || p->dst & (size - 1) ||
	    width > UINT64_MAX / 8 ||
	    (height > 1 && (pitch < width * size || pitch & (size - 1))) || pitch > UINT32_MAX ||
	    height > UINT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(emu_copy_check(EMU_END_DEVICE, p->dst, (height - 1) * pitch + width * size));
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = set_rows;
	t->node = CU_GRAPH_NODE_TYPE_MEMSET;
	t->a = p->dst;
	t->b = p->value;
	t->c = width;
	t->d = height;
	t->e = pitch;
	t->f = size;
	*task = t;
	return CUDA_SUCCESS;
}

static CUresult set(CUdeviceptr dst, uint32_t value, uint32_t size, uint64_t width, uint64_t height,
		    uint64_t pitch, CUstream stream)
{
	CUDA_MEMSET_NODE_PARAMS p = { dst, pitch, value, size, width, height };
	struct CUctx_st *ctx;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	if (!width || !height)
		return CUDA_SUCCESS;
	EMU_TRY(emu_set_task(&p, &t));
	return emu_copy_enqueue(ctx, stream, t, 0);
}

/* In the real driver, too, the synchronous calls are asynchronous for device memory. */
CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t n)
{
	return set(dst, value, 1, n, 1, 0, NULL);
}

CUresult CUDAAPI cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t n)
{
	return set(dst, value, 2, n, 1, 0, NULL);
}

CUresult CUDAAPI cuMemsetD32_v2(CUdeviceptr dst, unsigned int value, size_t n)
{
	return set(dst, value, 4, n, 1, 0, NULL);
}

CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
				 size_t height)
{
	return set(dst, value, 1, width, height, pitch, NULL);
}

CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
				  size_t height)
{
	return set(dst, value, 2, width, height, pitch, NULL);
}

CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
				  size_t height)
{
	return set(dst, value, 4, width, height, pitch, NULL);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
	return set(dst, value, 1, n, 1, 0, stream);
}

CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream)
{
	return set(dst, value, 2, n, 1, 0, stream);
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t n, CUstream stream)
{
	return set(dst, value, 4, n, 1, 0, stream);
}

CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
				   size_t height, CUstream stream)
{
	return set(dst, value, 1, width, height, pitch, stream);
}

CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value,
				    size_t width, size_t height, CUstream stream)
{
	return set(dst, value, 2, width, height, pitch, stream);
}

CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
				    size_t height, CUstream stream)
{
	return set(dst, value, 4, width, height, pitch, stream);
}

/* There is one device, so the memory of all contexts is the peer's as well. */
CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
				   CUcontext src_ctx, size_t bytes, CUstream stream)
{
	(void)dst_ctx;
	(void)src_ctx;
	return copy(dst, EMU_END_DEVICE, src, EMU_END_DEVICE, bytes, stream, 0);
}

CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
			      CUcontext src_ctx, size_t bytes)
{
	return cuMemcpyPeerAsync(dst, dst_ctx, src, src_ctx, bytes, NULL);
}
