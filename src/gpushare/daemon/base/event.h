/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of libevent whose callbacks run with the daemon's lock held.
 *
 * All of the event loop's state belongs to the thread that holds this one lock: the loop's
 * callbacks, or the thread that watches for stopped clients (suspended.h). No thread holds it while
 * it sleeps. The arbiters, which decide who has the GPUs (arbiter.h), never take it.
 */
#ifndef GPUSHARE_DAEMON_EVENT_H
#define GPUSHARE_DAEMON_EVENT_H

#include <event2/event.h>

/* Takes and releases the daemon's lock, of which a process has one. It is not recursive. */
void gs_lock(void);
void gs_unlock(void);

/* What goes first (event_priority_set()). After GS_EVENT_ROUND_US, once
 * the running callback has returned, the loop looks again for events of a higher rank. */
enum gs_event_rank {
	GS_EVENT_ROOT,  /* everybody's connecting, and root's connections: slurmstepd waits */
	GS_EVENT_USUAL, /* what is given no other rank */
	GS_EVENT_USER,  /* other users' connections */
	GS_EVENT_HEAVY, /* those of users that have had much of the loop's time */
	GS_EVENT_RANKS
};
#define GS_EVENT_ROUND_US 5000

/* A loop with these ranks, whose timers may be shorter than a millisecond. The caller frees it by
 * event_base_free(). NULL: no memory, or this system has no such loop. */
struct event_base *gs_event_base_new(void);

/* As event_new(), but the callback runs with the lock held, and the rank is the usual one. The
 * caller frees it by gs_event_free(). NULL: no memory. */
struct event *gs_event_new(struct event_base *base, evutil_socket_t fd, short what,
			   event_callback_fn callback, void *arg);

/* Frees an event of gs_event_new(), also from within its callback. NULL is fine. */
void gs_event_free(struct event *event);

#endif
