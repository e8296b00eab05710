/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a kernel for launches with the same block dimensions and size, and which of its
 * launches are timed. Nothing here calls the driver or the daemon. */
#ifndef GPUSHARE_SHIM_TIMES_H
#define GPUSHARE_SHIM_TIMES_H

#include <stdint.h>

#include "device/shim/base/shim.h"

/* The time of a kernel for launches of one shape. Launches read only its one cache line. */
struct shim_time {
	/* shim_dims(); 0: this entry and all after it are free */
	_Alignas(SHIM_LINE) _Atomic uint32_t dims;
	_Atomic uint32_t spare; /* see due */
	_Atomic uint32_t again; /* how many more of the next launches are timed */
	atomic_flag requested;  /* the daemon has been asked for the time in earlier jobs */
	/* launches without a slot (untracked.h): the launch thread's, which alone writes this... */
	_Atomic uint64_t own;
	_Atomic uint64_t others;  /* ...and those of other threads */
	_Atomic uint64_t tracked; /* all other launches */
	/* learned time per block-task (shim_request.tasks), ps of the whole GPU; 0: not yet */
	_Atomic uint64_t tpt_ps;
	/* The next launch is timed once there have been this many launches (0: at once), or `spare`
	 * more while nobody else uses the GPU. */
	_Atomic uint64_t due;
};

/*
 * The size class of a launch, 0 to 3. A launch with sixteen times as many block-tasks is in another
 * class, since its time per block-task differs: a launch of few block-tasks takes mostly what any
 * launch takes, or what its longest block-task does. Above the last bound it hardly matters.
 */
static SHIM_INLINE uint32_t shim_size(uint64_t tasks)
{
	return (uint32_t)(tasks >= 1 << 10) + (tasks >= 1 << 14) + (tasks >= 1 << 18);
}

/*
 * Block dimensions and size class in one word. Blocks have at most 1,024 x 1,024 x 64 threads (CUDA
 * C++ Programming Guide, compute capabilities); larger ones may look like others, but the driver
 * refuses them.
 */
static SHIM_INLINE uint32_t shim_dims(unsigned int x, unsigned int y, unsigned int z,
				      uint64_t tasks)
{
	return 1u << 31 | shim_size(tasks) << 29 | x << 18 | y << 7 | z;
}

/* How many launches went untracked so far; exact once no thread launches. */
static SHIM_INLINE uint64_t shim_time_untracked(const struct shim_time *t)
{
	return atomic_load_explicit(&t->own, memory_order_relaxed) +
	       atomic_load_explicit(&t->others, memory_order_relaxed);
}
static SHIM_INLINE uint64_t shim_time_launches(const struct shim_time *t)
{
	return shim_time_untracked(t) + atomic_load_explicit(&t->tracked, memory_order_relaxed);
}

/* Is a launch timed that comes after `n` others? Then it must not go untracked, so both use this
 * condition. */
static SHIM_INLINE int shim_time_due(const struct shim_time *t, uint64_t n, int shared)
{
	uint64_t due = atomic_load_explicit(&t->due, memory_order_relaxed);
	uint32_t spare = shared ? 0 : atomic_load_explicit(&t->spare, memory_order_relaxed);

	return !due || (n >= due && n - due >= spare);
}

/*
 * Should this launch, which comes after `n` others and is predicted to take takes_ns, be timed by
 * events? The first few are, and then one of 31, or one of 127 to 1,023 while nobody else uses the
 * GPU. If several threads ask, one gets it. Returns enum shim_timed.
 */
enum shim_timed { SHIM_UNTIMED, SHIM_TIMED, SHIM_TIMED_AGAIN };
uint8_t shim_time_take(struct shim_time *t, uint64_t n, uint64_t takes_ns, int shared);
/* Is enough known of it that its launches need not be timed beside kernels in other contexts? There
 * the events cost switches of contexts, and tell little. */
int shim_time_is_settled(const struct shim_time *t);
/*
 * A timed launch took `tpt_ps` per block-task, ps. shared: others use the GPU now. beside (enum
 * gs_beside): others' kernels may have run meanwhile, so the time is only an upper bound; under MPS
 * it is useless until something is known. Returns what it was predicted to take if it took much
 * longer, and then shim_untracked_longer() must be called for its untracked launches; else 0.
 */
uint64_t shim_time_learn(struct shim_time *t, uint64_t tpt_ps, enum shim_timed timed, int shared,
			 uint32_t beside);
/* Has the next launch timed, whatever else is due. */
static SHIM_INLINE void shim_time_next(struct shim_time *t)
{
	t->due = 0;
}
/* Has so many of the next launches timed. */
void shim_time_again(struct shim_time *t, uint32_t launches);
/* What is known belongs to another kernel: forgets it, so that the next few launches are timed. */
void shim_time_forget(struct shim_time *t);

#endif
