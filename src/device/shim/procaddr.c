/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cuGetProcAddress: what the driver returns decides.  When its pointer is one
 * of the functions that must go through us, the program gets our symbol instead,
 * so versions and suffixes cannot mismatch (facts/ptx.md, C3).
 */
#define _GNU_SOURCE
#include <stddef.h>

#include "device/shim/shim.h"
#include "device/shim/wraps.h"

/* Our exported symbols, whatever their prototypes: functions of ours, and those of forward.S. */
#define ENTRY(name, kind, hold) extern void shim_symbol_##name(void) __asm__(#name);
#include "device/shim/entries.def"
#undef ENTRY

/*
 * Which of them the program must go through: every function of ours, and what
 * must not enter the driver while a kernel is held (the hold rule), which is
 * only forwarded otherwise.  The CUDA runtime gets every function by its
 * address: without the second its synchronous copies met the evicted kernel in
 * the driver, and its relaunch waited for them for ever.
 */
enum {
	THROUGH_FORWARD_SAFE = 0, THROUGH_FORWARD_WAIT = 1, THROUGH_FORWARD_LEGACY = 1,
	THROUGH_WRAPPED_SAFE = 1, THROUGH_WRAPPED_WAIT = 1, THROUGH_WRAPPED_LEGACY = 1,
};

static const struct {
	enum shim_fn fn;
	int through;
	void (*symbol)(void);
} entry[] = {
#define ENTRY(name, kind, hold) { SHIM_FN_##name, THROUGH_##kind##_##hold, shim_symbol_##name },
#include "device/shim/entries.def"
#undef ENTRY
};

void *shim_wrapper_of(const void *driver)
{
	for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++)
		if (entry[i].through && shim_real(entry[i].fn) == driver)
			return (void *)(uintptr_t)entry[i].symbol;
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
