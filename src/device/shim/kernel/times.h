/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel takes in launches of one shape, and which of its launches are timed to know.
 * Nothing here calls the driver or the daemon.
 */
#ifndef GPUSHARE_SHIM_TIMES_H
#define GPUSHARE_SHIM_TIMES_H

#include <stdint.h>

#include "device/shim/base/shim.h"

/* What a kernel takes in launches of one shape; what they look at is one cache line. */
struct shim_time {
	_Alignas(SHIM_LINE) _Atomic uint32_t
		dims;             /* shim_dims(); 0: free, and so are those after it */
	_Atomic uint32_t spare;   /* see due */
	_Atomic uint32_t again;   /* so many more follow it at once */
	atomic_flag requested;    /* the daemon, for the time that it took in earlier jobs */
	_Atomic uint64_t own;     /* launches without a slot (untracked.h): the owner's, who alone
				     writes it... */
	_Atomic uint64_t others;  /* ...and of everybody else */
	_Atomic uint64_t tracked; /* all other launches */
	_Atomic uint64_t tpt_ps; /* learned time per block-task (shim_request.tasks), picoseconds of
				    the whole GPU; 0: not yet */
	/*
	 * The number of launches from which on the next one is timed, 0: at once; or `spare` more,
	 * while nobody else uses the GPU.
	 */
	_Atomic uint64_t due;
};

/*
 * Launches of sixteen times as many block-tasks are of another size, as the time of a block-task is
 * another: what a launch of few takes is mostly what any launch takes, or what its longest
 * block-task does.  0 to 3; beyond that it hardly matters.
 */
static SHIM_INLINE uint32_t shim_size(uint64_t tasks)
{
	return (uint32_t)(tasks >= 1 << 10) + (tasks >= 1 << 14) + (tasks >= 1 << 18);
}

/*
 * Blocks have at most 1,024 x 1,024 x 64 threads (CUDA C++ Programming Guide, compute
 * capabilities); more may look like another shape: the driver refuses them.
 */
static SHIM_INLINE uint32_t shim_dims(unsigned int x, unsigned int y, unsigned int z,
				      uint64_t tasks)
{
	return 1u << 31 | shim_size(tasks) << 29 | x << 18 | y << 7 | z;
}

/* So far; exact once nobody launches. */
static SHIM_INLINE uint64_t shim_time_untracked(const struct shim_time *t)
{
	return atomic_load_explicit(&t->own, memory_order_relaxed) +
	       atomic_load_explicit(&t->others, memory_order_relaxed);
}
static SHIM_INLINE uint64_t shim_time_launches(const struct shim_time *t)
{
	return shim_time_untracked(t) + atomic_load_explicit(&t->tracked, memory_order_relaxed);
}

/* Is a launch timed that comes after `n` others?  It must not go untracked then: one condition for
 * both. */
static SHIM_INLINE int shim_time_due(const struct shim_time *t, uint64_t n, int shared)
{
	uint64_t due = atomic_load_explicit(&t->due, memory_order_relaxed);
	uint32_t spare = shared ? 0 : atomic_load_explicit(&t->spare, memory_order_relaxed);

	return !due || (n >= due && n - due >= spare);
}

/*
 * The first few are timed by events, and then one of 31, of 127 to 1,023 while nobody else uses the
 * GPU; is this, which comes after `n` others and is predicted to take so long?  Of several threads,
 * one gets it.
 */
enum shim_timed { SHIM_UNTIMED, SHIM_TIMED, SHIM_TIMED_AGAIN };
uint8_t shim_time_take(struct shim_time *t, uint64_t n, uint64_t takes_ns, int shared);
/*
 * Is enough known of it that no launch is timed beside kernels in other contexts?  The events cost
 * switches of contexts there, and tell little.
 */
int shim_time_is_settled(const struct shim_time *t);
/*
 * So long has a launch that was timed taken per block-task, ps; shared: as above, now.  What it was
 * predicted to take, if it took by far longer: so have those that go untracked of it
 * (shim_untracked_longer()); else 0.  beside (enum gs_beside): others' kernels may have run in that
 * time, so it is an upper bound; under MPS one that is good for nothing until something is known.
 */
uint64_t shim_time_learn(struct shim_time *t, uint64_t tpt_ps, enum shim_timed timed, int shared,
			 uint32_t beside);
/* What is known of it is of another kernel: the first few are timed. */
void shim_time_forget(struct shim_time *t);

#endif
