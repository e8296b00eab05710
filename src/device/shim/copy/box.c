/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies in two and three dimensions, and their parts; see chunks.h. */
#define _GNU_SOURCE
#include "device/shim/copy/chunks.h"

#include "device/shim/session/session.h"

/* From its first byte to its last, if the end is memory and no array. */
static struct shim_copy_end end_of(CUmemorytype type, const void *host, CUdeviceptr device,
				   size_t first, size_t last)
{
	if (type == CU_MEMORYTYPE_ARRAY)
		return (struct shim_copy_end) { 0, 0 };
	return (struct shim_copy_end) {
		(type == CU_MEMORYTYPE_HOST ? (CUdeviceptr)(uintptr_t)host : device) + first,
		last - first,
	};
}

static void keep_ends(struct shim_copy *c, struct shim_copy_end src, struct shim_copy_end dst)
{
	c->host = c->way == GS_COPY_TO_DEVICE ? src : dst;
	c->device = c->way == GS_COPY_TO_DEVICE ? dst : src;
}

void shim_copy_plane(struct shim_copy *c, const CUDA_MEMCPY2D *p)
{
	size_t from = p->srcY * p->srcPitch + p->srcXInBytes;
	size_t to = p->dstY * p->dstPitch + p->dstXInBytes;
	size_t rows = p->Height ? p->Height - 1 : 0;

	c->box = p;
	c->way = shim_copy_of_plane(p);
	c->units = p->Height;
	c->unit_bytes = p->WidthInBytes;
	c->group = 0;
	keep_ends(c,
		  end_of(p->srcMemoryType, p->srcHost, p->srcDevice, from,
			 from + rows * p->srcPitch + p->WidthInBytes),
		  end_of(p->dstMemoryType, p->dstHost, p->dstDevice, to,
			 to + rows * p->dstPitch + p->WidthInBytes));
}

CUDA_MEMCPY2D shim_copy_rows(const struct shim_copy *c, size_t from, size_t n)
{
	CUDA_MEMCPY2D p = *(const CUDA_MEMCPY2D *)c->box;

	p.srcY += from;
	p.dstY += from;
	p.Height = n;
	return p;
}

static size_t place(size_t x, size_t y, size_t z, size_t pitch, size_t height)
{
	return (z * height + y) * pitch + x;
}

/* Rows, where a layer is larger than a chunk. */
static int by_rows(const CUDA_MEMCPY3D *b, enum gs_copy_direction way)
{
	const struct shim_session *s = shim_session_peek();
	size_t chunk = s && way < GS_COPY_ENGINES ?
			       (size_t)gs_page_load(s->page->copies.chunk_kib[way]) << 10 :
			       0;

	return chunk && b->WidthInBytes * b->Height > chunk;
}

void shim_copy_box(struct shim_copy *c, const CUDA_MEMCPY3D *b)
{
	size_t y = b->Height ? b->Height - 1 : 0, z = b->Depth ? b->Depth - 1 : 0;
	size_t from = place(b->srcXInBytes, b->srcY, b->srcZ, b->srcPitch, b->srcHeight);
	size_t to = place(b->dstXInBytes, b->dstY, b->dstZ, b->dstPitch, b->dstHeight);

	c->box = b;
	c->way = shim_copy_of_box(b);
	c->group = by_rows(b, c->way) ? b->Height : 0;
	c->units = c->group ? b->Height * b->Depth : b->Depth;
	c->unit_bytes = c->group ? b->WidthInBytes : b->WidthInBytes * b->Height;
	keep_ends(c,
		  end_of(b->srcMemoryType, b->srcHost, b->srcDevice, from,
			 from + place(b->WidthInBytes, y, z, b->srcPitch, b->srcHeight)),
		  end_of(b->dstMemoryType, b->dstHost, b->dstDevice, to,
			 to + place(b->WidthInBytes, y, z, b->dstPitch, b->dstHeight)));
}

CUDA_MEMCPY3D shim_copy_layers(const struct shim_copy *c, size_t from, size_t n)
{
	CUDA_MEMCPY3D b = *(const CUDA_MEMCPY3D *)c->box;
	size_t z = c->group ? from / c->group : from, y = c->group ? from % c->group : 0;

	if (n == c->units)
		return b;
	b.srcY += y;
	b.dstY += y;
	b.srcZ += z;
	b.dstZ += z;
	if (c->group) {
		b.Height = n;
		b.Depth = 1;
	} else {
		b.Depth = n;
	}
	return b;
}
