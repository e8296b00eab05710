/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory pool of allocations that name none: the current device's. The driver is asked for it
 * once and the answer is cached. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>

#include "device/shim/context/barrier.h"
#include "device/shim/context/context.h"
#include "device/shim/memory/charge.h"
#include "device/shim/base/wraps.h"

#define DEVICES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUmemoryPool current[DEVICES]; /* under lock; NULL: not known */
/* under lock: how many calls may have changed a device's pool */
static unsigned int changes;

CUmemoryPool shim_current_pool(void)
{
	CUmemoryPool pool = NULL;
	unsigned int known_at;
	CUdevice device;

	if (shim_context_device(&device) != CUDA_SUCCESS)
		return NULL;
	pthread_mutex_lock(&lock);
	known_at = changes;
	if (device >= 0 && device < DEVICES)
		pool = current[device];
	pthread_mutex_unlock(&lock);
	if (pool || REAL(cuDeviceGetMemPool)(&pool, device) != CUDA_SUCCESS)
		return pool;
	pthread_mutex_lock(&lock);
	if (device >= 0 && device < DEVICES && changes == known_at)
		current[device] = pool;
	pthread_mutex_unlock(&lock);
	return pool;
}

void shim_current_pool_unknown(void)
{
	pthread_mutex_lock(&lock);
	memset(current, 0, sizeof(current));
	changes++;
	pthread_mutex_unlock(&lock);
}

#define MAY_CHANGE(name, params, args) \
	SHIM_EXPORT CUresult name params \
	{ \
		CUresult rc; \
		shim_current_pool_unknown(); \
		rc = SHIM_IN_BARRIER(REAL(name) args); \
		shim_current_pool_unknown(); \
		return rc; \
	}

MAY_CHANGE(cuDeviceSetMemPool, (CUdevice dev, CUmemoryPool pool), (dev, pool))
MAY_CHANGE(cuMemSetMemPool, (CUmemLocation * location, CUmemAllocationType type, CUmemoryPool pool),
	   (location, type, pool))

void shim_current_pool_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	memset(current, 0, sizeof(current));
}
