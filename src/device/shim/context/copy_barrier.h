/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The copy barrier, and the copies of this process that the daemon knows of (gs_copies).
 *
 * A copy that waits behind the barrier ends soon, whatever becomes of the daemon: who finds it
 * closed for longer than the daemon may close it opens it.  So it is never in the way of a relaunch
 * for ever, as a blocked stream could be.  All the same no call that waits inside the driver with
 * the driver's lock meets it closed: such a call waits for copies without us, too, but not longer
 * than they take.
 */
#ifndef GPUSHARE_SHIM_COPY_BARRIER_H
#define GPUSHARE_SHIM_COPY_BARRIER_H

#include "device/shim/session/session.h"

/* So many waits may be enqueued at a time: a stream takes 1,019 operations, and a chunk is three of
 * them. */
#define SHIM_COPY_WAITS_MAX 200

/* Copies that wait behind the barrier: [0]: all; [1]: those in the legacy default stream, or in one
 * that synchronises with it. */
extern _Atomic uint32_t shim_copies_behind[2] SHIM_HOT;

struct shim_copy_run {
	uint32_t chunks;
	int waits;  /* behind the barrier */
	int legacy; /* in the legacy default stream, or as above */
	CUcontext ctx;
};

/*
 * A copy of so many bytes begins that way: the index of its run in the page, or -1: there is none
 * left.  It may have run->chunks chunks; of one that `waits` these may come to be fewer, down to
 * `least`, or -1, so that all waits are no more than SHIM_COPY_WAITS_MAX.
 */
int shim_copy_run_begin(struct shim_session *s, enum gs_copy_direction way, uint64_t bytes,
			uint32_t least, struct shim_copy_run *run);
/* It is over, all of it: for one that the GPU does not tell of. */
void shim_copy_run_end(struct shim_session *s, int run);

/* A call is about to enter the driver that must not meet a closed barrier, and has been there;
 * only_legacy as for shim_barrier_enter(). */
void shim_copy_barrier_force_late(int only_legacy);
void shim_copy_barrier_unforce_late(void);
extern __thread uint32_t shim_copy_barrier_forced; /* by this thread */
static inline void shim_copy_barrier_force(int only_legacy)
{
	if (SHIM_RARELY(atomic_load(&shim_copies_behind[only_legacy])))
		shim_copy_barrier_force_late(only_legacy);
}
static inline void shim_copy_barrier_unforce(void)
{
	if (SHIM_RARELY(shim_copy_barrier_forced))
		shim_copy_barrier_unforce_late();
}

/* The calling thread waits until the barrier of that direction is open. */
void shim_copy_barrier_wait(struct shim_session *s, enum gs_copy_direction way);

/* The agent's: frees what is over, opens what has been closed for too long; returns for how long it
 * may sleep (ns), `nap` at most. */
uint64_t shim_copy_barrier_step(struct shim_session *s, uint64_t now, uint64_t nap);
/* Nobody is left who would open it: it stays open. */
void shim_copy_barrier_leave_open(struct shim_session *s);
/* The process ends: the same, for ever. */
void shim_copy_barrier_end(struct shim_session *s);

/* The context has been destroyed, with its copies. */
void shim_copy_runs_destroyed(CUcontext ctx);
/* In a forked child: none of its parent's copies is its own. */
void shim_copy_barrier_forked(void);

#endif
