/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Job ids of `gpusharectl run`. They begin at GS_LOCAL_JOB_FIRST and wrap around, leaving out
 * 4294967295 (Slurm's INFINITE). Reports add up by job id, so a new daemon continues after the
 * latest id that its state file or its history has. Pure.
 */
#ifndef GPUSHARE_DAEMON_LOCAL_JOB_H
#define GPUSHARE_DAEMON_LOCAL_JOB_H

#include <stdint.h>

#include "gpushare/proto/msg.h"

#define GS_LOCAL_JOB_LAST (UINT32_MAX - 1)

/* Is this the id of a local job? */
static inline int gs_local_job(uint32_t id)
{
	return id >= GS_LOCAL_JOB_FIRST && id <= GS_LOCAL_JOB_LAST;
}

/* The id after this one. */
static inline uint32_t gs_local_job_next(uint32_t id)
{
	return id < GS_LOCAL_JOB_LAST ? id + 1 : GS_LOCAL_JOB_FIRST;
}

/* The later of two local ids; 0 stands for none. As ids wrap around, the later one is the one that
 * is less than half the range ahead of the other. */
static inline uint32_t gs_local_job_later(uint32_t a, uint32_t b)
{
	const uint32_t all = GS_LOCAL_JOB_LAST - GS_LOCAL_JOB_FIRST + 1;

	if (!a || !b)
		return a ? a : b;
	return (a - b + (a < b ? all : 0)) < all / 2 ? a : b;
}

#endif
