/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Job ids of `gpusharectl run`: from GS_LOCAL_JOB_FIRST on in a circle, which
 * leaves out 4294967295 (Slurm's INFINITE).  Reports add up by job, so a daemon goes
 * on after the latest id that its state file or its history knows.  Pure.
 */
#ifndef GPUSHARE_DAEMON_LOCAL_JOB_H
#define GPUSHARE_DAEMON_LOCAL_JOB_H

#include <stdint.h>

#include "gpushare/proto/msg.h"

#define GS_LOCAL_JOB_LAST (UINT32_MAX - 1)

static inline int gs_local_job(uint32_t id)
{
	return id >= GS_LOCAL_JOB_FIRST && id <= GS_LOCAL_JOB_LAST;
}

static inline uint32_t gs_local_job_next(uint32_t id)
{
	return id < GS_LOCAL_JOB_LAST ? id + 1 : GS_LOCAL_JOB_FIRST;
}

/*
 * The later of two local ids; 0 stands for none.  In a circle that is whichever
 * is less than half way ahead of the other.
 */
static inline uint32_t gs_local_job_later(uint32_t a, uint32_t b)
{
	const uint32_t all = GS_LOCAL_JOB_LAST - GS_LOCAL_JOB_FIRST + 1;

	if (!a || !b)
		return a ? a : b;
	return (a - b + (a < b ? all : 0)) < all / 2 ? a : b;
}

#endif
