/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cuGetProcAddress: the driver's answer decides. If its pointer is one of the functions that must
 * pass through the shim, the program gets the shim's symbol instead, so versions and suffixes
 * cannot mismatch. If it is none that entries.def lists, the program gets an entry that passes the
 * driver-call barrier: an unknown function waits.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>

#include "device/shim/base/counted.h"
#include "device/shim/base/shim.h"
#include "device/shim/base/unlisted.h"
#include "device/shim/base/wraps.h"

/* The shim's exported symbols, whatever their prototypes: its functions, and those of forward.S. */
#define ENTRY(name, kind, blocked) extern void shim_symbol_##name(void) __asm__(#name);
#include "device/shim/base/entries.def"
#undef ENTRY

/*
 * The program gets the shim's symbols for all of them, since the calls of each may have to be
 * counted (base/counted.h). `more` marks those that do more than that: every function of the shim,
 * and every one that must not enter the driver while a preemptible kernel is out, or must be
 * counted for the driver-call barrier. The CUDA runtime gets every function by its address. Without
 * the second kind its synchronous copies met the evicted kernel in the driver, and the relaunch
 * waited for them for ever.
 */
enum {
	MORE_FORWARD_SAFE = 0,
	MORE_FORWARD_QUEUES = 1,
	MORE_FORWARD_WAIT = 1,
	MORE_FORWARD_LEGACY = 1,
	MORE_WRAPPED_SAFE = 1,
	MORE_WRAPPED_QUEUES = 1,
	MORE_WRAPPED_WAIT = 1,
	MORE_WRAPPED_LEGACY = 1,
};

static const struct {
	const char *name;
	enum shim_fn fn;
	int more;
	void (*symbol)(void);
} entry[] = {
#define ENTRY(name, kind, blocked) \
	{ #name, SHIM_FN_##name, MORE_##kind##_##blocked, shim_symbol_##name },
#include "device/shim/base/entries.def"
#undef ENTRY
};

static int is_driver_s(enum shim_fn fn, const void *driver)
{
	return shim_counted_behind(fn, shim_real(fn)) == driver;
}

void *shim_wrapper_of(const void *driver)
{
	/* Two names of one function: that which does more is right for both. */
	for (int more = 1; more >= 0; more--)
		for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++)
			if (entry[i].more == more && is_driver_s(entry[i].fn, driver))
				return (void *)(uintptr_t)entry[i].symbol;
	return NULL;
}

/* "cuMemAlloc" is the symbol of cuMemAlloc and cuMemAlloc_v2; "cuStreamQuery" that of cuStreamQuery
 * and cuStreamQuery_ptsz. */
static int is_version_of(const char *entry_name, const char *symbol)
{
	size_t n = strlen(symbol);

	return strncmp(entry_name, symbol, n) == 0 &&
	       (!entry_name[n] || strncmp(entry_name + n, "_v", 2) == 0 ||
		strncmp(entry_name + n, "_pt", 3) == 0);
}

/*
 * A version that entries.def does not list, or an address other than that of the exported symbol,
 * of a function that may be called while a preemptible kernel is out. It may be called then, too:
 * for example, querying an event must not wait for the kernel in front of it.
 */
static int is_safe_by_name(const char *symbol)
{
	int safe = 0;

	for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++) {
		if (!is_version_of(entry[i].name, symbol))
			continue;
		if (entry[i].more)
			return 0;
		safe = 1;
	}
	return safe;
}

/* The driver's functions behind the entries of unlisted.h; never removed. */
static _Atomic(void *) unlisted[SHIM_UNLISTED];

void *shim_barrier_target(unsigned int n)
{
	if (n < SHIM_FN_COUNT)
		return shim_real((enum shim_fn)n);
	shim_counted_give_up(); /* nothing tells when this one has returned */
	return atomic_load(&unlisted[n - SHIM_FN_COUNT]);
}

/* Each version of a symbol is a function of its own; asked for again, it gets the same entry. */
static void *entry_of(const char *symbol, void *driver)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	for (size_t i = 0; i < SHIM_UNLISTED; i++) {
		void *known = NULL;

		if (atomic_compare_exchange_strong(&unlisted[i], &known, driver))
			shim_log(
				"%s is not a known entry point: its calls wait while a preemptible kernel is out",
				symbol);
		else if (known != driver)
			continue;
		return (void *)(uintptr_t)shim_unlisted_entry[i];
	}
	if (!atomic_flag_test_and_set(&said))
		shim_log(
			"%s and other unknown entry points go to the driver, even while a preemptible kernel is out",
			symbol);
	shim_counted_give_up();
	return driver;
}

/* Replaces `*pfn`, the driver's answer, by what the program gets. */
static CUresult answer(CUresult rc, const char *symbol, void **pfn)
{
	void *wrapper;

	if (rc != CUDA_SUCCESS || !pfn || !*pfn)
		return rc;
	wrapper = shim_wrapper_of(*pfn);
	if (wrapper)
		*pfn = wrapper;
	else if (!is_safe_by_name(symbol))
		*pfn = entry_of(symbol, *pfn);
	else
		shim_counted_give_up(); /* calls of this one are not seen */
	return rc;
}

SHIM_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
					 cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	return answer(REAL(cuGetProcAddress_v2)(symbol, pfn, version, flags, status), symbol, pfn);
}

#undef cuGetProcAddress
SHIM_EXPORT CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	return answer(REAL(cuGetProcAddress)(symbol, pfn, version, flags), symbol, pfn);
}
