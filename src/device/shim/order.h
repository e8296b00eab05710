/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one launch enqueues stays together in its stream.
 *
 * A held kernel is two operations (the twin, the wait behind it), one that is
 * left as it is three (the mark "started", the kernel, the mark DONE), and the
 * driver has no call that enqueues them as one.  If another thread's held
 * kernel came between the marks, the daemon would wait for a kernel that the
 * hold keeps off the GPU; if another thread's kernel came between a twin and
 * its wait, it would run in the middle of an evicted kernel.  So two launches of
 * which one holds, in streams that order their work among each other, pass
 * one after the other; and so do two that hold nothing while a kernel is held that
 * the legacy default stream waits for.  Launches in all other streams, and those
 * that hold nothing else, never wait for each other; nor does the agent, which relaunches.
 *
 * A program that launches with one thread only pays next to nothing for this.
 *
 * No mutex is held while the driver is entered.  A launch that waits here
 * waits for a thread that is inside the driver with an operation of the same
 * stream (or of the legacy default stream, when either is that), where the
 * driver itself would have them wait on each other.
 */
#ifndef GPUSHARE_SHIM_ORDER_H
#define GPUSHARE_SHIM_ORDER_H

#include "device/shim/context.h"

/* One launch between its first operation and its last; on its caller's stack. */
struct shim_passage {
	const struct shim_context *ctx;
	CUstream stream;
	enum { SHIM_LANE_OWN, SHIM_LANE_BLOCKING, SHIM_LANE_DEFAULT } lane; /* how it meets the legacy default stream */
	int holds;
	struct shim_passage *next; /* came later */
};

/* Is the stream the legacy default one, or does it synchronise with it?  Asks the driver about a created one. */
int shim_stream_is_legacy(CUstream stream);

/*
 * Wait until nothing that came before is in the way.  holds: a twin and its
 * wait are to be enqueued, and `legacy` is shim_stream_is_legacy().
 */
void shim_order_enter(struct shim_passage *p, const struct shim_context *ctx, CUstream stream,
		      int holds, int legacy);
void shim_order_leave(struct shim_passage *p);

/*
 * Before the first launch, and again in a forked child: as long as one thread alone launches, its passages
 * cost no locked operation.  Takes microseconds while the process has one thread, 15 ms later.
 */
void shim_order_begin(void);

/* In a forked child: what other threads of the parent were doing does not go on here. */
void shim_order_forked(void);

#endif
