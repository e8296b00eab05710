/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking for the time slice and waiting for it. */
#ifndef GPUSHARE_SHIM_GRANT_H
#define GPUSHARE_SHIM_GRANT_H

#include "device/shim/launch/pool.h"

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

/* From now on the launch runs without its thread (preenqueued.h): the thread no longer counts as
 * awake. */
void shim_grant_unattended(struct shim_session *s, struct shim_launch *l, struct shim_wait *w);

/* Waits until the launch may run. Returns CUDA_SUCCESS, or an error if DaemonAbsent=fail and no
 * daemon is there. If rc is an error already, only ends the wait and returns rc. */
CUresult shim_grant_wait(struct shim_session *s, struct shim_launch *l, struct shim_wait *w,
			 CUresult rc);

#endif
