/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libevent's events whose callbacks hold the daemon's lock.
 *
 * All of the event loop's state belongs to whoever holds the one lock: its callbacks, and the
 * thread that looks for stopped clients (suspended.h).  It is not held while anybody sleeps.  The
 * arbiters, which decide who has the GPUs (arbiter.h), never take it.
 */
#ifndef GPUSHARE_DAEMON_EVENT_H
#define GPUSHARE_DAEMON_EVENT_H

#include <event2/event.h>

/* The daemon's lock; one process, one daemon.  Not recursive. */
void gs_lock(void);
void gs_unlock(void);

/* As event_new(); the callback runs with the lock held.  NULL: no memory. */
struct event *gs_event_new(struct event_base *base, evutil_socket_t fd, short what,
			   event_callback_fn callback, void *arg);

/* Of gs_event_new() only, also from within its callback.  NULL is fine. */
void gs_event_free(struct event *event);

#endif
