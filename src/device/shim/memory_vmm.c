/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Virtual memory management: an allocation lives as long as it has a handle or
 * is mapped.  Many programs release the handle as soon as it is mapped, so
 * the count ends with the last of both.
 *
 * What is to end is chosen before the driver is asked: as soon as it has let go,
 * it may give the same handle or address to another thread.  Until then it can
 * still be mapped, so it stays in its list.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "device/shim/memory.h"
#include "device/shim/wraps.h"

struct physical {
	uint64_t bytes;
	uint64_t uses; /* handles and mappings */
};

/* A handle of it, or a mapping at an address. */
struct use {
	struct use *next;
	CUmemGenericAllocationHandle handle; /* of a mapping: 0 */
	CUdeviceptr at;
	size_t size;
	struct physical *memory;
	const void *ends; /* chosen to end, by whom; NULL: it lives */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct use *handles, *mappings; /* under lock */

static void add_use(struct use **list, struct physical *memory,
		    CUmemGenericAllocationHandle handle, CUdeviceptr at, size_t size)
{
	struct use *u = malloc(sizeof(*u));

	memory->uses++;
	if (!u)
		return; /* it stays charged: too much rather than too little */
	*u = (struct use){ *list, handle, at, size, memory, NULL };
	*list = u;
}

/* Takes the use out; the bytes that nobody uses any more. */
static uint64_t drop_use(struct use **at)
{
	struct use *u = *at;
	uint64_t bytes = 0;

	*at = u->next;
	if (--u->memory->uses == 0) {
		bytes = u->memory->bytes;
		free(u->memory);
	}
	free(u);
	return bytes;
}

/* The driver's answer about the `n` that `who` chose: they are over, or they live on. */
static void answered(struct shim_session *s, struct use **list, const void *who, size_t n, int over)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&lock);
	while (n && *list) {
		if ((*list)->ends != who) {
			list = &(*list)->next;
			continue;
		}
		n--;
		(*list)->ends = NULL;
		if (over)
			bytes += drop_use(list);
	}
	pthread_mutex_unlock(&lock);
	shim_uncharge(s, bytes);
}

/* The newest: what ends by the same number is older. */
static struct use *find_handle(CUmemGenericAllocationHandle handle)
{
	struct use *u = handles;

	while (u && u->handle != handle)
		u = u->next;
	return u;
}

static void created(CUmemGenericAllocationHandle handle, uint64_t bytes)
{
	struct physical *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return;
	memory->bytes = bytes;
	pthread_mutex_lock(&lock);
	add_use(&handles, memory, handle, 0, 0);
	pthread_mutex_unlock(&lock);
}

/* Memory of the host is no business of ours. */
static int on_device(const CUmemAllocationProp *prop)
{
	return prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

SHIM_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
				 const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct shim_session *s = shim_session();
	uint64_t bytes = on_device(prop) ? size : 0;
	CUresult rc;

	if (s && !shim_charge(s, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	rc = SHIM_GATED(REAL(cuMemCreate)(handle, size, prop, flags));
	if (s && rc != CUDA_SUCCESS)
		shim_uncharge(s, bytes);
	else if (s && bytes)
		created(*handle, bytes);
	return rc;
}

SHIM_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct shim_session *s = shim_session_peek();
	struct use *u;
	CUresult rc;

	if (!s)
		return REAL(cuMemRelease)(handle);
	pthread_mutex_lock(&lock);
	for (u = handles; u && (u->handle != handle || u->ends); u = u->next)
		;
	if (u)
		u->ends = &u;
	pthread_mutex_unlock(&lock);
	rc = REAL(cuMemRelease)(handle);
	answered(s, &handles, &u, u != NULL, rc == CUDA_SUCCESS);
	return rc;
}

SHIM_EXPORT CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset,
			      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult rc = SHIM_GATED(REAL(cuMemMap)(at, size, offset, handle, flags));
	struct use *u;

	if (rc != CUDA_SUCCESS || !shim_session_peek())
		return rc;
	pthread_mutex_lock(&lock);
	u = find_handle(handle);
	if (u)
		add_use(&mappings, u->memory, 0, at, size);
	pthread_mutex_unlock(&lock);
	return rc;
}

SHIM_EXPORT CUresult cuMemUnmap(CUdeviceptr at, size_t size)
{
	struct shim_session *s = shim_session_peek();
	size_t n = 0;
	CUresult rc;

	if (!s)
		return REAL(cuMemUnmap)(at, size);
	pthread_mutex_lock(&lock);
	for (struct use *u = mappings; u; u = u->next)
		if (!u->ends && u->at >= at && u->at - at < size) {
			u->ends = &n;
			n++;
		}
	pthread_mutex_unlock(&lock);
	rc = REAL(cuMemUnmap)(at, size);
	answered(s, &mappings, &n, n, rc == CUDA_SUCCESS);
	return rc;
}

/* One handle more, of what is mapped at an address. */
SHIM_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	CUresult rc = SHIM_GATED(REAL(cuMemRetainAllocationHandle)(handle, addr));
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)addr;

	if (rc != CUDA_SUCCESS || !shim_session_peek())
		return rc;
	pthread_mutex_lock(&lock);
	for (struct use *u = mappings; u; u = u->next)
		if (at >= u->at && at - u->at < u->size) {
			add_use(&handles, u->memory, *handle, 0, 0);
			break;
		}
	pthread_mutex_unlock(&lock);
	return rc;
}

void shim_vmm_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	handles = mappings = NULL;
}
