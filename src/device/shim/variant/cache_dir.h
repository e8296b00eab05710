/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of cache.h: whose it is, how large, and its files. */
#ifndef GPUSHARE_SHIM_CACHE_DIR_H
#define GPUSHARE_SHIM_CACHE_DIR_H

#include <stddef.h>
#include <stdint.h>

/* The bound on its size, bytes; 0: there is to be no cache. */
uint64_t shim_cache_max(void);

/* Open it, made if need be; the caller's to close.  -1: there is none that may be used. */
int shim_cache_open(void);

/* The whole file, which counts as used now: a block of the caller's to free.  NULL: none, or not
 * ours. */
unsigned char *shim_cache_read(int dir, const char *name, size_t *len);

/* Whoever reads sees the file that was there before, or all of this one.  0, or -1. */
int shim_cache_write(int dir, const char *name, const void *data, size_t len);

/* Remove what was used longest ago until the rest fits. */
void shim_cache_trim(int dir, uint64_t max);

#endif
