/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control block of one launch of a persistent kernel, in device memory: what
 * the shim and the transformed code agree on.  (A guarded one has guard.h.)
 * The first line is written by the workers, the second by the host.
 *
 * The transformed entry has one parameter more than the original, the last:
 * a .u64 with the (generic) device address of this block.
 */
#ifndef GPUSHARE_PTX_CTL_H
#define GPUSHARE_PTX_CTL_H

#include <stddef.h>
#include <stdint.h>

struct gs_ctl {
	uint64_t next;   /* next block-task to claim; the whole saved state of an evicted kernel */
	uint32_t exited; /* workers that have left in this launch; the last one zeroes it */
	uint32_t pad0;
	uint64_t saved;    /* what `next` was when the proxy made claims fail */
	uint32_t own_stay; /* a word for stay_at, of a block that shares none with others */
	uint32_t pad1[9];

	uint32_t limit;     /* resident limit: worker i stays while i < limit; 0 evicts all */
	uint32_t chunk;     /* block-tasks per claim, at first; at least 1 */
	uint32_t chunk_max; /* upper bound of the adaptive chunk */
	uint32_t chunk_ns;  /* a claim shorter than this doubles the worker's chunk, longer than
			       twice this halves it; 0: never */
	uint64_t total;     /* NT, below 2^62 (a larger grid would run for a century) */
	uint32_t nctaid[3]; /* the original grid */
	uint32_t workers;   /* blocks in this launch */
	uint64_t slot;  /* device address of the gs_slot, in the registered page; 0: none, nobody is
			   told */
	uint32_t done;  /* +1 when no block-task remains; the stream waits for it */
	uint32_t proxy; /* 1: worker 0 runs no block-tasks, it watches the slot (needs slot, workers
			   >= 2) */
	uint32_t rearm; /* 1: the last block out of a finished launch sets next to 0, for the next
			   launch */
	uint32_t stay_at; /* where the word is that says which workers stay, in bytes from the
			     beginning of this block; 0: nowhere, and all stay */
};

/*
 * Which workers stay. Each reads this word as it begins, so the host can still change it for a
 * launch that waits in its stream. 0: all stay.
 *
 * gs_ctl_sms(): those on the multiprocessors first to end - 1. While another kernel fills these,
 * too few workers may come to be there.
 */
static inline uint32_t gs_ctl_sms(uint32_t first, uint32_t end)
{
	return first | end << 16;
}

/* Workers 0 to workers * parts / GS_CTL_PARTS - 1, but two at least: worker 0 may be the proxy,
 * which runs no block-tasks. */
#define GS_CTL_PARTS 1024u
static inline uint32_t gs_ctl_part(uint32_t parts)
{
	return UINT32_C(0x80000000) | parts;
}

_Static_assert(sizeof(struct gs_ctl) == 128, "two lines");
_Static_assert(offsetof(struct gs_ctl, exited) == 8, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, saved) == 16, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, limit) == 64, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, total) == 80, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, nctaid) == 88, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, workers) == 100, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, slot) == 104, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, done) == 112, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, proxy) == 116, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, rearm) == 120, "GPU layout");
_Static_assert(offsetof(struct gs_ctl, stay_at) == 124, "GPU layout");

/*
 * What a persistent variant does with it:
 *  entry   worker 0 stores 1 to slot.started (system scope).  A worker that does not stay by the
 *          word at stay_at leaves without a claim.  So several kernels can divide the GPU between
 *          them, though nobody can tell it where to put a block. The workers that stay run all
 *          block-tasks. If none stays, the launch ends with nothing
 *          claimed, and `next` and `done` are what they were. The proxy may be anywhere.
 *  proxy   (EffiSha, section 6.3) worker 0, if asked to: reads slot.launch state, in
 *          host memory, every one or two microseconds; TOEVICT: limit = 0, saved =
 *          atom.exch(next, 2^62), so that every further claim fails.  If saved < total it
 *          waits until all others have left, is the last block out itself, below (with
 *          one membar.sys in front of the slot), and is not counted.  Else it leaves, as it does
 *          when next >= total or all others have left
 *          (they may have found a limit of 0 that was lifted again).  So an
 *          eviction needs neither the program's process nor a copy engine.
 *  claim   thread 0: if worker >= ld.relaxed(limit), read once per launch if
 *          there is a proxy: leave; else
 *          base = atom.add(next, chunk); base >= total: leave; the block runs
 *          base .. min(base + chunk, total) - 1 in ascending order, all of them.
 *  leave   thread 0, after the block's last barrier: membar.gl (its block's
 *          writes are visible before the count), e = atom.add(exited, 1);
 *          the one with e == workers - 1 is the last block out:
 *            exited = 0; proxy: limit = UINT32_MAX, for the relaunch;
 *            next >= 2^62: next = saved; n = min(next, total); slot.done = n;
 *            n < total: membar.sys, slot.launch state = READY
 *            n == total: membar.sys, rearm: next = 0; done += 1,
 *            slot.launch state = DONE (from then on the host may use the block again)
 *          (a claim beyond the end leaves `next` above total, hence the min).
 *
 * The stores to the slot are plain .sys stores: the daemon's compare-and-swap
 * of RUNNING to TOEVICT either precedes the store, which then overwrites
 * TOEVICT, or fails; both are legal edges of launch_state.def, so no GPU atomic
 * on host memory is needed (not every bus has them).
 */

#endif
