/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies and memory sets.  Where the driver has a function for the kind of
 * copy, that one is called; the rest are boxes between unified addresses.
 */
#define _GNU_SOURCE
#include <string.h>

#include "device/cudart/rt.h"

/* After an asynchronous call that stands for a synchronous one. */
static cudaError_t finish(cudaError_t rc)
{
	return rc == cudaSuccess ? rt_error(DRV(cuStreamSynchronize)(CU_STREAM_PER_THREAD)) : rc;
}

cudaError_t rt_MemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
			   CUstream stream)
{
	stream = rt_stream(stream);
	switch (kind) {
	case cudaMemcpyHostToDevice:
		DRV_RETURN(DRV(cuMemcpyHtoDAsync_v2)(rt_address(dst), src, bytes, stream));
	case cudaMemcpyDeviceToHost:
		DRV_RETURN(DRV(cuMemcpyDtoHAsync_v2)(dst, rt_address(src), bytes, stream));
	case cudaMemcpyDeviceToDevice:
		DRV_RETURN(
			DRV(cuMemcpyDtoDAsync_v2)(rt_address(dst), rt_address(src), bytes, stream));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		DRV_RETURN(DRV(cuMemcpyAsync)(rt_address(dst), rt_address(src), bytes, stream));
	default:
		return cudaErrorInvalidMemcpyDirection;
	}
}

cudaError_t rt_Memcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
	if (rt_per_thread)
		return finish(rt_MemcpyAsync(dst, src, bytes, kind, NULL));
	switch (kind) {
	case cudaMemcpyHostToDevice:
		DRV_RETURN(DRV(cuMemcpyHtoD_v2)(rt_address(dst), src, bytes));
	case cudaMemcpyDeviceToHost:
		DRV_RETURN(DRV(cuMemcpyDtoH_v2)(dst, rt_address(src), bytes));
	case cudaMemcpyDeviceToDevice:
		DRV_RETURN(DRV(cuMemcpyDtoD_v2)(rt_address(dst), rt_address(src), bytes));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		DRV_RETURN(DRV(cuMemcpy)(rt_address(dst), rt_address(src), bytes));
	default:
		return cudaErrorInvalidMemcpyDirection;
	}
}

static cudaError_t box(const CUDA_MEMCPY3D *c, CUstream stream, int sync)
{
	if (!sync)
		DRV_RETURN(DRV(cuMemcpy3DAsync_v2)(c, rt_stream(stream)));
	if (rt_per_thread)
		return finish(rt_error(DRV(cuMemcpy3DAsync_v2)(c, CU_STREAM_PER_THREAD)));
	DRV_RETURN(DRV(cuMemcpy3D_v2)(c));
}

static void linear_src(CUDA_MEMCPY3D *c, const void *p, size_t pitch, size_t height)
{
	c->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
	c->srcDevice = rt_address(p);
	c->srcPitch = pitch;
	c->srcHeight = height;
}

static void linear_dst(CUDA_MEMCPY3D *c, void *p, size_t pitch, size_t height)
{
	c->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	c->dstDevice = rt_address(p);
	c->dstPitch = pitch;
	c->dstHeight = height;
}

void rt_copy_1d(CUDA_MEMCPY3D *c, void *dst, const void *src, size_t bytes)
{
	memset(c, 0, sizeof(*c));
	linear_src(c, src, bytes, 1);
	linear_dst(c, dst, bytes, 1);
	c->WidthInBytes = bytes;
	c->Height = c->Depth = 1;
}

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			   size_t height, enum cudaMemcpyKind kind, CUstream stream, int sync)
{
	CUDA_MEMCPY3D c = { 0 };

	if ((unsigned int)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (width > dpitch || width > spitch)
		return cudaErrorInvalidPitchValue;
	linear_src(&c, src, spitch, height);
	linear_dst(&c, dst, dpitch, height);
	c.WidthInBytes = width;
	c.Height = height;
	c.Depth = 1;
	return box(&c, stream, sync);
}

cudaError_t rt_Memcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			size_t height, enum cudaMemcpyKind kind)
{
	return copy_2d(dst, dpitch, src, spitch, width, height, kind, NULL, 1);
}

cudaError_t rt_Memcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			     size_t height, enum cudaMemcpyKind kind, CUstream stream)
{
	return copy_2d(dst, dpitch, src, spitch, width, height, kind, stream, 0);
}

/* "cudaMemcpy3D", CUDA Runtime API: where an array takes part the extent and its positions count
 * elements, otherwise bytes. */
cudaError_t rt_copy_3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
	size_t src = 1, dst = 1;

	memset(c, 0, sizeof(*c));
	if (!p || !p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr)
		return cudaErrorInvalidValue;
	if (p->srcArray)
		RT_TRY(rt_array_element(p->srcArray, &src));
	if (p->dstArray)
		RT_TRY(rt_array_element(p->dstArray, &dst));
	if (p->srcArray) {
		c->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		c->srcArray = p->srcArray;
	} else {
		linear_src(c, p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.ysize);
	}
	if (p->dstArray) {
		c->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		c->dstArray = p->dstArray;
	} else {
		linear_dst(c, p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.ysize);
	}
	c->srcXInBytes = p->srcPos.x * src;
	c->srcY = p->srcPos.y;
	c->srcZ = p->srcPos.z;
	c->dstXInBytes = p->dstPos.x * dst;
	c->dstY = p->dstPos.y;
	c->dstZ = p->dstPos.z;
	c->WidthInBytes = p->extent.width * (p->srcArray ? src : dst);
	c->Height = p->extent.height;
	c->Depth = p->extent.depth;
	return cudaSuccess;
}

cudaError_t rt_Memcpy3D(const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;

	RT_TRY(rt_copy_3d(p, &c));
	return box(&c, NULL, 1);
}

cudaError_t rt_Memcpy3DAsync(const struct cudaMemcpy3DParms *p, CUstream stream)
{
	CUDA_MEMCPY3D c;

	RT_TRY(rt_copy_3d(p, &c));
	return box(&c, stream, 0);
}

/* ---- arrays ---- */

static cudaError_t to_array(CUarray dst, size_t x, size_t y, const void *src, size_t spitch,
			    size_t width, size_t height, CUstream stream, int sync)
{
	CUDA_MEMCPY3D c = { 0 };

	linear_src(&c, src, spitch, height);
	c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	c.dstArray = dst;
	c.dstXInBytes = x;
	c.dstY = y;
	c.WidthInBytes = width;
	c.Height = height;
	c.Depth = 1;
	return box(&c, stream, sync);
}

static cudaError_t from_array(void *dst, size_t dpitch, CUarray src, size_t x, size_t y,
			      size_t width, size_t height, CUstream stream, int sync)
{
	CUDA_MEMCPY3D c = { 0 };

	linear_dst(&c, dst, dpitch, height);
	c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	c.srcArray = src;
	c.srcXInBytes = x;
	c.srcY = y;
	c.WidthInBytes = width;
	c.Height = height;
	c.Depth = 1;
	return box(&c, stream, sync);
}

cudaError_t rt_Memcpy2DToArray(CUarray dst, size_t x, size_t y, const void *src, size_t spitch,
			       size_t width, size_t height, enum cudaMemcpyKind kind)
{
	(void)kind;
	return to_array(dst, x, y, src, spitch, width, height, NULL, 1);
}

cudaError_t rt_Memcpy2DToArrayAsync(CUarray dst, size_t x, size_t y, const void *src, size_t spitch,
				    size_t width, size_t height, enum cudaMemcpyKind kind,
				    CUstream stream)
{
	(void)kind;
	return to_array(dst, x, y, src, spitch, width, height, stream, 0);
}

cudaError_t rt_Memcpy2DFromArray(void *dst, size_t dpitch, CUarray src, size_t x, size_t y,
				 size_t width, size_t height, enum cudaMemcpyKind kind)
{
	(void)kind;
	return from_array(dst, dpitch, src, x, y, width, height, NULL, 1);
}

cudaError_t rt_Memcpy2DFromArrayAsync(void *dst, size_t dpitch, CUarray src, size_t x, size_t y,
				      size_t width, size_t height, enum cudaMemcpyKind kind,
				      CUstream stream)
{
	(void)kind;
	return from_array(dst, dpitch, src, x, y, width, height, stream, 0);
}

/* ---- symbols ---- */

static cudaError_t inside(const void *symbol, size_t bytes, size_t offset, void **at)
{
	CUdeviceptr p;
	size_t size;

	RT_TRY(rt_symbol(symbol, &p, &size));
	if (offset > size || bytes > size - offset)
		return cudaErrorInvalidValue;
	*at = (void *)(uintptr_t)(p + offset);
	return cudaSuccess;
}

cudaError_t rt_MemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
			      enum cudaMemcpyKind kind)
{
	void *at;

	RT_TRY(inside(symbol, bytes, offset, &at));
	return rt_Memcpy(at, src, bytes, kind);
}

cudaError_t rt_MemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset,
				enum cudaMemcpyKind kind)
{
	void *at;

	RT_TRY(inside(symbol, bytes, offset, &at));
	return rt_Memcpy(dst, at, bytes, kind);
}

cudaError_t rt_MemcpyToSymbolAsync(const void *symbol, const void *src, size_t bytes, size_t offset,
				   enum cudaMemcpyKind kind, CUstream stream)
{
	void *at;

	RT_TRY(inside(symbol, bytes, offset, &at));
	return rt_MemcpyAsync(at, src, bytes, kind, stream);
}

cudaError_t rt_MemcpyFromSymbolAsync(void *dst, const void *symbol, size_t bytes, size_t offset,
				     enum cudaMemcpyKind kind, CUstream stream)
{
	void *at;

	RT_TRY(inside(symbol, bytes, offset, &at));
	return rt_MemcpyAsync(dst, at, bytes, kind, stream);
}

/* ---- peers: of one device, itself ---- */

cudaError_t rt_MemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
	if (dst_device || src_device)
		return cudaErrorInvalidDevice;
	return rt_Memcpy(dst, src, bytes, cudaMemcpyDeviceToDevice);
}

cudaError_t rt_MemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device,
			       size_t bytes, CUstream stream)
{
	if (dst_device || src_device)
		return cudaErrorInvalidDevice;
	return rt_MemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream);
}

/* ---- sets ---- */

cudaError_t rt_MemsetAsync(void *ptr, int value, size_t bytes, CUstream stream)
{
	DRV_RETURN(DRV(cuMemsetD8Async)(rt_address(ptr), (unsigned char)value, bytes,
					rt_stream(stream)));
}

cudaError_t rt_Memset2DAsync(void *ptr, size_t pitch, int value, size_t width, size_t height,
			     CUstream stream)
{
	DRV_RETURN(DRV(cuMemsetD2D8Async)(rt_address(ptr), pitch, (unsigned char)value, width,
					  height, rt_stream(stream)));
}

cudaError_t rt_Memset3DAsync(struct cudaPitchedPtr ptr, int value, struct cudaExtent extent,
			     CUstream stream)
{
	for (size_t z = 0; z < extent.depth; z++)
		RT_TRY(rt_Memset2DAsync((char *)ptr.ptr + z * ptr.pitch * ptr.ysize, ptr.pitch,
					value, extent.width, extent.height, stream));
	return cudaSuccess;
}

/* Sets of device memory return early in the vendor's Runtime as well. */
cudaError_t rt_Memset(void *ptr, int value, size_t bytes)
{
	return rt_MemsetAsync(ptr, value, bytes, NULL);
}

cudaError_t rt_Memset2D(void *ptr, size_t pitch, int value, size_t width, size_t height)
{
	return rt_Memset2DAsync(ptr, pitch, value, width, height, NULL);
}

cudaError_t rt_Memset3D(struct cudaPitchedPtr ptr, int value, struct cudaExtent extent)
{
	return rt_Memset3DAsync(ptr, value, extent, NULL);
}
