/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launches that are given to the driver before their time slice, behind a wait for it in the
 * stream.
 *
 * Otherwise a launch is made only once the time slice is here. The GPU then stands idle while a
 * thread is woken and the driver makes the launch with cold caches, 9 to 57 us (H200). A
 * pre-enqueued launch is in its stream already, behind a wait for its slot to be RUNNING or beyond.
 * Whoever writes RUNNING releases it, and only the GPU's own context switch remains. A context
 * whose only work waits in this way costs the others nothing
 * (doc/measurements/h200-pre-enqueued.csv).
 *
 * The daemon says when to do this (gs_page.preenqueue): while another client's kernels, in a
 * context of its own, have the GPU. A relaunch of an evicted kernel is still made once the time
 * slice is here, since its agent is awake by then.
 *
 * The slot's flag GS_SLOT_PREENQUEUED tells the daemon that only RUNNING is missing. Whoever moves
 * the slot to RUNNING clears the flag first: when the launch is evicted its slot is READY again,
 * and then no wait would start anything. The flag is set once for each wait, and never while the
 * slot may be RUNNING.
 *
 * A pre-enqueued launch does not depend on the page's `grant`, as others do (shim_run_with_grant):
 * a client that found the time slice lost could not call the GPU back.
 */
#ifndef GPUSHARE_SHIM_PREENQUEUED_H
#define GPUSHARE_SHIM_PREENQUEUED_H

#include "device/shim/launch/pool.h"
#include "device/shim/session/session.h"

/* May launch l, which is READY, be given to the driver now? */
int shim_preenqueued_may(const struct shim_session *s, const struct shim_launch *l);

/* Enqueues the wait in that stream of the current context, and marks l as pre-enqueued. The caller
 * enqueues the kernel behind it. Returns 0 if the driver refuses; then l is not pre-enqueued. */
int shim_preenqueued_wait(struct shim_launch *l, CUstream stream);

/* Tells the daemon that all of the launch is in the stream, so that it may release it. Once for
 * each wait. */
void shim_preenqueued_say(struct shim_launch *l);

/*
 * Returns 1 if the pre-enqueued launch l has been released, or if this call releases it. This call
 * may release it if the daemon has scheduled it, or if no daemon is there and the time slice is
 * this client's own or will never be given again (shim_session_forsaken).
 */
int shim_preenqueued_went(const struct shim_session *s, const struct shim_launch *l);

#endif
