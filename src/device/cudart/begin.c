/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each entry point begins with: the context that it works in; see rt.h. */
#define _GNU_SOURCE
#include <pthread.h>

#include "device/cudart/rt.h"

__thread int rt_per_thread;

/* The Runtime uses the context that is current, or else the device's primary one. */
static cudaError_t context(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static CUcontext primary;
	CUcontext current = NULL;
	cudaError_t rc;

	DRV_TRY(DRV(cuCtxGetCurrent)(&current));
	if (current)
		return cudaSuccess;
	pthread_mutex_lock(&mutex);
	if (primary) {
		unsigned int flags;
		int active = 0;

		DRV(cuDevicePrimaryCtxGetState)(rt_device(), &flags, &active);
		if (!active)
			primary = NULL; /* cudaDeviceReset */
	}
	rc = primary ? cudaSuccess : rt_error(DRV(cuDevicePrimaryCtxRetain)(&primary, rt_device()));
	current = primary;
	pthread_mutex_unlock(&mutex);
	return rc == cudaSuccess ? rt_error(DRV(cuCtxSetCurrent)(current)) : rc;
}

cudaError_t rt_begin(enum rt_need need)
{
	if (need == RT_NOTHING)
		return cudaSuccess;
	RT_TRY(rt_init());
	return need == RT_CONTEXT ? context() : cudaSuccess;
}
