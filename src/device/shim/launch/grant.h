/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking for the time slice and waiting for it. */
#ifndef GPUSHARE_SHIM_GRANT_H
#define GPUSHARE_SHIM_GRANT_H

#include "device/shim/launch/pool.h"
#include "device/shim/session/session.h"

/* A futex wake-up takes 13 us, and 268 us for one in a hundred (H200), so a waiting thread spins
 * this long before it sleeps. */
#define SHIM_GRANT_SPIN_NS (200ull * 1000)

/* Moves the slot from `from` (PREP or READY) to RUNNING if this client has the time slice. Returns
 * 1 if it did. */
int shim_run_with_grant(struct gs_page *page, struct gs_slot *slot, uint32_t from);

/* The state of one wait, on the stack of the waiting thread. */
struct shim_wait {
	int awake; /* the page counts the thread as awake */
	int rung;  /* the request has been made */
};

/* Asks for the time slice, for a launch in PREP. Returns 1 if this client has it, and then the slot
 * is RUNNING; 0: the slot is READY, and the caller must call shim_grant_wait(). */
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
