/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds clients whose processes have been stopped. The daemon is not notified of that: slurmstepd
 * calls no plugin when a job is suspended. So a thread reads /proc, which now and then takes 5 to
 * 10 ms for eleven programs (H200). In the event loop, with the lock held, that delayed every
 * client. What it has found is told to the arbiters, and to noticed.h in the event loop.
 */
#ifndef GPUSHARE_DAEMON_SUSPENDED_H
#define GPUSHARE_DAEMON_SUSPENDED_H

#include "common/error.h"
#include "gpushare/daemon/base/daemon.h"

struct gs_suspended;

/* Starts the thread; from then on gs_lock() matters. NULL with the reason. */
struct gs_suspended *gs_suspended_start(struct gs_daemon *d, struct gs_error *err);
/* Ends the thread and frees its state. Call without the lock; NULL is fine. */
void gs_suspended_end(struct gs_suspended *s);

#endif
