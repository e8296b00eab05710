/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of what cannot be evicted may queue up on the GPU: what is there is in front of whoever
 * gets it next. */
#ifndef GPUSHARE_SHIM_QUEUE_H
#define GPUSHARE_SHIM_QUEUE_H

#include "device/shim/launch/pool.h"

/*
 * So many launches whose time is not known may be out at once, whatever else is: as long as they
 * may be, a queue of them is over with the few.  A kernel's or a graph's time is known with the
 * first one that is over.
 */
#define SHIM_QUEUE_UNKNOWN 4

/* Is only so little to be queued that others get through at once? */
static inline int shim_queue_is_short(const struct gs_page *page)
{
	uint32_t contended = gs_page_load(page->contended);

	return contended == GS_CONTENDED || contended == GS_CONTENDED_QUEUE;
}

/*
 * A launch that cannot be evicted is about to wait for its time slice: waits while
 * too much is out, and counts it.  While nobody else wants the GPU or has used it of late, too much
 * is what would be so in each stream, within a second in all: in streams of their own kernels run
 * beside each other, and to hold them back would take that away, for the sake of nobody yet.
 * Returns in the end, whatever is in front: a kernel may wait for a word that the program writes
 * when it is through here.
 */
void shim_queue_enter(struct shim_session *s, struct shim_launch *l, CUstream stream);

#endif
