/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guard: what stands before the first instruction of a guarded kernel, made
 * from PTX or from machine code, and what a launch gives it.  This header is the
 * contract between the code that makes guarded kernels and the code that
 * launches them; it has no functions.
 *
 * A unit is what runs or leaves as a whole: a cluster where the launch has
 * clusters, else a block.  Its linear index is x + nx * (y + ny * z), of
 * %clusterid or %ctaid.  A launch has fewer than 2^32 units; one in clusters has
 * at most 2^24 blocks in each dimension, because ptxas computes %clusterid in
 * single precision.
 *
 * Each launch has one 64-bit word W in device memory.  Bit 63 says "leave"; the
 * lower 32 bits are n, the number of units (of groups, where `group` is not 0)
 * that have been let in.  A unit b of a launch with base <= b does
 *
 *	b1 = (b >> group) + 1;
 *	old = atomicMax(&W, b1);
 *	if ((old ^ GS_GUARD_LEAVE) < b1)
 *		leave;
 *
 * so it runs if W did not say "leave" yet, or if n had passed it already: all
 * blocks, warps and threads of a unit find the same answer whenever they ask,
 * and what has run is exactly the prefix [0, n << group) of the grid.
 *
 * Who evicts sets the upper 32 bits to GS_GUARD_LEAVE_UPPER with one aligned
 * 32-bit store or copy and leaves the lower ones alone.  From the moment when the
 * launch may begin, nobody clears "leave" until it has ended: a unit that asks then
 * would run and raise n beyond those that have left.  When the launch has
 * ended, min(max(base, n << group), units) units are done; the next launch
 * takes this number as `base`.  If it equals the number of units, all is done.
 */
#ifndef GPUSHARE_PTX_GUARD_H
#define GPUSHARE_PTX_GUARD_H

#include <stdint.h>

/*
 * The one parameter that a guarded kernel has more than its original: the last,
 * aligned to 8 bytes behind the others, of GS_GUARD_PARAM_BYTES.
 */
struct gs_guard {
	uint64_t word;  /* device address of W, aligned to 128 bytes */
	uint64_t base;  /* units below it ran in an earlier launch and leave at once */
	uint64_t group; /* log2 of the units that are asked together, 0 to 31; maxb: 0 */
};

#define GS_GUARD_PARAM_BYTES 24u
#define GS_GUARD_PARAM_ALIGN 8u

#define GS_GUARD_LEAVE (UINT64_C(1) << 63) /* of W */
#define GS_GUARD_LEAVE_UPPER 0x80000000u   /* what its upper half is set to... */
#define GS_GUARD_UPPER_AT 4u               /* ...which is so many bytes behind `word` */
#define GS_GUARD_COUNT(w) ((uint32_t)(w))  /* n */

/*
 * The form maxt remembers the last W that was seen on each multiprocessor: 256
 * lines of 128 bytes behind W, at word + GS_GUARD_SEEN_AT + GS_GUARD_SEEN_STRIDE
 * * (multiprocessor & 255), of which the first 8 bytes are used.  What a line
 * holds stays true for the whole launch: n only grows, and once W says "leave"
 * n does not change.
 *
 * Before every launch these lines are zero and W is set to n: 0 for a first launch, more than
 * base >> group for a relaunch.  Units from base up to n << group run even if the order to leave
 * is there already, so a relaunch always gets on.
 * The form maxb needs W only; GS_GUARD_BYTES are enough for each form.
 */
#define GS_GUARD_SEEN_AT 128u
#define GS_GUARD_SEEN_STRIDE 128u
#define GS_GUARD_SEEN_COUNT 256u
#define GS_GUARD_BYTES (GS_GUARD_SEEN_AT + GS_GUARD_SEEN_STRIDE * GS_GUARD_SEEN_COUNT)

#endif
