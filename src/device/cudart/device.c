/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices, their properties and limits. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "device/cudart/rt.h"

static __thread int device_of_thread;

int rt_device(void)
{
	return device_of_thread;
}

static cudaError_t valid(int device)
{
	int count;

	DRV_TRY(DRV(cuDeviceGetCount)(&count));
	return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t rt_GetDevice(int *device)
{
	if (!device)
		return cudaErrorInvalidValue;
	*device = device_of_thread;
	return cudaSuccess;
}

cudaError_t rt_SetDevice(int device)
{
	RT_TRY(valid(device));
	device_of_thread = device;
	return rt_begin(RT_CONTEXT);
}

cudaError_t rt_InitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	(void)device_flags, (void)flags;
	return rt_SetDevice(device);
}

cudaError_t rt_ChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	if (!device || !prop)
		return cudaErrorInvalidValue;
	*device = 0;
	return cudaSuccess;
}

cudaError_t rt_SetValidDevices(int *devices, int n)
{
	for (int i = 0; i < n; i++)
		RT_TRY(valid(devices[i]));
	return cudaSuccess;
}

cudaError_t rt_GetDeviceFlags(unsigned int *flags)
{
	int active;

	if (!flags)
		return cudaErrorInvalidValue;
	DRV_RETURN(DRV(cuDevicePrimaryCtxGetState)(device_of_thread, flags, &active));
}

cudaError_t rt_DeviceGetAttribute(int *value, CUdevice_attribute attribute, int device)
{
	RT_TRY(valid(device));
	DRV_RETURN(DRV(cuDeviceGetAttribute)(value, attribute, device));
}

cudaError_t rt_GetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	int v = 0;

	if (!prop)
		return cudaErrorInvalidValue;
	RT_TRY(valid(device));
	memset(prop, 0, sizeof(*prop));
	DRV_TRY(DRV(cuDeviceGetName)(prop->name, sizeof(prop->name), device));
	DRV_TRY(DRV(cuDeviceGetUuid_v2)(&prop->uuid, device));
	DRV_TRY(DRV(cuDeviceTotalMem_v2)(&prop->totalGlobalMem, device));
#define P(field, attribute) \
	DRV_TRY(DRV(cuDeviceGetAttribute)(&v, CU_DEVICE_ATTRIBUTE_##attribute, device)); \
	prop->field = (__typeof__(prop->field))v;
#include "device/cudart/properties.def"
#undef P
	return cudaSuccess;
}

/* There is no peer: the device itself is none. */
cudaError_t rt_DeviceEnablePeerAccess(int peer, unsigned int flags)
{
	if (flags)
		return cudaErrorInvalidValue;
	RT_TRY(valid(peer));
	return cudaErrorPeerAccessUnsupported;
}

cudaError_t rt_DeviceDisablePeerAccess(int peer)
{
	RT_TRY(valid(peer));
	return cudaErrorPeerAccessNotEnabled;
}

cudaError_t rt_DeviceGetP2PAttribute(int *value, int attribute, int src, int dst)
{
	(void)attribute;
	if (!value)
		return cudaErrorInvalidValue;
	RT_TRY(valid(src));
	RT_TRY(valid(dst));
	if (src == dst)
		return cudaErrorInvalidDevice;
	*value = 0;
	return cudaSuccess;
}

cudaError_t rt_DeviceReset(void)
{
	DRV_TRY(DRV(cuCtxSetCurrent)(NULL));
	DRV_RETURN(DRV(cuDevicePrimaryCtxReset_v2)(device_of_thread));
}

/* Banks of four bytes are all that there have been for long. */
cudaError_t rt_DeviceGetSharedMemConfig(int *config)
{
	if (!config)
		return cudaErrorInvalidValue;
	*config = 1;
	return cudaSuccess;
}

cudaError_t rt_DeviceSetSharedMemConfig(int config)
{
	(void)config;
	return cudaSuccess;
}

cudaError_t rt_DriverGetVersion(int *version)
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = 0;
	if (rt_init() == cudaSuccess)
		DRV(cuDriverGetVersion)(version);
	return cudaSuccess;
}

cudaError_t rt_RuntimeGetVersion(int *version)
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = CUDA_VERSION;
	return cudaSuccess;
}

cudaError_t rt_ProfilerStart(void)
{
	return cudaSuccess;
}

cudaError_t rt_ProfilerStop(void)
{
	return cudaSuccess;
}

cudaError_t rt_GetDriverEntryPointByVersion(const char *symbol, void **fn, unsigned int version,
					    unsigned long long flags, int *status)
{
	CUdriverProcAddressQueryResult result = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cuuint64_t f = flags         ? flags :
		       rt_per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM :
				       0;
	CUresult rc;

	if (!symbol || !fn)
		return cudaErrorInvalidValue;
	rc = DRV(cuGetProcAddress_v2)(symbol, fn, (int)version, f, &result);
	if (status)
		*status = (int)result;
	/* "cudaGetDriverEntryPoint", CUDA Runtime API: not found is said in status, not as an error
	 */
	if (rc == CUDA_ERROR_NOT_FOUND) {
		*fn = NULL;
		rc = CUDA_SUCCESS;
	}
	DRV_RETURN(rc);
}

cudaError_t rt_GetDriverEntryPoint(const char *symbol, void **fn, unsigned long long flags,
				   int *status)
{
	return rt_GetDriverEntryPointByVersion(symbol, fn, CUDA_VERSION, flags, status);
}
