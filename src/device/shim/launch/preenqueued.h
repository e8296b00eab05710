/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Launches that are given to the driver before their time slice, behind a wait of the GPU for it.
 *
 * A launch that waits for its time slice used to be made once it had it: the GPU stood idle while a
 * thread was woken and the driver went through its launch with cold caches, 9 to 57 us
 * (H200).  A pre-enqueued one is in its stream already, behind a
 * wait for its slot to be RUNNING or beyond; whoever writes that lets it go, and nothing but the
 * GPU's own switch is between.  A context whose only work waits so costs the others nothing
 * (doc/measurements/h200-pre-enqueued.csv).
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
 * What is pre-enqueued does not go by the page's `grant`, as others do (shim_run_with_grant): who
 * finds that the time slice was lost in between cannot call the GPU back.
 */
#ifndef GPUSHARE_SHIM_PREENQUEUED_H
#define GPUSHARE_SHIM_PREENQUEUED_H

#include "device/shim/launch/pool.h"
#include "device/shim/session/session.h"

/* May launch l, which is READY, be given to the driver now? */
int shim_preenqueued_may(const struct shim_session *s, const struct shim_launch *l);

/* The wait, in that stream of the current context: from now on l is pre-enqueued, unless the driver
 * refuses it, 0.  What is to wait follows. */
int shim_preenqueued_wait(struct shim_launch *l, CUstream stream);

/* All of it is in the stream: the daemon may let it go.  Once for each wait. */
void shim_preenqueued_say(struct shim_launch *l);

/*
 * Has the pre-enqueued launch l been let go, or may it be?  Then it is on its way: 1.  It may be
 * without a daemon that could say so, where none is there and the time slice is our own, or
 * nobody's again (shim_session_forsaken).
 */
int shim_preenqueued_went(const struct shim_session *s, const struct shim_launch *l);

#endif
