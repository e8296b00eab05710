/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation, pools, what is known of a pointer. */
#define _GNU_SOURCE
#include <string.h>

#include "device/cudart/rt.h"

cudaError_t rt_Malloc(void **ptr, size_t bytes)
{
	CUdeviceptr p = 0;

	if (!ptr)
		return cudaErrorInvalidValue;
	if (bytes)
		DRV_TRY(DRV(cuMemAlloc_v2)(&p, bytes));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}

cudaError_t rt_MallocHost(void **ptr, size_t bytes)
{
	return rt_HostAlloc(ptr, bytes, 0);
}

cudaError_t rt_HostAlloc(void **ptr, size_t bytes, unsigned int flags)
{
	if (!ptr)
		return cudaErrorInvalidValue;
	*ptr = NULL;
	if (!bytes)
		return cudaSuccess;
	DRV_RETURN(DRV(cuMemHostAlloc)(ptr, bytes, flags));
}

cudaError_t rt_MallocManaged(void **ptr, size_t bytes, unsigned int flags)
{
	CUdeviceptr p;

	if (!ptr || !bytes)
		return cudaErrorInvalidValue;
	DRV_TRY(DRV(cuMemAllocManaged)(&p, bytes, flags));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}

cudaError_t rt_MallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr p = 0;

	if (!ptr || !pitch)
		return cudaErrorInvalidValue;
	if (!width || !height) {
		*ptr = NULL;
		*pitch = 0;
		return cudaSuccess;
	}
	DRV_TRY(DRV(cuMemAllocPitch_v2)(&p, pitch, width, height, 4));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}

cudaError_t rt_Malloc3D(struct cudaPitchedPtr *ptr, struct cudaExtent extent)
{
	if (!ptr || (extent.depth && extent.height > SIZE_MAX / extent.depth))
		return cudaErrorInvalidValue;
	ptr->xsize = extent.width;
	ptr->ysize = extent.height;
	return rt_MallocPitch(&ptr->ptr, &ptr->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t rt_Free(void *ptr)
{
	if (!ptr)
		return cudaSuccess;
	DRV_RETURN(DRV(cuMemFree_v2)(rt_address(ptr)));
}

cudaError_t rt_FreeHost(void *ptr)
{
	if (!ptr)
		return cudaSuccess;
	DRV_RETURN(DRV(cuMemFreeHost)(ptr));
}

cudaError_t rt_HostGetDevicePointer(void **device, void *host, unsigned int flags)
{
	CUdeviceptr p;

	if (!device)
		return cudaErrorInvalidValue;
	DRV_TRY(DRV(cuMemHostGetDevicePointer_v2)(&p, host, flags));
	*device = (void *)(uintptr_t)p;
	return cudaSuccess;
}

cudaError_t rt_PointerGetAttributes(struct cudaPointerAttributes *a, const void *ptr)
{
	unsigned int type = 0, managed = 0;
	CUdeviceptr device = 0;
	void *host = NULL, *data[] = { &type, &managed, &device, &host };
	CUpointer_attribute what[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				       CU_POINTER_ATTRIBUTE_IS_MANAGED,
				       CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
				       CU_POINTER_ATTRIBUTE_HOST_POINTER };

	if (!a)
		return cudaErrorInvalidValue;
	DRV_TRY(DRV(cuPointerGetAttributes)(4, what, data, rt_address(ptr)));
	memset(a, 0, sizeof(*a));
	a->device = type ? rt_device() : -2;
	a->devicePointer = (void *)(uintptr_t)device;
	a->hostPointer = type ? host : (void *)(uintptr_t)ptr;
	a->type = !type                      ? cudaMemoryTypeUnregistered :
		  managed                    ? cudaMemoryTypeManaged :
		  type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost :
					       cudaMemoryTypeDevice;
	return cudaSuccess;
}

/* ---- stream-ordered allocation ---- */

cudaError_t rt_MallocAsync(void **ptr, size_t bytes, CUstream stream)
{
	CUdeviceptr p = 0;

	if (!ptr)
		return cudaErrorInvalidValue;
	if (bytes)
		DRV_TRY(DRV(cuMemAllocAsync)(&p, bytes, rt_stream(stream)));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}

cudaError_t rt_FreeAsync(void *ptr, CUstream stream)
{
	if (!ptr)
		return cudaSuccess;
	DRV_RETURN(DRV(cuMemFreeAsync)(rt_address(ptr), rt_stream(stream)));
}

cudaError_t rt_MallocFromPoolAsync(void **ptr, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	CUdeviceptr p = 0;

	if (!ptr)
		return cudaErrorInvalidValue;
	DRV_TRY(DRV(cuMemAllocFromPoolAsync)(&p, bytes, pool, rt_stream(stream)));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}

/* ---- hints ---- */

/* ---- between processes ---- */

cudaError_t rt_IpcOpenMemHandle(void **ptr, CUipcMemHandle handle, unsigned int flags)
{
	CUdeviceptr p;

	if (!ptr)
		return cudaErrorInvalidValue;
	DRV_TRY(DRV(cuIpcOpenMemHandle_v2)(&p, handle, flags));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}
