/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jobs from Slurm's accounting, as `sacct --parsable2` prints them: fields
 * parted by |, the first line names them.  Known are
 *
 *	JobID|JobIDRaw, Submit, ElapsedRaw|Elapsed, AllocTRES|ReqTRES, Partition
 *
 * of which all but Partition must be there (one of each alternative); others
 * are passed over.  Times are like 2026-11-20T08:15:00; elapsed is in seconds or like
 * 1-02:03:04.  A TRES of gres/gpushare=25 is 25 of a GPU's 100 shares,
 * gres/gpu=2 two whole ones; where only types are accounted, gres/gpu:h200=2, their sum counts.
 */
#ifndef GPUSHARE_SIM_TRACE_H
#define GPUSHARE_SIM_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define SIM_JOB_ID_MAX 32
#define SIM_GPU_SHARES 100

struct sim_job {
	char id[SIM_JOB_ID_MAX];
	uint64_t submit_ns; /* after the first submission of the trace */
	uint64_t length_ns; /* what it took then, taken as its time alone */
	uint32_t shares;    /* 100 a GPU */
	int32_t priority;   /* of its partition; 1 unless told */
	uint32_t line;      /* of the file */
};

/* What a partition's jobs are worth. */
struct sim_partition {
	const char *name;
	int32_t priority;
};

struct sim_trace {
	const char *file;    /* its name, the caller's */
	struct sim_job *job; /* by submission */
	size_t count;
	size_t steps, no_gpu, never_ran; /* rows that were passed over, and why */
};

/*
 * Parse len bytes as if they were the file `name`.  Returns 0, or -1 with
 * "name:line:column: reason" for the first thing wrong, and *trace empty.
 */
int sim_trace_parse(const char *name, const char *text, size_t len,
		    const struct sim_partition *partition, size_t partitions,
		    struct sim_trace *trace, struct gs_error *err);

/* Read and parse a file, - for standard input. */
int sim_trace_load(const char *path, const struct sim_partition *partition, size_t partitions,
		   struct sim_trace *trace, struct gs_error *err);

void sim_trace_free(struct sim_trace *trace);

#endif
