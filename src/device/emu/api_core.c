/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Initialisation, the device's properties, error names, and the table of entry points. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/checkpoint.h"
#include "device/emu/emu.h"

#define DRIVER_VERSION 13000

/*
 * A forked child has none of the device's threads: it must not use the device, and must not keep
 * the parent's place in the device file alive. As with NVIDIA's driver it cannot begin anew either:
 * the context that its thread has is the parent's, whose kernels would never end here.
 */
static int is_forked;

static void forked(void)
{
	is_forked = 1;
	emu_device_forked(emu.dev);
	memset(&emu, 0, sizeof(emu));
	pthread_mutex_init(&emu.mutex, NULL);
}

static void at_exit(void)
{
	/*
	 * take no locks at exit, as other threads may hold them; the kernel releases the place
	 * anyway
	 */
	fflush(stdout);
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
	CUresult rc = CUDA_SUCCESS;
	struct gs_error err;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&emu.mutex);
	if (!emu.ready) {
		emu.dev = emu_device_open(&err);
		if (emu.dev) {
			emu.config = emu_device_config(emu.dev);
			emu.mem = emu_mem_create();
			emu.engine = emu_engine_create(emu.dev, &err);
		}
		if (!emu.dev || !emu.mem || !emu.engine) {
			emu_log("%s", err.text);
			rc = CUDA_ERROR_NO_DEVICE;
			emu_device_close(emu.dev);
			emu.dev = NULL;
		} else {
			emu.ready = 1;
			pthread_atfork(NULL, NULL, forked);
			atexit(at_exit);
			emu_checkpoint_listen();
		}
	}
	pthread_mutex_unlock(&emu.mutex);
	return rc;
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = DRIVER_VERSION;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **str)
{
	if (!str)
		return CUDA_ERROR_INVALID_VALUE;
	switch (error) {
#define E(name, value, text) \
	case name: \
		*str = #name; \
		return CUDA_SUCCESS;
#include "device/driver/errors.def"
#undef E
	}
	*str = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **str)
{
	if (!str)
		return CUDA_ERROR_INVALID_VALUE;
	switch (error) {
#define E(name, value, text) \
	case name: \
		*str = text; \
		return CUDA_SUCCESS;
#include "device/driver/errors.def"
#undef E
	}
	*str = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

/* Every entry point with its variants, oldest version first. */
struct entry {
	const char *name; /* without version suffix */
	const char *symbol;
	int since;
	void *fn, *per_thread;
};

#define VARIANT_N(symbol) NULL
#define VARIANT_Z(symbol) (void *)symbol##_ptsz
#define VARIANT_D(symbol) (void *)symbol##_ptds
static const struct entry entries[] = {
#define CU(kind, name, suffix, since, parameters, arguments) \
	{ #name, #name #suffix, since, (void *)name##suffix, VARIANT_##kind(name##suffix) },
#include "device/driver/entries.def"
#undef CU
};

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
				     CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	char base[128];
	size_t len;
	int per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

	if (!symbol || !pfn || flags > 2)
		return CUDA_ERROR_INVALID_VALUE;
	*pfn = NULL;
	snprintf(base, sizeof(base), "%s", symbol);
	len = strlen(base);
	if (len > 5 && (!strcmp(base + len - 5, "_ptsz") || !strcmp(base + len - 5, "_ptds"))) {
		base[len - 5] = '\0';
		per_thread = 1;
	}
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const struct entry *e = &entries[i];

		if (strcmp(base, e->name) != 0 && strcmp(base, e->symbol) != 0)
			continue;
		if (e->since > version && strcmp(base, e->name) == 0) {
			if (!*pfn)
				found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
			continue;
		}
		*pfn = per_thread && e->per_thread ? e->per_thread : e->fn;
		found = CU_GET_PROC_ADDRESS_SUCCESS;
	}
	if (status) {
		*status = found;
		return CUDA_SUCCESS;
	}
	return found == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#undef cuGetProcAddress
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}

CUresult CUDAAPI cuProfilerStart(void)
{
	return emu_enter_plain();
}

CUresult CUDAAPI cuProfilerStop(void)
{
	return emu_enter_plain();
}

static CUresult device(CUdevice dev)
{
	EMU_TRY(emu_enter_plain());
	return dev == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

EMU_GET(cuDeviceGet, (CUdevice * dev, int ordinal), device(ordinal), dev, 0);
EMU_GET(cuDeviceGetCount, (int *count), emu_enter_plain(), count, 1);

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
	EMU_TRY(device(dev));
	if (!name || len < 1)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)len, "gpushare emulated device");
	return CUDA_SUCCESS;
}

EMU_GET(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice dev), device(dev), bytes,
	emu.config->memory);

#undef cuDeviceGetUuid
CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	EMU_TRY(device(dev));
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(uuid->bytes, "gpushare-emu-000", 16);
	return CUDA_SUCCESS;
}

EMU_ALIAS(cuDeviceGetUuid_v2, cuDeviceGetUuid);

CUresult CUDAAPI cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	EMU_TRY(device(dev));
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = 9;
	*minor = 0;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	EMU_TRY(device(dev));
	if (!id || len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(id, (size_t)len, "0000:00:00.0");
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	EMU_TRY(emu_enter_plain());
	if (!dev || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (strcmp(id, "0000:00:00.0") != 0)
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = 0;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	EMU_TRY(device(dev));
	EMU_TRY(device(peer));
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	*can = 0;
	return CUDA_SUCCESS;
}

/* An attribute that is not listed is 0, as on a device without the feature. */
static int attribute(CUdevice_attribute a)
{
	int bps = (int)emu.config->blocks_per_sm;

	switch ((int)a) {
#define A(name, value) \
	case CU_DEVICE_ATTRIBUTE_##name: \
		return value;
#include "device/emu/attributes.def"
#undef A
	default:
		return 0;
	}
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice dev)
{
	EMU_TRY(device(dev));
	if (!value || (int)a < 1 || a >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attribute(a);
	return CUDA_SUCCESS;
}
