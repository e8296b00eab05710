/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See picture.h. */
#define _GNU_SOURCE
#include "picture.h"

#include "device/driver/cuda.h"
#include "device/driver/arrays.h"

#define PITCH (PICTURE_WIDTH * sizeof(float))

uint64_t texture_create(const struct driver *drv, uint64_t at, size_t bytes)
{
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_PITCH2D };
	CUDA_TEXTURE_DESC x = { .filterMode = CU_TR_FILTER_MODE_LINEAR,
				.flags = CU_TRSF_NORMALIZED_COORDINATES };
	uint64_t object;

	for (int k = 0; k < 3; k++)
		x.addressMode[k] = CU_TR_ADDRESS_MODE_CLAMP;
	r.res.pitch2D.devPtr = at;
	r.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
	r.res.pitch2D.numChannels = 1;
	r.res.pitch2D.width = PICTURE_WIDTH;
	r.res.pitch2D.height = bytes / PITCH;
	r.res.pitch2D.pitchInBytes = PITCH;
	DO(drv->tex_create(&object, &r, &x, NULL));
	return object;
}

uint64_t surface_create(const struct driver *drv, size_t bytes, void **array)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = PICTURE_WIDTH,
		.Height = bytes / PITCH,
		.Format = CU_AD_FORMAT_FLOAT,
		.NumChannels = 1,
		.Flags = CUDA_ARRAY3D_SURFACE_LDST,
	};
	CUDA_RESOURCE_DESC r = { .resType = CU_RESOURCE_TYPE_ARRAY };
	uint64_t object;

	DO(drv->array_create(array, &d));
	r.res.array.hArray = *array;
	DO(drv->surf_create(&object, &r));
	return object;
}

void surface_read(const struct driver *drv, void *array, void *to, size_t bytes, void *stream)
{
	const CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = array,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = to,
		.dstPitch = PITCH,
		.WidthInBytes = PITCH,
		.Height = bytes / PITCH,
	};

	if (stream)
		DO(drv->copy_2d_async(&c, stream));
	else
		DO(drv->copy_2d(&c));
}

void surface_write(const struct driver *drv, void *array, const void *from, size_t bytes)
{
	const CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcPitch = PITCH,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = array,
		.WidthInBytes = PITCH,
		.Height = bytes / PITCH,
	};

	DO(drv->copy_2d(&c));
}
