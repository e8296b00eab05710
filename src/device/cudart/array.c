/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays, texture and surface objects. */
#define _GNU_SOURCE
#include <string.h>

#include "device/cudart/rt.h"

static const struct {
	CUarray_format format;
	int bits;
	enum cudaChannelFormatKind kind;
} formats[] = {
	{ CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned },
	{ CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned },
	{ CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned },
	{ CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned },
	{ CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned },
	{ CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned },
	{ CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat },
	{ CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat },
};
#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static cudaError_t from_channels(const struct cudaChannelFormatDesc *d, CUarray_format *format,
				 unsigned int *n)
{
	*n = 1 + (d->y > 0) + (d->z > 0) + (d->w > 0);
	if ((d->y && d->y != d->x) || (d->z && d->z != d->x) || (d->w && d->w != d->x) || *n == 3)
		return cudaErrorInvalidChannelDescriptor;
	for (size_t i = 0; i < FORMATS; i++) {
		if (formats[i].bits != d->x || formats[i].kind != d->f)
			continue;
		*format = formats[i].format;
		return cudaSuccess;
	}
	return cudaErrorInvalidChannelDescriptor;
}

static struct cudaChannelFormatDesc to_channels(CUarray_format format, unsigned int n)
{
	struct cudaChannelFormatDesc d = { 0, 0, 0, 0, cudaChannelFormatKindNone };

	for (size_t i = 0; i < FORMATS; i++) {
		if (formats[i].format != format)
			continue;
		d.x = formats[i].bits;
		d.y = n > 1 ? d.x : 0;
		d.z = d.w = n > 2 ? d.x : 0;
		d.f = formats[i].kind;
	}
	return d;
}

RT_EXPORT struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
							     enum cudaChannelFormatKind f);
RT_EXPORT struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
							     enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc) { x, y, z, w, f };
}

cudaError_t rt_Malloc3DArray(CUarray *array, const struct cudaChannelFormatDesc *desc,
			     struct cudaExtent extent, unsigned int flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = { 0 };

	if (!array || !desc)
		return cudaErrorInvalidValue;
	RT_TRY(from_channels(desc, &d.Format, &d.NumChannels));
	d.Width = extent.width;
	d.Height = extent.height;
	d.Depth = extent.depth;
	d.Flags = flags;
	DRV_RETURN(DRV(cuArray3DCreate_v2)(array, &d));
}

cudaError_t rt_MallocArray(CUarray *array, const struct cudaChannelFormatDesc *desc, size_t width,
			   size_t height, unsigned int flags)
{
	return rt_Malloc3DArray(array, desc, (struct cudaExtent) { width, height, 0 }, flags);
}

cudaError_t rt_FreeArray(CUarray array)
{
	if (!array)
		return cudaSuccess;
	DRV_RETURN(DRV(cuArrayDestroy)(array));
}

cudaError_t rt_ArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
			    unsigned int *flags, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	DRV_TRY(DRV(cuArray3DGetDescriptor_v2)(&d, array));
	if (desc)
		*desc = to_channels(d.Format, d.NumChannels);
	if (extent)
		*extent = (struct cudaExtent) { d.Width, d.Height, d.Depth };
	if (flags)
		*flags = d.Flags;
	return cudaSuccess;
}

cudaError_t rt_GetChannelDesc(struct cudaChannelFormatDesc *desc, CUarray array)
{
	return desc ? rt_ArrayGetInfo(desc, NULL, NULL, array) : cudaErrorInvalidValue;
}

cudaError_t rt_array_element(CUarray array, size_t *bytes)
{
	struct cudaChannelFormatDesc d;

	RT_TRY(rt_ArrayGetInfo(&d, NULL, NULL, array));
	*bytes = (size_t)(d.x + d.y + d.z + d.w) / 8;
	return cudaSuccess;
}

static cudaError_t resource(const struct cudaResourceDesc *r, CUDA_RESOURCE_DESC *d)
{
	memset(d, 0, sizeof(*d));
	d->resType = r->resType;
	switch (r->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		d->res.array.hArray = r->res.array.array;
		return cudaSuccess;
	case CU_RESOURCE_TYPE_LINEAR:
		d->res.linear.devPtr = (CUdeviceptr)(uintptr_t)r->res.linear.devPtr;
		d->res.linear.sizeInBytes = r->res.linear.sizeInBytes;
		return from_channels(&r->res.linear.desc, &d->res.linear.format,
				     &d->res.linear.numChannels);
	case CU_RESOURCE_TYPE_PITCH2D:
		d->res.pitch2D.devPtr = (CUdeviceptr)(uintptr_t)r->res.pitch2D.devPtr;
		d->res.pitch2D.width = r->res.pitch2D.width;
		d->res.pitch2D.height = r->res.pitch2D.height;
		d->res.pitch2D.pitchInBytes = r->res.pitch2D.pitchInBytes;
		return from_channels(&r->res.pitch2D.desc, &d->res.pitch2D.format,
				     &d->res.pitch2D.numChannels);
	default:
		return cudaErrorNotSupported;
	}
}

cudaError_t rt_CreateTextureObject(CUtexObject *object, const struct cudaResourceDesc *r,
				   const struct cudaTextureDesc *t, const void *view)
{
	CUDA_TEXTURE_DESC x = { 0 };
	CUDA_RESOURCE_DESC d;

	if (!object || !r || !t)
		return cudaErrorInvalidValue;
	if (view)
		return cudaErrorNotSupported;
	RT_TRY(resource(r, &d));
	memcpy(x.addressMode, t->addressMode, sizeof(x.addressMode));
	memcpy(x.borderColor, t->borderColor, sizeof(x.borderColor));
	x.filterMode = t->filterMode;
	x.flags = (t->readMode ? 0 : CU_TRSF_READ_AS_INTEGER) |
		  (t->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
		  (t->sRGB ? CU_TRSF_SRGB : 0);
	x.maxAnisotropy = t->maxAnisotropy;
	x.mipmapFilterMode = t->mipmapFilterMode;
	x.mipmapLevelBias = t->mipmapLevelBias;
	x.minMipmapLevelClamp = t->minMipmapLevelClamp;
	x.maxMipmapLevelClamp = t->maxMipmapLevelClamp;
	DRV_RETURN(DRV(cuTexObjectCreate)(object, &d, &x, NULL));
}

cudaError_t rt_CreateSurfaceObject(CUsurfObject *object, const struct cudaResourceDesc *r)
{
	CUDA_RESOURCE_DESC d;

	if (!object || !r)
		return cudaErrorInvalidValue;
	RT_TRY(resource(r, &d));
	DRV_RETURN(DRV(cuSurfObjectCreate)(object, &d));
}
