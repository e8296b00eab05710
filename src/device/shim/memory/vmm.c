/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Virtual memory management. An allocation lives as long as it has a handle or is mapped. Many
 * programs release the handle as soon as it is mapped, so the charge ends with the last of both.
 *
 * The driver is called without the lock, so other threads' changes may enter the lists before or
 * after this call's. As soon as the driver has released something, it may give the same handle or
 * address to another thread. So a call that ends a use ends only uses that are at least as old as
 * the call. Memory that is to be mapped is counted as in use beforehand, since it may be released
 * before the map call has returned.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "device/shim/context/barrier.h"
#include "device/shim/memory/charge.h"
#include "device/shim/base/wraps.h"

struct physical {
	uint64_t bytes;
	uint64_t uses; /* number of handles, mappings, and calls that may add one */
};

/* One use of the memory: a handle, or a mapping at an address. */
struct use {
	struct use *next;
	CUmemGenericAllocationHandle handle; /* 0 for a mapping */
	CUdeviceptr at;
	size_t size;
	struct physical *memory;
	uint64_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct use *handles, *mappings; /* under lock, the newest first */
static uint64_t numbers;               /* given out so far; under lock */

/* Adds a use of the memory, which the caller has counted, to a list. */
static void add_use(struct use **list, struct use new)
{
	struct use *u = malloc(sizeof(*u));

	/* The memory stays charged for ever: too much rather than too little. */
	if (!u)
		return;
	*u = new;
	u->number = ++numbers;
	u->next = *list;
	*list = u;
}

/* Counts one use less; returns the bytes to uncharge if it was the last. */
static uint64_t unuse(struct physical *memory)
{
	uint64_t bytes = memory->bytes;

	if (--memory->uses)
		return 0;
	free(memory);
	return bytes;
}

static uint64_t drop_use(struct use **at)
{
	struct use *u = *at;
	uint64_t bytes = unuse(u->memory);

	*at = u->next;
	free(u);
	return bytes;
}

/* The newest number; what is added from now on has a higher one. */
static uint64_t newest(void)
{
	uint64_t number;

	pthread_mutex_lock(&lock);
	number = numbers;
	pthread_mutex_unlock(&lock);
	return number;
}

/* Call before the driver is asked for a further use: counts it. NULL: the memory is not counted. */
static struct physical *begin(const struct use *u)
{
	if (!u)
		return NULL;
	u->memory->uses++;
	return u->memory;
}

static struct physical *begin_by_handle(CUmemGenericAllocationHandle handle)
{
	struct physical *memory;
	const struct use *u;

	pthread_mutex_lock(&lock);
	for (u = handles; u && u->handle != handle; u = u->next)
		;
	memory = begin(u);
	pthread_mutex_unlock(&lock);
	return memory;
}

static struct physical *begin_by_address(CUdeviceptr at)
{
	struct physical *memory;
	const struct use *u;

	pthread_mutex_lock(&lock);
	for (u = mappings; u && (at < u->at || at - u->at >= u->size); u = u->next)
		;
	memory = begin(u);
	pthread_mutex_unlock(&lock);
	return memory;
}

/* After the driver's answer: adds the use to the list, or takes the count back. */
static void end(struct shim_session *s, CUresult rc, struct use **list, struct use new)
{
	uint64_t bytes = 0;

	if (!new.memory)
		return;
	pthread_mutex_lock(&lock);
	if (rc == CUDA_SUCCESS)
		add_use(list, new);
	else
		bytes = unuse(new.memory);
	pthread_mutex_unlock(&lock);
	shim_uncharge(s, bytes);
}

static void created(CUmemGenericAllocationHandle handle, uint64_t bytes)
{
	struct physical *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return;
	memory->bytes = bytes;
	memory->uses = 1;
	pthread_mutex_lock(&lock);
	add_use(&handles, (struct use) { .handle = handle, .memory = memory });
	pthread_mutex_unlock(&lock);
}

/* Host memory is not counted. */
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
	rc = SHIM_IN_BARRIER(REAL(cuMemCreate)(handle, size, prop, flags));
	if (s && rc != CUDA_SUCCESS)
		shim_uncharge(s, bytes);
	else if (s && bytes)
		created(*handle, bytes);
	return rc;
}

SHIM_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct shim_session *s = shim_session_peek();
	uint64_t until = newest(), bytes = 0;
	CUresult rc = REAL(cuMemRelease)(handle);
	struct use **u = &handles;

	if (rc != CUDA_SUCCESS || !s)
		return rc;
	pthread_mutex_lock(&lock);
	while (*u && ((*u)->handle != handle || (*u)->number > until))
		u = &(*u)->next;
	if (*u)
		bytes = drop_use(u);
	pthread_mutex_unlock(&lock);
	shim_uncharge(s, bytes);
	return rc;
}

SHIM_EXPORT CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset,
			      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct shim_session *s = shim_session_peek();
	struct physical *memory = s ? begin_by_handle(handle) : NULL;
	CUresult rc = SHIM_IN_BARRIER(REAL(cuMemMap)(at, size, offset, handle, flags));

	end(s, rc, &mappings, (struct use) { .at = at, .size = size, .memory = memory });
	return rc;
}

SHIM_EXPORT CUresult cuMemUnmap(CUdeviceptr at, size_t size)
{
	struct shim_session *s = shim_session_peek();
	uint64_t until = newest(), bytes = 0;
	CUresult rc = REAL(cuMemUnmap)(at, size);
	struct use **u = &mappings;

	if (rc != CUDA_SUCCESS || !s)
		return rc;
	pthread_mutex_lock(&lock);
	while (*u)
		if ((*u)->number <= until && (*u)->at >= at && (*u)->at - at < size)
			bytes += drop_use(u);
		else
			u = &(*u)->next;
	pthread_mutex_unlock(&lock);
	shim_uncharge(s, bytes);
	return rc;
}

/* Adds a handle of what is mapped at an address. */
SHIM_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	struct shim_session *s = shim_session_peek();
	struct physical *memory = s ? begin_by_address((CUdeviceptr)(uintptr_t)addr) : NULL;
	CUresult rc = SHIM_IN_BARRIER(REAL(cuMemRetainAllocationHandle)(handle, addr));

	end(s, rc, &handles,
	    (struct use) { .handle = rc == CUDA_SUCCESS ? *handle : 0, .memory = memory });
	return rc;
}

void shim_vmm_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	handles = mappings = NULL;
}
