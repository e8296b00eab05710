/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wrappers of the calls that allocate at once: linear memory, arrays, and memory imported from
 * other interfaces. */
#define _GNU_SOURCE
#include "device/shim/base/counted.h"
#include "device/shim/context/barrier.h"
#include "device/shim/memory/charge.h"
#include "device/shim/base/wraps.h"

SHIM_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	return SHIM_COUNTED(SHIM_CHARGE_POINTER, bytes, REAL(cuMemAlloc_v2)(ptr, bytes), *ptr,
			    shim_current());
}

SHIM_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width,
					size_t height, unsigned int element)
{
	/* The driver pads each row to its pitch, which is a multiple of 512. */
	size_t row = (width + 511) & ~(size_t)511, bytes;

	if (row < width || __builtin_mul_overflow(row, height, &bytes))
		bytes = SIZE_MAX;
	return SHIM_COUNTED(SHIM_CHARGE_POINTER, bytes,
			    REAL(cuMemAllocPitch_v2)(ptr, pitch, width, height, element), *ptr,
			    shim_current());
}

/* Charges all of it, wherever its pages are: it may all be on the device. */
SHIM_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	shim_counted_give_up(); /* the program reads and writes it without a call */
	return SHIM_COUNTED(SHIM_CHARGE_POINTER, bytes, REAL(cuMemAllocManaged)(ptr, bytes, flags),
			    *ptr, shim_current());
}

SHIM_EXPORT CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	return SHIM_UNCOUNTED(SHIM_CHARGE_POINTER, ptr, SHIM_IN_BARRIER(REAL(cuMemFree_v2)(ptr)));
}

/* ---- arrays ------------------------------------------------------------- */

static size_t format_bytes(CUarray_format format)
{
	switch ((int)format) {
	case 0x01:
	case 0x08: /* 8 bits */
		return 1;
	case 0x02:
	case 0x09:
	case 0x10: /* 16 bits, half */
		return 2;
	default: /* 32 bits; block-compressed and planar formats need less */
		return 4;
	}
}

static size_t at_least_1(size_t n)
{
	return n ? n : 1;
}

/* The driver's layout: rows of 64 bytes, eight rows to a block, and whole allocations of 512 bytes.
 * Layers and a cube's faces are its depth. */
static uint64_t array_bytes(size_t width, size_t height, size_t depth, CUarray_format format,
			    unsigned int channels)
{
	uint64_t row, rows = at_least_1(height), bytes;

	if (__builtin_mul_overflow(at_least_1(width), format_bytes(format) * channels, &row) ||
	    row > UINT64_MAX - 63)
		return UINT64_MAX;
	row = (row + 63) & ~UINT64_C(63);
	if (rows > 1)
		rows = (rows + 7) & ~UINT64_C(7);
	if (__builtin_mul_overflow(row, rows, &bytes) ||
	    __builtin_mul_overflow(bytes, at_least_1(depth), &bytes) || bytes > UINT64_MAX - 511)
		return UINT64_MAX;
	return (bytes + 511) & ~UINT64_C(511);
}

/* Sparse and deferred arrays get their memory from cuMemCreate. */
#define NO_MEMORY_OF_ITS_OWN (0x40u | 0x80u)

static uint64_t array3d_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	if (!d || (d->Flags & NO_MEMORY_OF_ITS_OWN))
		return 0;
	return array_bytes(d->Width, d->Height, d->Depth, d->Format, d->NumChannels);
}

SHIM_EXPORT CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	return SHIM_COUNTED(SHIM_CHARGE_ARRAY,
			    d ? array_bytes(d->Width, d->Height, 1, d->Format, d->NumChannels) : 0,
			    SHIM_IN_BARRIER(REAL(cuArrayCreate_v2)(array, d)), (uintptr_t)*array,
			    shim_current());
}

SHIM_EXPORT CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return SHIM_COUNTED(SHIM_CHARGE_ARRAY, array3d_bytes(d),
			    SHIM_IN_BARRIER(REAL(cuArray3DCreate_v2)(array, d)), (uintptr_t)*array,
			    shim_current());
}

SHIM_EXPORT CUresult cuArrayDestroy(CUarray array)
{
	return SHIM_UNCOUNTED(SHIM_CHARGE_ARRAY, (uintptr_t)array,
			      SHIM_IN_BARRIER(REAL(cuArrayDestroy)(array)));
}

static uint64_t mipmapped_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	uint64_t bytes = 0, level;
	CUDA_ARRAY3D_DESCRIPTOR at;

	if (!d)
		return 0;
	at = *d;
	for (unsigned int i = 0; i < levels && i < 64; i++) {
		level = array3d_bytes(&at);
		if (__builtin_add_overflow(bytes, level, &bytes))
			return UINT64_MAX;
		at.Width = at_least_1(at.Width / 2);
		at.Height = at.Height ? at_least_1(at.Height / 2) : 0;
		if (!(at.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
			at.Depth = at.Depth ? at_least_1(at.Depth / 2) : 0;
	}
	return bytes;
}

SHIM_EXPORT CUresult cuMipmappedArrayCreate(CUmipmappedArray *array,
					    const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned int levels)
{
	return SHIM_COUNTED(SHIM_CHARGE_ARRAY, mipmapped_bytes(d, levels),
			    SHIM_IN_BARRIER(REAL(cuMipmappedArrayCreate)(array, d, levels)),
			    (uintptr_t)*array, shim_current());
}

SHIM_EXPORT CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	return SHIM_UNCOUNTED(SHIM_CHARGE_ARRAY, (uintptr_t)array,
			      SHIM_IN_BARRIER(REAL(cuMipmappedArrayDestroy)(array)));
}

/* ---- memory of other interfaces -------------------------------------------- */

/* Memory of another API, which is not counted elsewhere. What IPC and VMM import is counted at the
 * exporter. */
SHIM_EXPORT CUresult cuImportExternalMemory(CUexternalMemory *memory,
					    const struct shim_external_memory *d)
{
	return SHIM_COUNTED(SHIM_CHARGE_EXTERNAL, d ? d->size : 0,
			    SHIM_IN_BARRIER(REAL(cuImportExternalMemory)(memory, d)),
			    (uintptr_t)*memory, NULL);
}

SHIM_EXPORT CUresult cuDestroyExternalMemory(CUexternalMemory memory)
{
	return SHIM_UNCOUNTED(SHIM_CHARGE_EXTERNAL, (uintptr_t)memory,
			      SHIM_IN_BARRIER(REAL(cuDestroyExternalMemory)(memory)));
}

/* The interface of CUDA 2 and 3, with addresses of 32 bits. No program for this system can have
 * been built for it, so it is refused; it would only be a way around the accounting. */
#define OLD_ENTRY(name, parameters, arguments) \
	SHIM_EXPORT CUresult name parameters \
	{ \
		return shim_session() ? CUDA_ERROR_NOT_SUPPORTED : REAL(name) arguments; \
	} \
	SHIM_EXPORT CUresult name parameters /* so that a semicolon follows */

OLD_ENTRY(cuMemAlloc, (unsigned int *ptr, unsigned int bytes), (ptr, bytes));
OLD_ENTRY(cuMemAllocPitch,
	  (unsigned int *ptr, unsigned int *pitch, unsigned int width, unsigned int height,
	   unsigned int element),
	  (ptr, pitch, width, height, element));
OLD_ENTRY(cuArrayCreate, (CUarray * array, const void *d), (array, d));
OLD_ENTRY(cuArray3DCreate, (CUarray * array, const void *d), (array, d));
