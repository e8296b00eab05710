/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Can a thread leave its block-task while others of its block still meet at
 * a barrier, or others of its warp at an instruction that names it?  On the
 * GPU an exited thread is dropped from both; a thread that lives on in the
 * worker's loop is not.
 */
#ifndef GPUSHARE_PTX_UNIFORM_H
#define GPUSHARE_PTX_UNIFORM_H

#include "device/ptx/facts.h"

struct ptx_meeting {
	uint32_t barrier_line; /* a barrier that a thread may miss; 0: none */
	uint32_t lane_line;    /* ... that single lanes may miss, not only whole warps; 0: none */
	uint32_t warp_line;    /* a warp-wide instruction that a lane may miss; 0: none */
	uint8_t whole_warps;   /* right only if rows of threads are whole warps, or the block is one
				  row */
};

/* -1 when the body is beyond the analysis: assume both. */
int ptx_meeting_points(struct ptx_meeting *m, const struct ptx_analysis *a, uint32_t func);

#endif
