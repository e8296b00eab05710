/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One client of a GPU: what it is doing, how urgent it is compared with others, and the arbiter's
 * writes to its page. Times are ns of the monotonic clock. */
#ifndef GPUSHARE_ARBITER_CLIENT_H
#define GPUSHARE_ARBITER_CLIENT_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"
#include "gpushare/sched/sched.h"

/* Moves the client to another phase; asserts that the transition is allowed. */
void gs_gpu_client_enter(struct gs_gpu_client *t, enum gs_phase phase);

/* Has the client the time slice, as the holder or beside the holder? */
static inline int gs_gpu_client_has_slice(const struct gs_gpu_client *t)
{
	return t->phase == GS_STARTING || t->phase == GS_RUNNING;
}

/* The same, but also true while the client is LEAVING: then its kernels may still be on the GPU,
 * although its time slice is over. The client need not be gpu->holder. */
static inline int gs_gpu_is_holder(const struct gs_gpu_client *t)
{
	return t->phase != GS_WAITING;
}

/* Has the holder the time slice, but its quantum has not begun? */
static inline int gs_gpu_is_starting(const struct gs_gpu *gpu)
{
	return gpu->holder && gpu->holder->phase == GS_STARTING;
}

/* The client of that id, owned by the GPU; NULL: there is none. */
struct gs_gpu_client *gs_gpu_find(const struct gs_gpu *gpu, uint64_t id);

/* How urgent the client is, as the scheduler compares it. */
struct gs_urgency gs_gpu_client_urgency(const struct gs_gpu_client *t);

/* Above 0: `a` is more urgent than `b`; below 0: it is less urgent; 0: they are equals. */
int gs_gpu_client_compare(const struct gs_gpu_client *a, const struct gs_gpu_client *b);

/* Has the client deadlines, and does the policy go by them? Then what its equals have had of the
 * GPU does not count: whose deadline is first goes first. */
int gs_gpu_client_is_due(const struct gs_gpu_client *t);

/* Has the client launched something that has neither ended nor left the GPU? What is queued behind
 * an evicted kernel of the same client does not count. */
int gs_gpu_client_is_out(const struct gs_gpu_client *t);

/* Does the client use the GPU now, or has it in the last `ns`? */
int gs_gpu_client_used_within(const struct gs_gpu_client *t, uint64_t ns, uint64_t now);

/* Does the client use the GPU now, or has it in the last ten seconds? Then it will probably want
 * the GPU again. */
int gs_gpu_client_uses(const struct gs_gpu_client *t, uint64_t now);

/* Is this client an equal of `of` (or `of` itself) that wants the GPU or uses it? */
int gs_gpu_client_is_equal(const struct gs_gpu_client *t, const struct gs_gpu_client *of);

/* Gives (grant 1) or takes (0) the right to launch. A client that is paused (corun.c) does not have
 * it, whatever `grant` is. Writes the page's word, sequentially
 * consistent, before any slot is read (Dekker's handshake, see handover.c). */
void gs_gpu_client_grant(struct gs_gpu_client *t, uint32_t grant);

/* Is at least one launch READY, and does every READY launch wait in its stream already
 * (GS_SLOT_PREENQUEUED)? */
int gs_gpu_client_is_preenqueued(const struct gs_gpu_client *t);

/*
 * Schedules what is READY: to TORUN, or straight to RUNNING if the launch is pre-enqueued. A launch
 * that was told to leave before it started is called back (TOEVICT to RUNNING). Does nothing while
 * the client is paused (corun.c).
 *
 * Returns how many launches the caller must ring the doorbell for, in the meaning of
 * gs_page_doorbell_for(): the number of program threads to wake, or UINT_MAX if the client's agent
 * must be woken, whichever threads are awake.
 */
unsigned gs_gpu_client_schedule(struct gs_gpu_client *t);

/*
 * Takes back what was scheduled (TORUN to READY) and tells what can leave to do so (RUNNING to
 * TOEVICT). Returns how many slots changed; if any did, the caller rings the doorbell. *evicted:
 * how many of them were told to leave.
 *
 * *leave_ns is raised, never lowered, to the time in ns that the slowest of the started launches
 * takes to leave, as the client reports it; UINT64_MAX if one of them cannot leave or does not
 * report a time.
 */
unsigned gs_gpu_client_sweep(struct gs_gpu_client *t, uint64_t now, unsigned *evicted,
			     uint64_t *leave_ns);

/* Is everything that the last poll found on the GPU, or on its way there, still there? Much cheaper
 * than a poll. Launches that came later are not checked. */
int gs_gpu_client_quiet(const struct gs_gpu_client *t);

/* Schedules what is READY and rings the doorbell, unless the client is barred. */
void gs_gpu_client_go(struct gs_gpu_client *t);

/* Has a less urgent client live kernels that cannot leave? Then this client keeps the time slice
 * and launches beside them without asking. */
int gs_gpu_client_stays_on(const struct gs_gpu_client *t);

/* May clients have the time slice beside the holder, and kernels be left behind? Not while a client
 * is pinned. */
static inline int gs_gpu_has_beside(const struct gs_gpu *gpu)
{
	return gpu->o.leave_most_ns && !gpu->pin.client;
}

/* For the trace: the client's time slice is over; its wait is over. */
void gs_gpu_client_slice_over(const struct gs_gpu_client *t, uint64_t now);
void gs_gpu_client_wait_over(struct gs_gpu_client *t, uint64_t now);

#endif
