/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transformed modules on disk, so that a program that comes again, or ten
 * ranks of it, need not have them transformed again.
 *
 * GPUSHARE_CACHE names the directory (empty: none), else $XDG_CACHE_HOME/gpushare,
 * else ~/.cache/gpushare; it is used only if it is the user's own and nobody
 * else may write to it.  GPUSHARE_CACHE_MAX bounds its size (256M; 0: no cache),
 * what was used longest ago goes first.  Whatever is wrong with it costs time
 * only: an entry that is damaged, or of another build of the shim, is made anew.
 */
#ifndef GPUSHARE_SHIM_CACHE_H
#define GPUSHARE_SHIM_CACHE_H

#include "device/ptx/transform.h"

/* A shorter text is transformed about as fast as an entry is read. */
#define SHIM_CACHE_TEXT_MIN 16384

/* What ptx_transform_only() has made of this text with these forms, or NULL: not there. */
struct ptx_transformed *shim_cache_get(const char *text, size_t len, uint32_t transforms);

/* Keep it, if that can be done. */
void shim_cache_put(const char *text, size_t len, uint32_t transforms,
		    const struct ptx_transformed *t);

#endif
