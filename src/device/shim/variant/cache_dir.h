/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache's directory: its place, its owner, its size, and its files. */
#ifndef GPUSHARE_SHIM_CACHE_DIR_H
#define GPUSHARE_SHIM_CACHE_DIR_H

#include <stddef.h>
#include <stdint.h>

/* The bound on its size, bytes; 0: there is no cache. */
uint64_t shim_cache_max(void);

/* Opens the directory, and makes it if needed. The caller closes the descriptor. -1: there is none
 * that may be used. */
int shim_cache_open(void);

/* Reads a whole file and marks it as used now; the caller frees the block. NULL: there is no such
 * file, or it is not the user's. */
unsigned char *shim_cache_read(int dir, const char *name, size_t *len);

/* Writes a file atomically: a reader sees either the old file or all of the new one. Returns 0, or
 * -1. */
int shim_cache_write(int dir, const char *name, const void *data, size_t len);

/* Removes the least recently used entries until the rest has at most `max` bytes. */
void shim_cache_trim(int dir, uint64_t max);

#endif
