/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many kernels that cannot be evicted may queue up on the GPU: they are in front of the client
 * that gets the GPU next. */
#ifndef GPUSHARE_SHIM_QUEUE_H
#define GPUSHARE_SHIM_QUEUE_H

#include "device/shim/launch/pool.h"

/*
 * How many launches of unknown time may be out at once, whatever else is out. While they are few, a
 * queue of them is short. The time of a kernel or a graph is known once its first launch has ended.
 */
#define SHIM_QUEUE_UNKNOWN 4

/* Must the queue be so short that others get through at once? */
static inline int shim_queue_is_short(const struct gs_page *page)
{
	uint32_t contended = gs_page_load(page->contended);

	return contended == GS_CONTENDED || contended == GS_CONTENDED_QUEUE;
}

/*
 * Call before a launch that cannot be evicted waits for its time slice: waits while too much is
 * out, and then counts it. While nobody else wants the GPU or has used it lately, the bound holds
 * for each stream, and all streams together may have a second of predicted time: kernels in
 * different streams run beside each other, and holding them back would prevent that for nobody's
 * benefit. Returns in the end whatever is in front, since a kernel may wait for a word that the
 * program writes after this launch.
 */
void shim_queue_enter(struct shim_session *s, struct shim_launch *l, CUstream stream);

#endif
