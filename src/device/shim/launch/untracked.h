/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches that go without marks, slot and reap: whether one may, and the account of them. */
#ifndef GPUSHARE_SHIM_UNTRACKED_H
#define GPUSHARE_SHIM_UNTRACKED_H

#include <stdint.h>

#include "common/clock.h"
#include "device/shim/kernel/kernels.h"
#include "gpushare/proto/page.h"

/*
 * So much predicted time may be on its way to the GPU in kernels that cannot be evicted while
 * nobody else uses it, and nobody has for some seconds (page.h, shared): whoever comes then finds
 * that much in front of it, and once more as much where the program waits for some of it to end.
 */
#define SHIM_ALONE_NS (16 * GS_NS_PER_MS)
/*
 * And where no other client has come to the GPU at all: from then until its first kernel it takes
 * longer than that (a context alone takes 151 to 188 ms, doc/measurements/h200-connections.csv).
 */
#define SHIM_ONLY_NS (128 * GS_NS_PER_MS)

/* Which of the two. */
static inline uint64_t shim_alone_ns(const struct gs_page *page)
{
	return gs_page_load(page->only) ? SHIM_ONLY_NS : SHIM_ALONE_NS;
}

/*
 * Launches that are over sooner than they could be told of go untracked without
 * marks, slot and reap, which cost 1.3 to 1.9 us of host time each and the GPU about 3 (H200):
 * between two launches with a slot, so many and so much predicted time of them.  More where nobody
 * else uses the GPU: with marks every 4 ms, 27 kernels alone took 1.002 times as long, with marks
 * every 16 1.0003 to 1.0006 (H200).
 */
#define SHIM_UNTRACKED_MAX 31
#define SHIM_UNTRACKED_PS (1000ull * 1000 * 1000)
#define SHIM_UNTRACKED_ALONE_MAX 511
/*
 * And so much where little is to be queued (GS_CONTENDED_QUEUE), of which it is a part (queue.c),
 * and where the daemon should see about when the launches end (GS_CONTENDED_SPARSE).
 */
#define SHIM_UNTRACKED_SHORT_PS (500ull * 1000 * 1000)

static inline int shim_untracked_are_short(uint32_t contended)
{
	return contended == GS_CONTENDED_QUEUE || contended == GS_CONTENDED_SPARSE;
}

/*
 * The account of them.  A sum of untracked launches is one word: their predicted time, and above it
 * how many they are.  Such words are added and subtracted as they are: whatever has been carried
 * from the one into the other, a difference says both, as long as it is of no more launches and
 * time than fit.
 */
#define SHIM_UNTRACKED_SUM_BITS 40
#define SHIM_UNTRACKED_SUM_PS ((UINT64_C(1) << SHIM_UNTRACKED_SUM_BITS) - 1)
#define SHIM_UNTRACKED_SUM_ONE (UINT64_C(1) << SHIM_UNTRACKED_SUM_BITS)

/*
 * Nearly all untracked launches are of the one thread that launches (shim_launch_thread), and each
 * locked operation is a tenth of what an untracked launch may cost.  So that thread sums up its
 * own, ever, in a word that nobody else writes (shim_owned.untracked); whoever has a slot says of
 * that sum what no slot has said before, and notes up to where that was: those notes only follow,
 * to what was read in the word after them, so a difference is never negative to whoever reads in
 * that order.  Everybody else's are in `others`, which goes by compare-and-swap, and so do the
 * owner's as long as there is anything there.
 */
extern _Atomic uint64_t shim_untracked_since
	SHIM_HOT; /* the owner's when the last launch with a slot was left as it is, which accounts
		     for their time */
extern _Atomic uint64_t shim_untracked_others
	SHIM_HOT; /* the same in one word: since such a launch, and above their count those that no
		     number counts */

static SHIM_INLINE uint64_t shim_own_sum(void)
{
	return atomic_load_explicit(&shim_owned.untracked, memory_order_relaxed);
}
/* Of the owner's, those that no slot has told of in time. */
static SHIM_INLINE uint64_t shim_own_untracked(void)
{
	uint64_t since = atomic_load_explicit(&shim_untracked_since, memory_order_acquire);

	return shim_own_sum() - since;
}

/* What is asked of an untracked launch whoever launches it.  Its predicted time; 0: it does not go
 * untracked. */
static SHIM_INLINE uint64_t shim_untracked_ps(const struct gs_page *page, const struct shim_time *t,
					      uint64_t tasks, int shared)
{
	uint64_t ps = atomic_load_explicit(&t->tpt_ps, memory_order_relaxed) * tasks;
	uint32_t contended = gs_page_load(page->contended);

	if (!gs_page_load(page->grant) || (contended && !shim_untracked_are_short(contended)) ||
	    shim_time_due(t, shim_time_launches(t), shared))
		return 0;
	return ps;
}

/* It is this thread's alone. */
static SHIM_INLINE void shim_add_own(_Atomic uint64_t *to, uint64_t n)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* How much may go untracked between two launches with a slot while others use the GPU, ps. */
static SHIM_INLINE uint64_t shim_untracked_shared_ps(const struct gs_page *page)
{
	return shim_untracked_are_short(gs_page_load(page->contended)) ? SHIM_UNTRACKED_SHORT_PS :
									 SHIM_UNTRACKED_PS;
}

/* Of the owner, who alone calls this, while nobody else has untracked launches: as
 * shim_may_go_untracked(). */
static SHIM_INLINE int shim_thread_may_go_untracked(const struct gs_page *page, struct shim_time *t,
						    uint64_t tasks, struct shim_owned *own)
{
	int shared = gs_page_load(page->shared) != 0;
	uint64_t ps = shim_untracked_ps(page, t, tasks, shared),
		 most_ps = shared ? shim_untracked_shared_ps(page) : SHIM_ALONE_NS * 1000;
	uint64_t untracked = shim_own_untracked();

	if (SHIM_RARELY(!ps || atomic_load_explicit(&shim_untracked_others, memory_order_relaxed)))
		return 0;
	/* Another cache line of the page: it is looked at where that counts. */
	if (SHIM_RARELY(ps + (untracked & SHIM_UNTRACKED_SUM_PS) > most_ps) && !shared)
		most_ps = shim_alone_ns(page) * 1000;
	if (SHIM_RARELY(ps > most_ps || ps + (untracked & SHIM_UNTRACKED_SUM_PS) > most_ps ||
			untracked >> SHIM_UNTRACKED_SUM_BITS >=
				(shared ? SHIM_UNTRACKED_MAX : SHIM_UNTRACKED_ALONE_MAX)))
		return 0;
	shim_add_own(&own->untracked, ps + SHIM_UNTRACKED_SUM_ONE);
	shim_add_own(&t->own, 1);
	return 1;
}

/*
 * May a launch of so many block-tasks go untracked?  Then it is counted.  Not of a graph, nor where
 * the agent plays the daemon.
 */
int shim_may_go_untracked(const struct gs_page *page, struct shim_time *t, uint64_t tasks);

/* For a launch with a slot: its number, which counts what went untracked since the last one. */
uint64_t shim_untracked_number(int evictable, uint64_t *untracked_ns);

/*
 * The daemon is told how many they were of each kernel; the agent alone calls this, now and then
 * and in the end. anyway: also if nothing has been launched since, as for a new daemon.  -1: not of
 * all, or not at all; the next call does.
 */
int shim_untracked_tell(struct shim_session *s, int anyway);

/* A kernel's time is `is` where it was `was`: those that no slot has told of took as many times
 * longer. */
void shim_untracked_longer(uint64_t was, uint64_t is);

#endif
