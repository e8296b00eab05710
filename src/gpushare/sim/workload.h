/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A workload: kernels and when they arrive.  Comma separated, the first line
 * names the columns, in any order; lines that begin with # are comments:
 *
 *	name,arrival_ms,length_ms,block_tasks,priority,shares,memory_mb,original_ms,
 *	period_ms,deadline_ms
 *
 * name and length_ms must be there.  Defaults: arrival 0, 1000 block-tasks,
 * priority 1, 1 share, no memory, original as length, no period, deadline as period.
 */
#ifndef GPUSHARE_SIM_WORKLOAD_H
#define GPUSHARE_SIM_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define SIM_NAME_MAX 64
#define SIM_FILE_MAX ((size_t)1 << 30) /* bytes of a workload or a trace */

struct sim_kernel {
	char name[SIM_NAME_MAX];
	uint64_t arrival_ns;
	uint64_t length_ns;   /* alone time, NT x tpt */
	uint64_t original_ns; /* what its slowdown counts against instead of length_ns; 0: that */
	uint64_t gpu_ns;  /* of it, what the GPU is busy with; 0: all but the launch (engine.h) */
	uint64_t told_ns; /* what the scheduler is told instead of length_ns; 0: the truth */
	uint64_t block_tasks; /* NT */
	int32_t priority;
	uint32_t shares;
	uint32_t memory_mb;
	uint64_t period_ns;   /* it arrives again so often (periodic.h); 0: once */
	uint64_t deadline_ns; /* from its arrival; 0: it has none */
	uint32_t line;        /* of the file, from 1; 0: of none */
};

/*
 * The time that the slowdown counts against. The kernel that runs may be a preemptible variant,
 * whose original takes another time (FRS, Table II).
 */
static inline uint64_t sim_kernel_original(const struct sim_kernel *kernel)
{
	return kernel->original_ns ? kernel->original_ns : kernel->length_ns;
}

struct sim_workload {
	struct sim_kernel *kernel; /* in the file's order */
	size_t count;
	const char *name; /* the caller's, of the file; NULL: none */
};

/*
 * Parse len bytes as if they were the file `name`.  Returns 0, or -1 with
 * "name:line:column: reason" for the first thing wrong, and *workload empty.
 */
int sim_workload_parse(const char *name, const char *text, size_t len,
		       struct sim_workload *workload, struct gs_error *err);

/* Read and parse a file of at most 1 GiB, - for standard input.  One that needs more memory than
 * there is fails. */
int sim_workload_load(const char *path, struct sim_workload *workload, struct gs_error *err);

void sim_workload_free(struct sim_workload *workload);

/* Half of what the clock counts, ns: a time up to this and any single step still fit into 64 bits.
 */
#define SIM_TIME_MOST_NS (UINT64_MAX / 2)

/* -1 with the reason if the simulated time is beyond that: most likely the input has a mistake. */
static inline int sim_time_check(uint64_t at_ns, struct gs_error *err)
{
	return at_ns <= SIM_TIME_MOST_NS ?
		       0 :
		       gs_fail(err, "the simulated time is more than 292 years");
}

#endif
