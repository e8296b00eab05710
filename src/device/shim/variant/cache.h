/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variants on disk, so that a program that runs again, or ten ranks of it, need not make them
 * again.
 *
 * GPUSHARE_CACHE names the directory (empty: no cache); the default is $XDG_CACHE_HOME/gpushare, or
 * else ~/.cache/gpushare. It is used only if it belongs to the user and nobody else may write to
 * it. GPUSHARE_CACHE_MAX bounds its size (default 256M; 0: no cache); the least recently used
 * entries are removed first. An error of any kind costs only time: an entry that is damaged, or was
 * written by another build of the shim, is made again.
 */
#ifndef GPUSHARE_SHIM_CACHE_H
#define GPUSHARE_SHIM_CACHE_H

#include "device/ptx/bind.h"
#include "device/ptx/transform.h"

/* What a variant is made from, and by which compiler. */
struct shim_cache_key {
	const char *text; /* the module's PTX */
	size_t len;
	const char *kernel;
	uint32_t sm;          /* compute capability; 90 for 9.0 */
	const char *compiler; /* its path and version, or another identification */
};

/* Does the variable have this address in this process? */
typedef int shim_cache_same_fn(const char *name, uint64_t address, void *user);

/*
 * Returns what was stored under that key: `text` is the variant's module, machine code or PTX, and
 * its only kernel describes it. The caller frees it by ptx_transformed_free(). NULL: there is no
 * entry, or it was made for variables at other addresses.
 */
struct ptx_transformed *shim_cache_get(const struct shim_cache_key *key, shim_cache_same_fn *same,
				       void *user);

/* Stores a variant that was made for these addresses. If that fails, nothing is stored. */
void shim_cache_put(const struct shim_cache_key *key, const struct ptx_need *need, uint32_t nneed,
		    const struct ptx_transformed *t);

#endif
