/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting for the time slice: in the launch's thread, or in its stream.
 *
 * A launch may be given to the driver before its time slice, behind a wait of the GPU for it.  One
 * that is made once its thread has been woken leaves the GPU idle meanwhile, and while the driver
 * goes through the launch with cold caches: 9 to 57 us (H200).  A pre-enqueued one is in its stream
 * already, behind a wait for its slot to be RUNNING or beyond; whoever writes that lets it go, and
 * nothing but the GPU's own switch is between.  A context whose only work waits so costs the others
 * nothing (doc/measurements/h200-pre-enqueued.csv).
 *
 * Where the daemon says so (gs_page.preenqueue): while another client's kernels, in a context of
 * its own, have the GPU.  What was evicted is relaunched as ever, once it has the time slice: its
 * agent is awake by then.
 *
 * The slot's flag GS_SLOT_PREENQUEUED tells the daemon that RUNNING is all that is missing. Whoever
 * moves the slot there takes the flag away first: an evicted launch is READY again, and then there
 * is nothing behind any wait.  It is said once for each wait, and never while the slot may be
 * RUNNING.
 *
 * What is pre-enqueued does not go by the page's `grant`, as others do (shim_run_with_grant()): who
 * finds that the time slice was lost in between cannot call the GPU back.
 */
#ifndef GPUSHARE_SHIM_GRANT_H
#define GPUSHARE_SHIM_GRANT_H

#include "device/shim/launch/pool.h"
#include "device/shim/session/session.h"

/* A futex wake takes 13 us, and 268 for one in a hundred (H200): a short wait for the time
 * slice is spent awake. */
#define SHIM_GRANT_SPIN_NS (200ull * 1000)

/* Take a PREP or READY slot to RUNNING if this client holds the time slice: 1 if it did. */
int shim_run_with_grant(struct gs_page *page, struct gs_slot *slot, uint32_t from);

/* One wait, on its caller's stack. */
struct shim_wait {
	int awake; /* its thread is counted as awake in the page */
	int rung;  /* the daemon has been told */
};

/*
 * Asks the daemon for the time slice, for a launch in PREP.  1: it is this client's, and the launch
 * may go; 0: the caller goes on with shim_grant_wait().
 */
int shim_grant_request(struct shim_session *s, struct shim_launch *l, struct shim_wait *w);

/* May launch l, which is READY, be given to the driver now (shim_enqueue_waiting())? */
int shim_grant_may_preenqueue(const struct shim_session *s, const struct shim_launch *l);

/*
 * Has the pre-enqueued launch l been let go, or may it be?  Then it is on its way: 1.  It may be
 * without a daemon that could say so, where none is there and the time slice is our own, or
 * nobody's again (shim_session_forsaken).
 */
int shim_grant_went(const struct shim_session *s, const struct shim_launch *l);

/*
 * Sleeps until the launch may go; of one that is in its stream by now the daemon is told first.
 * Returns CUDA_SUCCESS, or an error when no daemon may be done
 * without; if rc is an error already it only ends the wait, and returns that.
 */
CUresult shim_grant_wait(struct shim_session *s, struct shim_launch *l, struct shim_wait *w,
			 CUresult rc);

#endif
