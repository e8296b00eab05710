/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The launch barrier (arbiter/launch_barrier.h), as the program sees it: the GPU waits in its
 * streams for a word of the page, between launches that cannot be evicted, while a more urgent
 * client has used the GPU of late; and the daemon is told when the program launches, while less
 * urgent ones wait so.
 *
 * What waits behind the barrier goes on soon, whatever becomes of the daemon: a thread that makes
 * no call to the driver opens the barrier when it has been closed for longer than the daemon may
 * close it. So a call of the program that blocks behind it, with the driver's lock held perhaps,
 * blocks for no longer than that.
 */
#ifndef GPUSHARE_SHIM_LAUNCH_BARRIER_H
#define GPUSHARE_SHIM_LAUNCH_BARRIER_H

#include "device/shim/context/context.h"
#include "device/shim/session/session.h"

/* Must launches wait, or be told of? Only while others use the GPU. */
static SHIM_INLINE int shim_launch_barrier_matters(const struct gs_page *page)
{
	return SHIM_RARELY(gs_page_load(page->contended)) &&
	       (gs_page_load(page->priorities.wait_every_us) ||
		gs_page_load(page->priorities.tell));
}

/* Is the barrier closed at this moment? */
static inline int shim_launch_barrier_is_closed(const struct gs_page *page)
{
	return !gs_page_load(page->priorities.launches_open);
}

/*
 * Call before a launch that cannot be evicted is enqueued in `stream` of context c, which must be
 * current, in the same critical section; ns: its predicted time, 0: not known. Enqueues a wait if
 * it is time for one. A stream that takes none is not stopped. Returns 1 if the launch may be
 * stopped by that wait.
 */
int shim_launch_barrier_wait(struct shim_session *s, const struct shim_context *c, CUstream stream,
			     uint64_t ns);

/* The program launches something that should take `ns` (0: not known). */
void shim_launch_barrier_tell(struct shim_session *s, uint64_t ns);

/* Opens it and ends the waiting, until the daemon's next step: there is no daemon, or the process
 * ends. */
void shim_launch_barrier_leave_open(struct shim_session *s);

/* In a forked child: it has none of its parent's threads. */
void shim_launch_barrier_forked(void);

#endif
