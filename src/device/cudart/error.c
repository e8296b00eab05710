/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors: the thread's last one, and their names. */
#define _GNU_SOURCE
#include "device/cudart/rt.h"

static __thread cudaError_t last;

/* The values are the same where both have the error. */
cudaError_t rt_error(CUresult rc)
{
	return (cudaError_t)rc;
}

cudaError_t rt_end(cudaError_t rc)
{
	if (rc != cudaSuccess)
		last = rc;
	return rc;
}

RT_EXPORT cudaError_t cudaGetLastError(void);
RT_EXPORT cudaError_t cudaGetLastError(void)
{
	cudaError_t rc = last;

	last = cudaSuccess;
	return rc;
}

RT_EXPORT cudaError_t cudaPeekAtLastError(void);
RT_EXPORT cudaError_t cudaPeekAtLastError(void)
{
	return last;
}

RT_EXPORT const char *cudaGetErrorName(cudaError_t error);
RT_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	switch ((int)error) {
#define E(name, value, text) \
	case value: \
		return #name;
#include "device/cudart/errors.def"
#undef E
	default:
		return "unrecognized error code";
	}
}

RT_EXPORT const char *cudaGetErrorString(cudaError_t error);
RT_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	switch ((int)error) {
#define E(name, value, text) \
	case value: \
		return text;
#include "device/cudart/errors.def"
#undef E
	default:
		return "unrecognized error code";
	}
}

/* ---- what is not there: a program that asks is told so, and goes on as it would on a device
 * without the feature ---- */

#define ABSENT(name) \
	RT_EXPORT cudaError_t name(void); \
	RT_EXPORT cudaError_t name(void) \
	{ \
		return rt_end(cudaErrorNotSupported); \
	}
#include "device/cudart/absent.def"
