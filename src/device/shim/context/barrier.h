/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocked streams and the driver-call barrier: a driver call that blocks with the driver's lock
 * would keep an evicted kernel from being relaunched, so the two never meet.
 */
#ifndef GPUSHARE_SHIM_BARRIER_H
#define GPUSHARE_SHIM_BARRIER_H

#include "device/shim/base/shim.h"

/*
 * An evictable kernel is about to be launched in `stream`: 1 if that is
 * allowed now; -1 if a call that must not meet a held kernel is inside the
 * driver, 0 if too many streams hold one already: then the kernel goes out as
 * an original.  legacy: the stream is, or synchronises with, the legacy
 * default stream.
 */
int shim_blocked_begin(CUstream stream, int legacy);
/* It is done. */
void shim_blocked_end(CUstream stream, int legacy);

/*
 * A call that enqueues so many operations (operations.h), into the legacy default stream as far as
 * is known: waits while too many are behind a held kernel there.
 */
void shim_blocked_behind(unsigned int operations);

/*
 * Around a driver call that may block inside the driver with its lock held.  A launch that is
 * such a call may begin a hold in between: nothing else is held then.
 */
void shim_barrier_enter(int only_legacy);
/* The same without opening the copy barrier (copy_barrier.h): for a call that does not wait for
 * copies. */
void shim_barrier_enter_with_copies(int only_legacy);
/* The same of all, around one that mostly does not block: goes on after some time (patience.h), and
 * 0 says that it was in vain. */
int shim_barrier_enter_patiently(void);
void shim_barrier_leave(int only_legacy);

/* In a forked child, which has none of its parent's kernels: nothing is held, nobody is in a call.
 */
void shim_blocked_forked(void);

/* The value of a driver call made behind the closed barrier. */
#define SHIM_IN_BARRIER(call) \
	__extension__({ \
		CUresult value_; \
		shim_barrier_enter(0); \
		value_ = (call); \
		shim_barrier_leave(0); \
		value_; \
	})

#endif
