/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several kernels on a GPU at once, as SMK has it: which part of the
 * multiprocessors, or of each multiprocessor, is whose.  Pure: nothing is asked
 * of a GPU, and nothing is kept.
 */
#ifndef GPUSHARE_CORUN_H
#define GPUSHARE_CORUN_H

#include <stddef.h>
#include <stdint.h>

/* So many kernels at most. */
#define GS_CORUN_MAX 16

/* What a block takes of a multiprocessor (its blocks are then 1), or what a multiprocessor has. */
struct gs_corun_size {
	uint32_t registers; /* of 32 bits, of all threads */
	uint32_t shared;    /* shared memory, in bytes */
	uint32_t threads;
	uint32_t blocks;
};

/* A kernel that runs by itself, for the quotas. */
struct gs_corun_alone {
	double issue;    /* 0 to 1: the part of the cycles in which it issues an instruction */
	uint32_t blocks; /* on each multiprocessor */
};

/* The dominant share (SMK, 5.2): of what is there of each, the largest part that so many blocks
 * take. 1 is all; more than 1 does not fit. */
double gs_corun_share(const struct gs_corun_size *block, uint32_t blocks,
		      const struct gs_corun_size *sm);

/* How many blocks fit on an empty multiprocessor. */
uint32_t gs_corun_fit(const struct gs_corun_size *block, const struct gs_corun_size *sm);

/*
 * Divides each multiprocessor among n kernels, 1 to GS_CORUN_MAX (SMK, 5.3.2, Figure 6): the kernel
 * with the smallest dominant share gets the next block, of equal ones the one that it raises the
 * least, until no more fits.  One whose block does not fit any more is passed over.  Into
 * blocks[n].
 */
void gs_corun_partition(const struct gs_corun_size *block, size_t n, const struct gs_corun_size *sm,
			uint32_t *blocks);

/*
 * The same for the GPU as a whole, block by block and without parts of a multiprocessor (5.3.1,
 * Figure 4): the first kernel has all of the GPU as the others come, in their order.  A block is
 * taken from another kernel only if that brings the shares of all closer together.  Into
 * blocks[sms * n], the kernels of a multiprocessor side by side.
 */
void gs_corun_on_demand(const struct gs_corun_size *block, size_t n, const struct gs_corun_size *sm,
			size_t sms, uint32_t *blocks);

/* Whole multiprocessors, as many for each kernel as for the others (Spart, 4.1); the first ones get
 * what is left over. Into part[n]. */
void gs_corun_spart(size_t n, size_t sms, size_t *part);

/*
 * The part of the instructions that each kernel may issue (5.4): as many as it needs alone, by the
 * blocks that it has of those that it has alone; together 1.  Of a kernel without blocks 0.  Into
 * quota[n]; all are 0 if no kernel needs any.
 */
void gs_corun_quotas(const struct gs_corun_alone *alone, const uint32_t *blocks, size_t n,
		     double *quota);

#endif
