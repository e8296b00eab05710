/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variants on disk, so that a program that comes again, or ten ranks of it, need not have them
 * made again.
 *
 * GPUSHARE_CACHE names the directory (empty: none), else $XDG_CACHE_HOME/gpushare,
 * else ~/.cache/gpushare; it is used only if it is the user's own and nobody
 * else may write to it.  GPUSHARE_CACHE_MAX bounds its size (256M; 0: no cache),
 * what was used longest ago goes first.  Whatever is wrong with it costs time
 * only: an entry that is damaged, or of another build of the shim, is made anew.
 */
#ifndef GPUSHARE_SHIM_CACHE_H
#define GPUSHARE_SHIM_CACHE_H

#include "device/ptx/bind.h"
#include "device/ptx/transform.h"

/* What a variant is made from, and by what. */
struct shim_cache_key {
	const char *text; /* the module's PTX */
	size_t len;
	const char *kernel;
	uint32_t sm;          /* 90: compute capability 9.0 */
	const char *compiler; /* its path and version, or what stands for it */
};

/* Does the variable have that address in this process? */
typedef int shim_cache_same_fn(const char *name, uint64_t address, void *user);

/*
 * What was kept under that key: `text` is the variant's module, machine code or PTX, and the only
 * kernel describes it.  NULL: nothing is there, or it was made for variables at other addresses.
 */
struct ptx_transformed *shim_cache_get(const struct shim_cache_key *key, shim_cache_same_fn *same,
				       void *user);

/* Keep it, if that can be done: what was made for those addresses. */
void shim_cache_put(const struct shim_cache_key *key, const struct ptx_need *need, uint32_t nneed,
		    const struct ptx_transformed *t);

#endif
