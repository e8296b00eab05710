/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A context's kernels read as they begin how many of their workers stay (device/ptx/ctl.h). The
 * word is in device memory, and follows the page's `part`: the agent writes it when the daemon has
 * rung, and whoever launches a kernel does if the agent has not yet.
 */
#ifndef GPUSHARE_SHIM_PART_H
#define GPUSHARE_SHIM_PART_H

#include "device/shim/context/context.h"

/* The word for the page's part. */
static inline uint32_t shim_part_word(const struct gs_page *page)
{
	uint32_t part = gs_page_load(page->priorities.part);

	return part && part < GS_PAGE_PARTS ? gs_ctl_part(part * GS_CTL_PARTS / GS_PAGE_PARTS) : 0;
}

/* Where the context's word is. */
static inline CUdeviceptr shim_part_at(const struct shim_context *c)
{
	return c->ctl + GS_PAGE_SLOTS * sizeof(struct gs_ctl);
}

/* Does the GPU have another word than that of the page's part? */
static inline int shim_part_is_old(const struct shim_session *s, const struct shim_context *c)
{
	return shim_part_word(s->page) != c->state.part_word;
}

/* Writes it then. The context is the calling thread's current one. A relaunch must be ordered
 * behind it (part_unsettled). */
void shim_part_tell(const struct shim_session *s, struct shim_context *c);

#endif
