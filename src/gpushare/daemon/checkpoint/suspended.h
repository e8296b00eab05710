/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients whose processes have been stopped.  Nobody tells the daemon of
 * that: slurmstepd calls no plugin when a job is suspended.  So a thread looks
 * into /proc, which now and then takes 5 to 10 ms for eleven programs (H200):
 * in the loop, with the lock, that was a pause for every client.
 */
#ifndef GPUSHARE_DAEMON_SUSPENDED_H
#define GPUSHARE_DAEMON_SUSPENDED_H

#include "common/error.h"
#include "gpushare/daemon/base/daemon.h"

struct gs_suspended;

/* The thread; from then on gs_lock() matters.  NULL with the reason. */
struct gs_suspended *gs_suspended_start(struct gs_daemon *d, struct gs_error *err);
/* It ends before this returns.  Without the lock; NULL is fine. */
void gs_suspended_end(struct gs_suspended *s);

#endif
