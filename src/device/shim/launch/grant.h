/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for the time slice. */
#ifndef GPUSHARE_SHIM_GRANT_H
#define GPUSHARE_SHIM_GRANT_H

#include "device/shim/launch/pool.h"

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

/* The launch is let go without its thread from now on (preenqueued.h). */
void shim_grant_unattended(struct shim_session *s, struct shim_launch *l, struct shim_wait *w);

/*
 * Sleeps until the launch may go.  Returns CUDA_SUCCESS, or an error when no daemon may be done
 * without; if rc is an error already it only ends the wait, and returns that.
 */
CUresult shim_grant_wait(struct shim_session *s, struct shim_launch *l, struct shim_wait *w,
			 CUresult rc);

#endif
