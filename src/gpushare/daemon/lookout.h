/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LookoutCpu=: one thread, on a processor that the administrator gives it, in
 * place of all attendants.
 *
 * Whoever is woken comes late: a client that asks after some milliseconds waits
 * 22 us on an H200, of which waking its attendant takes 7, the turn 9, for its data
 * have left the caches, and the rest the way back to the client; 9 us in all where
 * the client asked a fifth of a millisecond before.  The lookout does not
 * sleep while two clients or more are there: it sees a word that asks, the end of a
 * kernel and the last block-task of an eviction at once, and its caches stay
 * warm.  That takes its processor wholly, so it is for nodes that have one to
 * spare (Slurm: CoreSpecCount=); the budget (budget.h) does not count it.
 */
#ifndef GPUSHARE_DAEMON_LOOKOUT_H
#define GPUSHARE_DAEMON_LOOKOUT_H

#include "gpushare/daemon/daemon.h"

/*
 * Begin, if the configuration names a processor: d->lookout is set.  Before the
 * first client.  What fails is logged, and there are attendants as without it.
 */
void gs_lookout_start(struct gs_daemon *d);

/* A client has come or gone; with the lock held. */
void gs_lookout_changed(void);

/* End it, without the lock; nothing if it was not begun. */
void gs_lookout_end(struct gs_daemon *d);

#endif
