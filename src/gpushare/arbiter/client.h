/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client on a GPU: what it is doing, how it compares with others, and the daemon's writes to its
 * page. */
#ifndef GPUSHARE_ARBITER_CLIENT_H
#define GPUSHARE_ARBITER_CLIENT_H

#include <stdint.h>

#include "gpushare/arbiter/gpu_core.h"

/* It goes on to another phase. */
void gs_gpu_client_enter(struct gs_gpu_client *t, enum gs_phase phase);

/* It has the time slice: as the holder, or beside the holder. */
static inline int gs_gpu_client_has_slice(const struct gs_gpu_client *t)
{
	return t->phase == GS_STARTING || t->phase == GS_RUNNING;
}

/* The same, or LEAVING: it has something on the GPU from a time slice that is just over.  It need
 * not be gpu->holder. */
static inline int gs_gpu_is_holder(const struct gs_gpu_client *t)
{
	return t->phase != GS_WAITING;
}

/* Is the holder on its way to the GPU? */
static inline int gs_gpu_is_starting(const struct gs_gpu *gpu)
{
	return gpu->holder && gpu->holder->phase == GS_STARTING;
}

/* The client of that id; NULL: there is none. */
struct gs_gpu_client *gs_gpu_find(const struct gs_gpu *gpu, uint64_t id);

/* Above 0: `a` is more urgent than `b`, below 0: less; 0: they are equals. */
int gs_gpu_client_compare(const struct gs_gpu_client *a, const struct gs_gpu_client *b);

/* Has it launched something that has neither ended nor left, and is not behind what has left? */
int gs_gpu_client_is_out(const struct gs_gpu_client *t);

/* It uses the GPU, or has in the last ten seconds and so will want it again. */
int gs_gpu_client_uses(const struct gs_gpu_client *t, uint64_t now);

/* Does it want the GPU, or use it, as an equal of that one? */
int gs_gpu_client_is_equal(const struct gs_gpu_client *t, const struct gs_gpu_client *of);

/* Give or take the time slice, sequentially consistent (Dekker's handshake, see handover.c). */
void gs_gpu_client_grant(struct gs_gpu_client *t, uint32_t grant);

/* Is something ready, and all of that in its stream already (GS_SLOT_PREENQUEUED)? */
int gs_gpu_client_is_preenqueued(const struct gs_gpu_client *t);

/*
 * READY -> TORUN, or RUNNING what is pre-enqueued, and back to RUNNING what has not begun to leave.
 * The caller rings for so many launches, as gs_page_doorbell_for() counts them: what is up to the
 * client's agent, which may sleep whoever else is awake, is more than any.
 */
unsigned gs_gpu_client_schedule(struct gs_gpu_client *t);

/*
 * TORUN -> READY, and RUNNING -> TOEVICT for what can leave.  Returns how many
 * changed, *evicted how many of them must leave the GPU; the caller rings.
 *
 * *leave_ns (raised, never lowered): how long the slowest of those takes to
 * leave by its own account, UINT64_MAX if one of them or a kernel that cannot
 * be told does not say.
 */
unsigned gs_gpu_client_sweep(struct gs_gpu_client *t, uint64_t now, unsigned *evicted,
			     uint64_t *leave_ns);

/*
 * Is everything that the last look found on its way out still out there?  Much
 * cheaper than a look; what came after that look is not asked for.
 */
int gs_gpu_client_quiet(const struct gs_gpu_client *t);

/* Launch what is READY, unless the client is barred. */
void gs_gpu_client_go(struct gs_gpu_client *t);

/* Do kernels of a less urgent client that cannot leave wait for this one?  It would go on beside
 * them without asking. */
int gs_gpu_client_stays_on(const struct gs_gpu_client *t);

/* Nobody is left behind or has the time slice beside another while one client has the GPU for
 * itself. */
static inline int gs_gpu_has_beside(const struct gs_gpu *gpu)
{
	return gpu->o.leave_most_ns && !gpu->pin.client;
}

/* For the trace: its time slice is over; it waits no longer. */
void gs_gpu_client_slice_over(const struct gs_gpu_client *t, uint64_t now);
void gs_gpu_client_wait_over(struct gs_gpu_client *t, uint64_t now);

#endif
