/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays, texture and surface objects. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "device/emu/emu.h"
#include "device/emu/exec/texture.h"

static uint32_t channel_bytes(CUarray_format f)
{
	switch (f) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

static enum emu_texel texel_of(CUarray_format f)
{
	switch (f) {
	case CU_AD_FORMAT_SIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT32:
		return EMU_TEXEL_SIGNED;
	case CU_AD_FORMAT_HALF:
	case CU_AD_FORMAT_FLOAT:
		return EMU_TEXEL_FLOAT;
	default:
		return EMU_TEXEL_UNSIGNED;
	}
}

/* "cuArray3DCreate", CUDA driver API: which of the three extents may be 0, and what depth then
 * means. */
CUresult CUDAAPI cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	const uint64_t max = 1 << 17;
	struct CUarray_st *a;
	struct CUctx_st *ctx;
	uint32_t bytes;
	CUresult rc;

	EMU_TRY(emu_enter(&ctx));
	if (!out || !d || !d->Width || d->Width > max || d->Height > max || d->Depth > max)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = channel_bytes(d->Format) * d->NumChannels;
	if (!bytes || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	if (d->Flags & CUDA_ARRAY3D_CUBEMAP)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (d->Depth && !d->Height && !(d->Flags & CUDA_ARRAY3D_LAYERED))
		return CUDA_ERROR_INVALID_VALUE;
	a = calloc(1, sizeof(*a));
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->desc = *d;
	a->ctx = ctx;
	a->row_bytes = d->Width * bytes;
	/* As the real driver's rows: an array takes no more than the shim counts. */
	a->pitch = (a->row_bytes + 63) & ~63ull;
	a->rows = d->Height ? d->Height : 1;
	a->layers = d->Depth ? d->Depth : 1;
	a->slice = a->pitch * a->rows;
	rc = emu_alloc(ctx, &a->base, a->slice * a->layers, EMU_MEM_ARRAY, 0);
	if (rc != CUDA_SUCCESS) {
		free(a);
		return rc;
	}
	a->magic = EMU_MAGIC_ARRAY;
	*out = a;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR full = { 0 };

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	full.Width = d->Width;
	full.Height = d->Height;
	full.Format = d->Format;
	full.NumChannels = d->NumChannels;
	return cuArray3DCreate_v2(out, &full);
}

static CUresult check(const struct CUarray_st *a)
{
	EMU_TRY(emu_enter_plain());
	return a && a->magic == EMU_MAGIC_ARRAY ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

EMU_GET(cuArray3DGetDescriptor_v2, (CUDA_ARRAY3D_DESCRIPTOR * d, CUarray a), check(a), d, a->desc);

CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *d, CUarray a)
{
	EMU_TRY(check(a));
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	d->Width = a->desc.Width;
	d->Height = a->desc.Height;
	d->Format = a->desc.Format;
	d->NumChannels = a->desc.NumChannels;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArrayDestroy(CUarray a)
{
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	EMU_TRY(check(a));
	EMU_TRY(emu_ctx_wait(ctx));
	a->magic = 0;
	EMU_TRY(emu_free(ctx, a->base, 1u << EMU_MEM_ARRAY));
	free(a);
	return CUDA_SUCCESS;
}

static CUresult dims(struct emu_texture *t, CUarray_format f, unsigned int channels, uint64_t width,
		     uint64_t height)
{
	t->texel = (uint8_t)texel_of(f);
	t->bytes = (uint8_t)channel_bytes(f);
	t->channels = (uint8_t)channels;
	t->width = width;
	t->height = height ? (uint32_t)height : 1;
	t->depth = 1;
	return t->bytes && (channels == 1 || channels == 2 || channels == 4) && width &&
			       height <= UINT32_MAX ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_INVALID_VALUE;
}

static CUresult of_array(struct emu_texture *t, const struct CUarray_st *a)
{
	EMU_TRY(check(a));
	EMU_TRY(dims(t, a->desc.Format, a->desc.NumChannels, a->desc.Width, a->desc.Height));
	t->layered = !!(a->desc.Flags & CUDA_ARRAY3D_LAYERED);
	t->depth = (uint32_t)a->layers;
	t->dims = a->desc.Depth && !t->layered ? 3 : a->desc.Height ? 2 : 1;
	t->base = a->base;
	t->pitch = a->pitch;
	t->slice = a->slice;
	return CUDA_SUCCESS;
}

static CUresult of_memory(struct emu_texture *t, uint64_t base, uint64_t bytes)
{
	struct emu_range r;

	t->base = base;
	return emu_mem_find(emu.mem, base, bytes, &r) || base & 31 ? CUDA_ERROR_INVALID_VALUE :
								     CUDA_SUCCESS;
}

static CUresult resource(struct emu_texture *t, const CUDA_RESOURCE_DESC *d)
{
	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return of_array(t, d->res.array.hArray);
	case CU_RESOURCE_TYPE_LINEAR:
		if (!channel_bytes(d->res.linear.format) || !d->res.linear.numChannels)
			return CUDA_ERROR_INVALID_VALUE;
		EMU_TRY(dims(t, d->res.linear.format, d->res.linear.numChannels,
			     d->res.linear.sizeInBytes / (channel_bytes(d->res.linear.format) *
							  d->res.linear.numChannels),
			     1));
		t->dims = 1;
		t->linear_memory = 1;
		t->pitch = t->slice = d->res.linear.sizeInBytes;
		return of_memory(t, d->res.linear.devPtr, d->res.linear.sizeInBytes);
	case CU_RESOURCE_TYPE_PITCH2D:
		EMU_TRY(dims(t, d->res.pitch2D.format, d->res.pitch2D.numChannels,
			     d->res.pitch2D.width, d->res.pitch2D.height));
		t->dims = 2;
		t->pitch = d->res.pitch2D.pitchInBytes;
		t->slice = t->pitch * t->height;
		if (t->pitch & 31 || t->pitch > UINT32_MAX ||
		    t->pitch < t->width * t->bytes * t->channels)
			return CUDA_ERROR_INVALID_VALUE;
		return of_memory(t, d->res.pitch2D.devPtr,
				 (t->height - 1) * t->pitch + t->width * t->bytes * t->channels);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* What the objects were made from, by slot of the table; freed when the slot is used again. */
struct origin {
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture;
	uint64_t handle;
	struct origin *next;
};
static struct origin *origins;
static pthread_mutex_t origins_mutex = PTHREAD_MUTEX_INITIALIZER;

static CUresult add(uint64_t *handle, const struct emu_texture *t, const CUDA_RESOURCE_DESC *r,
		    const CUDA_TEXTURE_DESC *x)
{
	struct origin *o = calloc(1, sizeof(*o));

	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->resource = *r;
	if (x)
		o->texture = *x;
	o->handle = emu_texture_add(t);
	if (!o->handle) {
		free(o);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = o->handle;
	pthread_mutex_lock(&origins_mutex);
	o->next = origins;
	origins = o;
	pthread_mutex_unlock(&origins_mutex);
	return CUDA_SUCCESS;
}

static CUresult destroy(uint64_t handle, int surface)
{
	const struct emu_texture *t = emu_texture_find(handle);
	struct origin *gone = NULL;
	struct CUctx_st *ctx;

	EMU_TRY(emu_enter(&ctx));
	if (!t || t->surface != surface)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(emu_ctx_wait(ctx));
	pthread_mutex_lock(&origins_mutex);
	for (struct origin **p = &origins; *p; p = &(*p)->next) {
		if ((*p)->handle == handle) {
			gone = *p;
			*p = gone->next;
			break;
		}
	}
	pthread_mutex_unlock(&origins_mutex);
	free(gone);
	return emu_texture_remove(handle) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult recall(uint64_t handle, CUDA_RESOURCE_DESC *r, CUDA_TEXTURE_DESC *x)
{
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	if (!r && !x)
		return rc;
	pthread_mutex_lock(&origins_mutex);
	for (struct origin *o = origins; o; o = o->next) {
		if (o->handle != handle)
			continue;
		if (r)
			*r = o->resource;
		if (x)
			*x = o->texture;
		rc = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&origins_mutex);
	return rc;
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *object, const CUDA_RESOURCE_DESC *r,
				   const CUDA_TEXTURE_DESC *x, const CUDA_RESOURCE_VIEW_DESC *view)
{
	struct emu_texture t = { 0 };
	struct CUctx_st *ctx;
	uint64_t handle;

	EMU_TRY(emu_enter(&ctx));
	if (!object || !r || !x || x->filterMode > CU_TR_FILTER_MODE_LINEAR)
		return CUDA_ERROR_INVALID_VALUE;
	if (view)
		return CUDA_ERROR_NOT_SUPPORTED;
	EMU_TRY(resource(&t, r));
	for (int k = 0; k < 3; k++) {
		if ((unsigned int)x->addressMode[k] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		t.address[k] = (uint8_t)x->addressMode[k];
	}
	t.filter = (uint8_t)x->filterMode;
	t.normalized_coords = !!(x->flags & CU_TRSF_NORMALIZED_COORDINATES);
	t.srgb = !!(x->flags & CU_TRSF_SRGB);
	t.normalized_read =
		t.texel != EMU_TEXEL_FLOAT && t.bytes <= 2 && !(x->flags & CU_TRSF_READ_AS_INTEGER);
	/* linear filtering is of floats only; integers that are read as integers have none */
	if (t.filter && t.texel != EMU_TEXEL_FLOAT && !t.normalized_read)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(t.border, x->borderColor, sizeof(t.border));
	EMU_TRY(add(&handle, &t, r, x));
	*object = handle;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject object)
{
	return destroy(object, 0);
}

CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *r, CUtexObject object)
{
	return recall(object, r, NULL);
}

CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *x, CUtexObject object)
{
	return recall(object, NULL, x);
}

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *object, const CUDA_RESOURCE_DESC *r)
{
	struct emu_texture t = { .surface = 1 };
	struct CUctx_st *ctx;
	uint64_t handle;

	EMU_TRY(emu_enter(&ctx));
	if (!object || !r || r->resType != CU_RESOURCE_TYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(resource(&t, r));
	if (!(r->res.array.hArray->desc.Flags & CUDA_ARRAY3D_SURFACE_LDST))
		return CUDA_ERROR_INVALID_VALUE;
	EMU_TRY(add(&handle, &t, r, NULL));
	*object = handle;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject object)
{
	return destroy(object, 1);
}

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *r, CUsurfObject object)
{
	return recall(object, r, NULL);
}
