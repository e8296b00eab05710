/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation, pools, what is known of a pointer. */
#define _GNU_SOURCE
#include <string.h>

#include "device/cudart/rt.h"

static CUdeviceptr address(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

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
	DRV_RETURN(DRV(cuMemFree_v2)(address(ptr)));
}

cudaError_t rt_FreeHost(void *ptr)
{
	if (!ptr)
		return cudaSuccess;
	DRV_RETURN(DRV(cuMemFreeHost)(ptr));
}

cudaError_t rt_HostRegister(void *ptr, size_t bytes, unsigned int flags)
{
	DRV_RETURN(DRV(cuMemHostRegister_v2)(ptr, bytes, flags));
}

cudaError_t rt_HostUnregister(void *ptr)
{
	DRV_RETURN(DRV(cuMemHostUnregister)(ptr));
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

cudaError_t rt_HostGetFlags(unsigned int *flags, void *host)
{
	DRV_RETURN(DRV(cuMemHostGetFlags)(flags, host));
}

cudaError_t rt_MemGetInfo(size_t *available, size_t *total)
{
	DRV_RETURN(DRV(cuMemGetInfo_v2)(available, total));
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
	DRV_TRY(DRV(cuPointerGetAttributes)(4, what, data, address(ptr)));
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
	DRV_RETURN(DRV(cuMemFreeAsync)(address(ptr), rt_stream(stream)));
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

cudaError_t rt_DeviceGetDefaultMemPool(CUmemoryPool *pool, int device)
{
	DRV_RETURN(DRV(cuDeviceGetDefaultMemPool)(pool, device));
}

cudaError_t rt_DeviceGetMemPool(CUmemoryPool *pool, int device)
{
	DRV_RETURN(DRV(cuDeviceGetMemPool)(pool, device));
}

cudaError_t rt_DeviceSetMemPool(int device, CUmemoryPool pool)
{
	DRV_RETURN(DRV(cuDeviceSetMemPool)(device, pool));
}

cudaError_t rt_MemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	DRV_RETURN(DRV(cuMemPoolCreate)(pool, props));
}

cudaError_t rt_MemPoolDestroy(CUmemoryPool pool)
{
	DRV_RETURN(DRV(cuMemPoolDestroy)(pool));
}

cudaError_t rt_MemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	DRV_RETURN(DRV(cuMemPoolSetAttribute)(pool, attribute, value));
}

cudaError_t rt_MemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	DRV_RETURN(DRV(cuMemPoolGetAttribute)(pool, attribute, value));
}

cudaError_t rt_MemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	DRV_RETURN(DRV(cuMemPoolTrimTo)(pool, keep));
}

cudaError_t rt_MemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n)
{
	DRV_RETURN(DRV(cuMemPoolSetAccess)(pool, map, n));
}

/* ---- hints ---- */

cudaError_t rt_MemPrefetchAsync(const void *ptr, size_t bytes, CUmemLocation location,
				unsigned int flags, CUstream stream)
{
	DRV_RETURN(DRV(cuMemPrefetchAsync_v2)(address(ptr), bytes, location, flags,
					      rt_stream(stream)));
}

cudaError_t rt_MemAdvise(const void *ptr, size_t bytes, int advice, CUmemLocation location)
{
	DRV_RETURN(DRV(cuMemAdvise_v2)(address(ptr), bytes, advice, location));
}

cudaError_t rt_StreamAttachMemAsync(CUstream stream, void *ptr, size_t bytes, unsigned int flags)
{
	DRV_RETURN(DRV(cuStreamAttachMemAsync)(rt_stream(stream), address(ptr), bytes, flags));
}

/* ---- between processes ---- */

cudaError_t rt_IpcGetMemHandle(CUipcMemHandle *handle, void *ptr)
{
	DRV_RETURN(DRV(cuIpcGetMemHandle)(handle, address(ptr)));
}

cudaError_t rt_IpcOpenMemHandle(void **ptr, CUipcMemHandle handle, unsigned int flags)
{
	CUdeviceptr p;

	if (!ptr)
		return cudaErrorInvalidValue;
	DRV_TRY(DRV(cuIpcOpenMemHandle_v2)(&p, handle, flags));
	*ptr = (void *)(uintptr_t)p;
	return cudaSuccess;
}

cudaError_t rt_IpcCloseMemHandle(void *ptr)
{
	DRV_RETURN(DRV(cuIpcCloseMemHandle)(address(ptr)));
}
