/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two- and three-dimensional copies between memory and arrays. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"

/* One end of a copy, the origin included. */
struct place {
	uint64_t at, pitch, slice;
	int pageable;
};

struct box {
	struct place dst, src;
	uint64_t width, height, depth; /* bytes, rows, layers; none of them 0 */
};

static CUresult copy_box(struct CUctx_st *ctx, struct emu_task *t)
{
	const struct box *b = t->buffer;

	(void)ctx;
	emu_copy_takes(b->dst.at, b->src.at, b->width * b->height * b->depth);
	for (uint64_t z = 0; z < b->depth; z++)
		for (uint64_t y = 0; y < b->height; y++)
			memmove((void *)(uintptr_t)(b->dst.at + z * b->dst.slice +
						    y * b->dst.pitch),
				(const void *)(uintptr_t)(b->src.at + z * b->src.slice +
							  y * b->src.pitch),
				b->width);
	return CUDA_SUCCESS;
}

/* An end as the API gives it. */
struct end {
	CUmemorytype type;
	uint64_t host, device;
	CUarray array;
	uint64_t pitch, height, x, y, z;
};

static CUresult in_array(const struct end *e, const struct box *b, struct place *p)
{
	const struct CUarray_st *a = e->array;

	if (!a || a->magic != EMU_MAGIC_ARRAY)
		return CUDA_ERROR_INVALID_HANDLE;
	if (e->x > a->pitch || b->width > a->row_bytes || e->x > a->row_bytes - b->width ||
	    e->y > a->rows || b->height > a->rows - e->y || e->z > a->layers ||
	    b->depth > a->layers - e->z)
		return CUDA_ERROR_INVALID_VALUE;
	p->at = a->base + e->z * a->slice + e->y * a->pitch + e->x;
	p->pitch = a->pitch;
	p->slice = a->slice;
	return CUDA_SUCCESS;
}

static CUresult in_memory(const struct end *e, const struct box *b, struct place *p)
{
	enum emu_end kind = e->type == CU_MEMORYTYPE_HOST   ? EMU_END_HOST :
			    e->type == CU_MEMORYTYPE_DEVICE ? EMU_END_DEVICE :
							      EMU_END_ANY;
	uint64_t base = e->type == CU_MEMORYTYPE_HOST ? e->host : e->device, span;
	struct emu_range r;

	p->pitch = e->pitch ? e->pitch : b->width;
	if (p->pitch > UINT32_MAX || e->height > UINT32_MAX || e->y > UINT32_MAX ||
	    e->z > UINT32_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	p->slice = p->pitch * (e->height ? e->height : b->height);
	if ((b->height > 1 && p->pitch < b->width) ||
	    (b->depth > 1 && p->slice < p->pitch * b->height))
		return CUDA_ERROR_INVALID_VALUE;
	p->at = base + e->z * p->slice + e->y * p->pitch + e->x;
	span = (b->depth - 1) * p->slice + (b->height - 1) * p->pitch + b->width;
	EMU_TRY(emu_copy_check(kind, p->at, span));
	p->pageable = emu_mem_find(emu.mem, p->at, span, &r) != 0;
	return CUDA_SUCCESS;
}

static CUresult locate(const struct end *e, const struct box *b, struct place *p)
{
	memset(p, 0, sizeof(*p));
	switch (e->type) {
	case CU_MEMORYTYPE_ARRAY:
		return in_array(e, b, p);
	case CU_MEMORYTYPE_HOST:
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		return in_memory(e, b, p);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult emu_box_task(const CUDA_MEMCPY3D *c, struct emu_task **task, int *pageable)
{
	struct end dst = { c->dstMemoryType, (uintptr_t)c->dstHost, c->dstDevice,   c->dstArray,
			   c->dstPitch,      c->dstHeight,          c->dstXInBytes, c->dstY,
			   c->dstZ };
	struct end src = { c->srcMemoryType, (uintptr_t)c->srcHost, c->srcDevice,   c->srcArray,
			   c->srcPitch,      c->srcHeight,          c->srcXInBytes, c->srcY,
			   c->srcZ };
	struct box b = { .width = c->WidthInBytes, .height = c->Height, .depth = c->Depth };
	struct emu_task *t;

	if (b.height > UINT32_MAX || b.depth > UINT32_MAX || b.width > UINT64_C(1) << 46)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(locate(&dst, &b, &b.dst));
	EMU_TRY(locate(&src, &b, &b.src));
	t = emu_task_new(EMU_T_FN);
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->buffer = malloc(sizeof(b));
	if (!t->buffer) {
		free(t);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	memcpy(t->buffer, &b, sizeof(b));
	t->buffer_bytes = sizeof(b);
	t->fn = copy_box;
	t->node = CU_GRAPH_NODE_TYPE_MEMCPY;
	*pageable = b.dst.pageable | b.src.pageable;
	*task = t;
	return CUDA_SUCCESS;
}

static CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, int sync)
{
	struct CUctx_st *ctx;
	struct emu_task *t;
	int pageable;

	EMU_TRY(emu_enter(&ctx));
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c->WidthInBytes || !c->Height || !c->Depth)
		return CUDA_SUCCESS;
	EMU_TRY(emu_box_task(c, &t, &pageable));
	return emu_copy_enqueue(ctx, stream, t, sync || pageable);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, int sync)
{
	CUDA_MEMCPY3D box = { 0 };

	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	box.srcXInBytes = c->srcXInBytes;
	box.srcY = c->srcY;
	box.srcMemoryType = c->srcMemoryType;
	box.srcHost = c->srcHost;
	box.srcDevice = c->srcDevice;
	box.srcArray = c->srcArray;
	box.srcPitch = c->srcPitch;
	box.dstXInBytes = c->dstXInBytes;
	box.dstY = c->dstY;
	box.dstMemoryType = c->dstMemoryType;
	box.dstHost = c->dstHost;
	box.dstDevice = c->dstDevice;
	box.dstArray = c->dstArray;
	box.dstPitch = c->dstPitch;
	box.WidthInBytes = c->WidthInBytes;
	box.Height = c->Height;
	box.Depth = 1;
	return copy_3d(&box, stream, sync);
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

CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D *c)
{
	return copy_3d(c, NULL, 1);
}

CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream)
{
	return copy_3d(c, stream, 0);
}
