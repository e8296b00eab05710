/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened to the launches of one slot between two polls, as events of *polled. Times are ns
 * of the monotonic clock. */
#ifndef GPUSHARE_ARBITER_SLOT_EVENTS_H
#define GPUSHARE_ARBITER_SLOT_EVENTS_H

#include "gpushare/arbiter/snapshot.h"

/*
 * The slot has a new launch, which may have ended. Its time is predicted then. A program may give a
 * kernel much less to do than before, so predictions claim no more time than has passed: all of
 * them together, since the last poll or since the client was idle (gs_watch.unclaimed_ns).
 */
void gs_slot_meet(struct gs_watch *w, struct gs_seen *seen, const struct gs_snapshot *s,
		  uint64_t now, struct gs_poll *polled);

/* Adds up the live launch's time on the GPU from poll to poll. While nobody waits, polls are rare,
 * and a prediction is closer. */
void gs_slot_run_on(struct gs_seen *seen, const struct gs_snapshot *s, uint64_t now,
		    struct gs_poll *polled);

/* A launch that was told to leave has left. It counts as preempted only if it had reached the GPU
 * or made progress; else it was only postponed. */
void gs_slot_left(struct gs_seen *seen, const struct gs_snapshot *s, uint64_t now,
		  struct gs_poll *polled);

/* The launch that was live in the slot has ended. */
void gs_slot_finish(struct gs_watch *w, struct gs_seen *seen, uint64_t now, struct gs_poll *polled);

/* Its time has been measured. Called once per launch, which may have ended by then. */
void gs_slot_learn_time(struct gs_seen *seen, const struct gs_snapshot *s, struct gs_poll *polled);

/* What follows belongs to another launch. */
void gs_slot_forget_time(struct gs_seen *seen);

#endif
