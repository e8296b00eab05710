/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exported functions of entries.def, their _ptsz and _ptds variants, and the context that they
 * work in. */
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

#define VARIANT(name, variant, parameters, arguments) \
	RT_EXPORT cudaError_t name##variant parameters; \
	RT_EXPORT cudaError_t name##variant parameters \
	{ \
		cudaError_t rc; \
		rt_per_thread++; \
		rc = name arguments; \
		rt_per_thread--; \
		return rc; \
	}
#define VARIANT_N(name, parameters, arguments)
#define VARIANT_Z(name, parameters, arguments) VARIANT(name, _ptsz, parameters, arguments)
#define VARIANT_D(name, parameters, arguments) VARIANT(name, _ptds, parameters, arguments)
#define RT(variant, need, name, parameters, arguments) \
	RT_EXPORT cudaError_t cuda##name parameters; \
	RT_EXPORT cudaError_t cuda##name parameters \
	{ \
		cudaError_t rc = rt_begin(RT_##need); \
		return rt_end(rc == cudaSuccess ? rt_##name arguments : rc); \
	} \
	VARIANT_##variant(cuda##name, parameters, arguments)
#include "device/cudart/entries.def"
