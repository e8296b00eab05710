/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocked streams and the driver-call barrier.
 *
 * A preemptible kernel blocks its stream while it is out: a wait stands behind it until it has
 * ended. A driver call that blocks behind it while it holds the driver's lock would keep the
 * kernel, once evicted, from being relaunched. So such calls and such kernels are kept apart.
 * "Held" in names (shim_held) counts the preemptible kernels that are out.
 */
#ifndef GPUSHARE_SHIM_BARRIER_H
#define GPUSHARE_SHIM_BARRIER_H

#include "device/shim/base/shim.h"

/*
 * Call before an evictable kernel is launched in `stream`. Returns 1 if it may be launched now, and
 * then the stream counts as blocked; -1 if a call that must not meet such a kernel is inside the
 * driver; 0 if too many streams are blocked already. In the last two cases the kernel goes out as
 * written. legacy: the stream is the legacy default stream, or synchronises with it.
 */
int shim_blocked_begin(CUstream stream, int legacy);
/* The kernel has ended. */
void shim_blocked_end(CUstream stream, int legacy);

/* Call before enqueueing `operations` operations (operations.h) into what may be the legacy default
 * stream: waits while too many are queued behind a preemptible kernel there. */
void shim_blocked_behind(unsigned int operations);

/*
 * Around a driver call that may block with the driver's lock held. Waits until no preemptible
 * kernel is out; only_legacy: in the legacy default stream or one that synchronises with it. A
 * launch that is such a call may itself begin a preemptible kernel inside, since no other is out
 * then.
 */
void shim_barrier_enter(int only_legacy);
/* The same without opening the copy barrier (copy_barrier.h): for a call that does not wait for
 * copies. */
void shim_barrier_enter_with_copies(int only_legacy);
/* The same for all streams, around a call that mostly does not block: gives up after some time
 * (patience.h). Returns 0 if it gave up. */
int shim_barrier_enter_patiently(void);
void shim_barrier_leave(int only_legacy);

/* In a forked child, which has none of its parent's kernels: no stream is blocked, and no thread is
 * in a call. */
void shim_blocked_forked(void);

/* The result of a driver call made behind the closed barrier. */
#define SHIM_IN_BARRIER(call) \
	__extension__({ \
		CUresult value_; \
		shim_barrier_enter(0); \
		value_ = (call); \
		shim_barrier_leave(0); \
		value_; \
	})

#endif
