/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Virtual memory management: an allocation lives as long as it has a handle or
 * is mapped.  Many programs release the handle as soon as it is mapped, so
 * the count ends with the last of both.
 *
 * The driver is called without our lock, and what other threads do meanwhile may come
 * before or behind in our lists.  As soon as it has let go, it may give the same handle or
 * address to another thread: what ends is at least as old as the call that ends it.
 * What is to be mapped is held on to beforehand: it may be released before we
 * hear that it has been mapped.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#include "device/shim/context/barrier.h"
#include "device/shim/memory/charge.h"
#include "device/shim/base/wraps.h"

struct physical {
	uint64_t bytes;
	uint64_t uses; /* handles, mappings, and calls that may add one */
};

/* A handle of it, or a mapping at an address. */
struct use {
	struct use *next;
	CUmemGenericAllocationHandle handle; /* of a mapping: 0 */
	CUdeviceptr at;
	size_t size;
	struct physical *memory;
	uint64_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct use *handles, *mappings; /* under lock, the newest first */
static uint64_t numbers;               /* given out so far; under lock */

/* The caller's use of the memory goes into a list. */
static void add_use(struct use **list, struct use new)
{
	struct use *u = malloc(sizeof(*u));

	if (!u)
		return; /* it stays charged: too much rather than too little */
	*u = new;
	u->number = ++numbers;
	u->next = *list;
	*list = u;
}

/* One use less; the bytes that nobody uses any more. */
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

/* Whatever is added from now on has a higher number. */
static uint64_t newest(void)
{
	uint64_t number;

	pthread_mutex_lock(&lock);
	number = numbers;
	pthread_mutex_unlock(&lock);
	return number;
}

/* The driver is about to be asked for one use more; NULL: the memory is not counted. */
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

/* The driver's answer. */
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

/* One handle more, of what is mapped at an address. */
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
