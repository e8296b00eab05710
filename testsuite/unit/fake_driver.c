/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recording driver of the shim's unit tests; see fake_driver.h.  Here: what is recorded,
 * contexts and memory. */
#define _GNU_SOURCE
#include "device/shim/context/context.h"
#include "fake_driver_core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/driver/emu_export.h"
#include "device/shim/base/shim.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char calls[4096];
static char failing[64];
static CUresult failing_rc;
static _Atomic uintptr_t current = (uintptr_t)FAKE_CONTEXT;
static _Atomic int broken; /* CUresult */
static void (*_Atomic inside)(const char *call, CUstream stream);

CUresult fake_called(const char *name)
{
	CUresult rc = broken;

	pthread_mutex_lock(&lock);
	if (calls[0])
		strncat(calls, " ", sizeof(calls) - strlen(calls) - 1);
	strncat(calls, name, sizeof(calls) - strlen(calls) - 1);
	if (strcmp(failing, name) == 0) {
		rc = failing_rc;
		failing[0] = 0;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

CUresult fake_called_in(const char *name, CUstream stream)
{
	void (*hook)(const char *call, CUstream stream) = inside;

	if (hook)
		hook(name, stream);
	return fake_called(name);
}

void fake_driver_inside(void (*hook)(const char *call, CUstream stream))
{
	inside = hook;
}

void fake_driver_calls(char *text, size_t size)
{
	pthread_mutex_lock(&lock);
	snprintf(text, size, "%s", calls);
	calls[0] = 0;
	pthread_mutex_unlock(&lock);
}

void fake_driver_fail(const char *call, CUresult rc)
{
	pthread_mutex_lock(&lock);
	snprintf(failing, sizeof(failing), "%s", call);
	failing_rc = rc;
	pthread_mutex_unlock(&lock);
}

void fake_driver_break(CUresult rc)
{
	broken = rc;
}

CUcontext fake_driver_renew(void)
{
	broken = CUDA_SUCCESS;
	shim_context_changes(); /* as what makes one says */
	return (CUcontext)(atomic_fetch_add(&current, 0x10) + 0x10);
}

CUresult fake_current(CUcontext *ctx)
{
	*ctx = (CUcontext)current;
	return CUDA_SUCCESS;
}

static CUresult fake_set_current(CUcontext ctx)
{
	return (uintptr_t)ctx >= (uintptr_t)FAKE_CONTEXT && (uintptr_t)ctx <= current ?
		       CUDA_SUCCESS :
		       CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult fake_query(CUstream stream)
{
	(void)stream;
	return broken;
}

static CUresult fake_device(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

static CUresult fake_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? FAKE_SMS : 0;
	return CUDA_SUCCESS;
}

static CUresult fake_register(void *p, size_t bytes, unsigned int flags)
{
	void (*hook)(const char *call, CUstream stream) = inside;

	(void)p, (void)bytes, (void)flags;
	if (hook)
		hook("register", NULL);
	return CUDA_SUCCESS;
}

static CUresult fake_device_pointer(CUdeviceptr *device, void *host, unsigned int flags)
{
	(void)flags;
	*device = (CUdeviceptr)(uintptr_t)host;
	return CUDA_SUCCESS;
}

/* What is not released is the context's, and no leak: it stays within reach here. */
static _Atomic(void *) device_memory[1024];

static void keep(void *from, void *to)
{
	for (size_t i = 0; i < sizeof(device_memory) / sizeof(device_memory[0]); i++) {
		void *is = from;

		if (atomic_compare_exchange_strong(&device_memory[i], &is, to))
			return;
	}
}

static CUresult fake_alloc(CUdeviceptr *p, size_t bytes)
{
	CUresult rc = fake_called("alloc");
	void *memory = calloc(1, bytes);

	keep(NULL, memory);
	*p = (CUdeviceptr)(uintptr_t)memory;
	return rc;
}

static CUresult fake_free(CUdeviceptr p)
{
	keep((void *)(uintptr_t)p, NULL);
	free((void *)(uintptr_t)p);
	return fake_called("free");
}

static CUresult fake_host_alloc(void **p, size_t bytes, unsigned int flags)
{
	(void)flags;
	*p = calloc(1, bytes);
	return CUDA_SUCCESS;
}

static CUresult fake_alloc_host(void **p, size_t bytes)
{
	*p = calloc(1, bytes);
	return CUDA_SUCCESS;
}

static CUresult fake_htod(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	(void)stream;
	memcpy((void *)(uintptr_t)to, from, bytes);
	return fake_called("copy");
}

static CUresult fake_dtoh(void *to, CUdeviceptr from, size_t bytes)
{
	memcpy(to, (void *)(uintptr_t)from, bytes);
	return fake_called("dtoh");
}

static CUresult fake_ok(void)
{
	return CUDA_SUCCESS;
}

static CUresult fake_not_found(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

/* As of the emulated device, which takes a variant as PTX: no compiler is called. */
static CUresult fake_table(const void **table, const CUuuid *id)
{
	static const struct gs_emu_export emulated = { .size = sizeof(emulated) };

	(void)id;
	*table = &emulated;
	return CUDA_SUCCESS;
}

void fake_driver_install(void)
{
	for (int i = 0; i < SHIM_FN_COUNT; i++)
		shim_slot[i] = (void *)(uintptr_t)fake_ok;
	FAKE_PUT(cuCtxGetCurrent, fake_current);
	FAKE_PUT(cuCtxSetCurrent, fake_set_current);
	FAKE_PUT(cuCtxGetDevice, fake_device);
	FAKE_PUT(cuDeviceGetAttribute, fake_attribute);
	FAKE_PUT(cuMemHostRegister_v2, fake_register);
	FAKE_PUT(cuMemHostGetDevicePointer_v2, fake_device_pointer);
	FAKE_PUT(cuMemAlloc_v2, fake_alloc);
	FAKE_PUT(cuMemFree_v2, fake_free);
	FAKE_PUT(cuMemHostAlloc, fake_host_alloc);
	FAKE_PUT(cuMemAllocHost_v2, fake_alloc_host);
	FAKE_PUT(cuStreamQuery, fake_query);
	FAKE_PUT(cuLibraryGetKernel, fake_not_found);
	FAKE_PUT(cuGetExportTable, fake_table);
	FAKE_PUT(cuMemcpyHtoDAsync_v2, fake_htod);
	FAKE_PUT(cuMemcpyDtoH_v2, fake_dtoh);
	fake_streams_install();
	fake_launches_install();
}
