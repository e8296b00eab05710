/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies and memory sets: tasks of a stream; the synchronous ones wait for theirs. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

/* How the two ends of a copy were named. */
enum end { END_ANY, END_HOST, END_DEVICE };

static CUresult check_end(enum end e, uint64_t ptr, uint64_t bytes)
{
	struct emu_range r;

	if (!bytes)
		return CUDA_SUCCESS;
	if (!ptr)
		return CUDA_ERROR_INVALID_VALUE;
	if (e == END_DEVICE && emu_mem_find(emu.mem, ptr, bytes, &r))
		return CUDA_ERROR_INVALID_VALUE;
	/* unified addressing: an address inside an allocation must stay inside it */
	if (e == END_ANY && !emu_mem_find(emu.mem, ptr, 1, &r) && emu_mem_find(emu.mem, ptr, bytes, &r))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}


static CUresult copy_rows(struct CUctx_st *ctx, struct emu_task *t)
{
	uint8_t *dst = (uint8_t *)(uintptr_t)t->a;
	const uint8_t *src = (const uint8_t *)(uintptr_t)t->b;

	(void)ctx;
	for (uint64_t y = 0; y < t->d; y++)
		memmove(dst + y * t->e, src + y * t->f, t->c);
	return CUDA_SUCCESS;
}

static CUresult enqueue(struct CUctx_st *ctx, CUstream stream, struct emu_task *t, int sync)
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

static CUresult copy(uint64_t dst, enum end de, uint64_t src, enum end se, uint64_t bytes, CUstream stream, int sync)
{
	struct CUctx_st *ctx;
	struct emu_range r;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(check_end(de, dst, bytes));
	EMU_TRY(check_end(se, src, bytes));
	if (!bytes)
		return CUDA_SUCCESS;
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = copy_rows;
	t->a = dst;
	t->b = src;
	t->c = bytes;
	t->d = 1;
	/* an asynchronous copy from pageable memory has taken its source when it returns */
	if (!sync && emu_mem_find(emu.mem, src, bytes, &r)) {
		t->buffer = malloc(bytes);
		if (!t->buffer) {
			free(t);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		memcpy(t->buffer, (const void *)(uintptr_t)src, bytes);
		t->b = (uintptr_t)t->buffer;
	}
	/* and one to pageable memory has written it */
	if (!sync && emu_mem_find(emu.mem, dst, bytes, &r))
		sync = 1;
	return enqueue(ctx, stream, t, sync);
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy(dst, END_ANY, src, END_ANY, bytes, NULL, 1);
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copy(dst, END_DEVICE, (uintptr_t)src, END_HOST, bytes, NULL, 1);
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy((uintptr_t)dst, END_HOST, src, END_DEVICE, bytes, NULL, 1);
}

CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy(dst, END_DEVICE, src, END_DEVICE, bytes, NULL, 0);
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy(dst, END_ANY, src, END_ANY, bytes, stream, 0);
}

CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return copy(dst, END_DEVICE, (uintptr_t)src, END_HOST, bytes, stream, 0);
}

CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy((uintptr_t)dst, END_HOST, src, END_DEVICE, bytes, stream, 0);
}

CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy(dst, END_DEVICE, src, END_DEVICE, bytes, stream, 0);
}

static CUresult end_2d(CUmemorytype type, const void *host, CUdeviceptr device, uint64_t *base, enum end *e)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST: *base = (uintptr_t)host; *e = END_HOST; return CUDA_SUCCESS;
	case CU_MEMORYTYPE_DEVICE: *base = device; *e = END_DEVICE; return CUDA_SUCCESS;
	case CU_MEMORYTYPE_UNIFIED: *base = device; *e = END_ANY; return CUDA_SUCCESS;
	default: return CUDA_ERROR_NOT_SUPPORTED;
	}
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, int sync)
{
	uint64_t dst, src, span_d, span_s;
	struct CUctx_st *ctx;
	struct emu_range r;
	struct emu_task *t;
	enum end de, se;

	EMU_TRY(emu_enter(&ctx));
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(end_2d(c->dstMemoryType, c->dstHost, c->dstDevice, &dst, &de));
	EMU_TRY(end_2d(c->srcMemoryType, c->srcHost, c->srcDevice, &src, &se));
	if (!c->WidthInBytes || !c->Height)
		return CUDA_SUCCESS;
	if ((c->Height > 1 && (c->dstPitch < c->WidthInBytes || c->srcPitch < c->WidthInBytes)) || c->Height > UINT32_MAX ||
	    c->dstPitch > UINT32_MAX || c->srcPitch > UINT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	dst += c->dstY * c->dstPitch + c->dstXInBytes;
	src += c->srcY * c->srcPitch + c->srcXInBytes;
	span_d = (c->Height - 1) * c->dstPitch + c->WidthInBytes;
	span_s = (c->Height - 1) * c->srcPitch + c->WidthInBytes;
	EMU_TRY(check_end(de, dst, span_d));
	EMU_TRY(check_end(se, src, span_s));
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = copy_rows;
	t->a = dst;
	t->b = src;
	t->c = c->WidthInBytes;
	t->d = c->Height;
	t->e = c->dstPitch;
	t->f = c->srcPitch;
	if (emu_mem_find(emu.mem, src, span_s, &r) || emu_mem_find(emu.mem, dst, span_d, &r))
		sync = 1; /* pageable memory */
	return enqueue(ctx, stream, t, sync);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D *c)
{
	return copy_2d(c, NULL, 1);
}

CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c)
{
	return copy_2d(c, NULL, 1);
}

CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
	return copy_2d(c, stream, 0);
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

static CUresult set(CUdeviceptr dst, uint32_t value, uint32_t size, uint64_t width, uint64_t height, uint64_t pitch, CUstream stream)
{
	struct CUctx_st *ctx;
	struct emu_task *t;

	EMU_TRY(emu_enter(&ctx));
	if (!width || !height)
		return CUDA_SUCCESS;
	if (dst & (size - 1) || width > UINT64_MAX / 8 || (height > 1 && (pitch < width * size || pitch & (size - 1))) ||
	    pitch > UINT32_MAX || height > UINT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(check_end(END_DEVICE, dst, (height - 1) * pitch + width * size));
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->fn = set_rows;
	t->a = dst;
	t->b = value;
	t->c = width;
	t->d = height;
	t->e = pitch;
	t->f = size;
	return enqueue(ctx, stream, t, 0);
}

/* The synchronous names are asynchronous for device memory in the real driver as well. */
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

CUresult CUDAAPI cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height)
{
	return set(dst, value, 1, width, height, pitch, NULL);
}

CUresult CUDAAPI cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height)
{
	return set(dst, value, 2, width, height, pitch, NULL);
}

CUresult CUDAAPI cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height)
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
