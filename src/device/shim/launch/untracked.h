/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Launches that go without markers, slot and reclaiming: which may, and how they are counted. */
#ifndef GPUSHARE_SHIM_UNTRACKED_H
#define GPUSHARE_SHIM_UNTRACKED_H

#include <stdint.h>

#include "common/clock.h"
#include "device/shim/kernel/kernels.h"
#include "gpushare/proto/page.h"

/*
 * How much predicted time may be on its way to the GPU in kernels that cannot be evicted, while
 * nobody else uses it or has for some seconds (page.h, shared). A client that comes finds that much
 * in front of it, and the same again where the program waits for part of it to end.
 */
#define SHIM_ALONE_NS (16 * GS_NS_PER_MS)
/*
 * The same while no other client has come to the GPU at all. A new client needs longer than this
 * until its first kernel (a context alone takes 151 to 188 ms,
 * doc/measurements/h200-connections.csv).
 */
#define SHIM_ONLY_NS (128 * GS_NS_PER_MS)

/* The one of these two that applies, ns. */
static inline uint64_t shim_alone_ns(const struct gs_page *page)
{
	return gs_page_load(page->only) ? SHIM_ONLY_NS : SHIM_ALONE_NS;
}

/*
 * Launches that end sooner than they could be reported go untracked, without markers, slot and
 * reclaiming, which cost 1.3 to 1.9 us of host time each and about 3 us of the GPU (H200). These
 * are the bounds, in number and predicted time, between two launches with a slot. More are allowed
 * while nobody else uses the GPU: with markers every 4 ms, 27 kernels alone took 1.002 times as
 * long, with markers every 16 ms 1.0003 to 1.0006 times (H200).
 */
#define SHIM_UNTRACKED_MAX 31
#define SHIM_UNTRACKED_PS (1000ull * 1000 * 1000)
#define SHIM_UNTRACKED_ALONE_MAX 511
/*
 * The bound where only little may be queued (GS_CONTENDED_QUEUE), where it is part of the queue's
 * bound (queue.c), and where the daemon should see roughly when launches end (GS_CONTENDED_SPARSE).
 */
#define SHIM_UNTRACKED_SHORT_PS (500ull * 1000 * 1000)

/* Does the shorter bound hold for this enum gs_contended? */
static inline int shim_untracked_are_short(uint32_t contended)
{
	return contended == GS_CONTENDED_QUEUE || contended == GS_CONTENDED_SPARSE;
}

/*
 * A sum of untracked launches is one word: the low bits are their predicted time, the high bits
 * their number. Such words are added and subtracted as a whole. A difference of two words gives
 * both parts correctly, whatever was carried from one into the other, as long as the number and the
 * time of the difference fit.
 */
#define SHIM_UNTRACKED_SUM_BITS 40
#define SHIM_UNTRACKED_SUM_PS ((UINT64_C(1) << SHIM_UNTRACKED_SUM_BITS) - 1)
#define SHIM_UNTRACKED_SUM_ONE (UINT64_C(1) << SHIM_UNTRACKED_SUM_BITS)

/*
 * Nearly all untracked launches are made by the launch thread (shim_launch_thread), and each locked
 * operation costs a tenth of what an untracked launch may cost. So that thread adds up its own
 * launches, from the start on, in a word that nobody else writes (shim_owned.untracked). A launch
 * with a slot reports the part of that sum that no slot has reported before, and notes how far it
 * has reported. These notes never exceed the sum as it is read after them, so the difference is
 * never negative for a reader who reads in that order. Other threads' launches are in `others`,
 * which is changed by compare-and-swap; while anything is there, the launch thread's go there as
 * well.
 */
/* The launch thread's sum when the last launch as written took a slot; that launch reports the time
 * up to here. */
extern _Atomic uint64_t shim_untracked_since SHIM_HOT;
/* The others' launches since then: time and number as above, and in the highest bits those that no
 * launch number counts yet. */
extern _Atomic uint64_t shim_untracked_others SHIM_HOT;

/* The sum of all untracked launches of the launch thread. */
static SHIM_INLINE uint64_t shim_own_sum(void)
{
	return atomic_load_explicit(&shim_owned.untracked, memory_order_relaxed);
}
/* The launch thread's launches whose time no slot has reported yet. */
static SHIM_INLINE uint64_t shim_own_untracked(void)
{
	uint64_t since = atomic_load_explicit(&shim_untracked_since, memory_order_acquire);

	return shim_own_sum() - since;
}

/* Checks what holds for an untracked launch of any thread. Returns its predicted time, ps; 0: it
 * may not go untracked. */
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

/* Adds to a word that only this thread writes. */
static SHIM_INLINE void shim_add_own(_Atomic uint64_t *to, uint64_t n)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* How much predicted time may go untracked between two launches with a slot while others use the
 * GPU, ps. */
static SHIM_INLINE uint64_t shim_untracked_shared_ps(const struct gs_page *page)
{
	return shim_untracked_are_short(gs_page_load(page->contended)) ? SHIM_UNTRACKED_SHORT_PS :
									 SHIM_UNTRACKED_PS;
}

/* shim_may_go_untracked() for the launch thread, while no other thread has untracked launches. */
static SHIM_INLINE int shim_thread_may_go_untracked(const struct gs_page *page, struct shim_time *t,
						    uint64_t tasks, struct shim_owned *own)
{
	int shared = gs_page_load(page->shared) != 0;
	uint64_t ps = shim_untracked_ps(page, t, tasks, shared),
		 most_ps = shared ? shim_untracked_shared_ps(page) : SHIM_ALONE_NS * 1000;
	uint64_t untracked = shim_own_untracked();

	if (SHIM_RARELY(!ps || atomic_load_explicit(&shim_untracked_others, memory_order_relaxed)))
		return 0;
	/* shim_alone_ns() reads another cache line of the page, so it is called only where it
	 * matters. */
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

/* May a launch with this many block-tasks go untracked? If so, counts it and returns 1. Not for
 * graphs, nor where the agent plays the daemon. */
int shim_may_go_untracked(const struct gs_page *page, struct shim_time *t, uint64_t tasks);

/* The number of a launch with a slot; it also counts what went untracked since the last one.
 * *untracked_ns: the time of untracked launches that this launch must report. */
uint64_t shim_untracked_number(int evictable, uint64_t *untracked_ns);

/*
 * Reports to the daemon how many untracked launches each kernel had. Only the agent calls this,
 * from time to time and at exit. anyway: also if nothing was launched since, as for a new daemon.
 * Returns 0; -1: some or all could not be reported, and the next call does it.
 */
int shim_untracked_tell(struct shim_session *s, int anyway);

/* A kernel's time per block-task has changed from `was` to `is`: scales the time of the launches
 * that no slot has reported. */
void shim_untracked_longer(uint64_t was, uint64_t is);

#endif
