/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cuGetProcAddress: what the driver returns decides.  When its pointer is
 * one of the functions that we wrap, the program gets the wrapper instead, so
 * versions and suffixes cannot mismatch (facts/ptx.md, C3).
 */
#define _GNU_SOURCE
#include <stddef.h>

#include "device/shim/shim.h"
#include "device/shim/wraps.h"

static const struct {
	enum shim_fn fn;
	void (*wrapper)(void);
} wrapped[] = {
#define FORWARD_ENTRY(name)
#define WRAPPED_ENTRY(name) { SHIM_FN_##name, (void (*)(void))name },
#define ENTRY(name, kind, hold) kind##_ENTRY(name)
#include "device/shim/entries.def"
#undef ENTRY
};

void *shim_wrapper_of(const void *driver)
{
	for (size_t i = 0; i < sizeof(wrapped) / sizeof(wrapped[0]); i++)
		if (shim_real(wrapped[i].fn) == driver)
			return (void *)(uintptr_t)wrapped[i].wrapper;
	return NULL;
}

SHIM_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
					 cuuint64_t flags,
					 CUdriverProcAddressQueryResult *status)
{
	CUresult rc = REAL(cuGetProcAddress_v2)(symbol, pfn, version, flags, status);
	void *wrapper;

	if (rc == CUDA_SUCCESS && pfn && *pfn && (wrapper = shim_wrapper_of(*pfn)))
		*pfn = wrapper;
	return rc;
}

#undef cuGetProcAddress
SHIM_EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn, int version,
				      cuuint64_t flags)
{
	CUresult rc = REAL(cuGetProcAddress)(symbol, pfn, version, flags);
	void *wrapper;

	if (rc == CUDA_SUCCESS && pfn && *pfn && (wrapper = shim_wrapper_of(*pfn)))
		*pfn = wrapper;
	return rc;
}
