/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpushare-sim was asked to do, and doing it. */
#ifndef GPUSHARE_SIM_COMMAND_H
#define GPUSHARE_SIM_COMMAND_H

#include "gpushare/sim/corun.h"
#include "gpushare/sim/memory.h"
#include "gpushare/sim/output.h"

#define SIM_PARTITIONS_MAX 64

/* Either writes as results come, or draws them all. */
struct sim_format {
	const char *name;
	const struct sim_writer *writer;
	int (*draw)(FILE *out, const struct sim_workload *workload, const struct sim_result *result,
		    size_t count);
};

/* NULL: the known ones are named. */
const struct sim_format *sim_format_find(const char *name, struct gs_error *err);

struct sim_command {
	const char *policy;
	const char *path;
	const struct sim_format *format;
	struct sim_experiment experiment;
	uint64_t until_ns; /* --until, for periodic kernels; 0: not given */
	struct sim_memory memory;
	int admission;       /* --memory was given */
	const char *kernels; /* --corun's file */
	struct sim_corun corun;
	const char *trace;
	struct sim_cluster cluster;
	struct sim_partition partition[SIM_PARTITIONS_MAX];
	size_t partitions;
	unsigned quanta; /* given: 1 min-quantum, 2 rr-quantum, 4 cfs-epoch, 8 dprr-tick */
};

/* Do it; results go to standard output.  0, or -1 with the reason. */
int sim_command_run(struct sim_command *command, struct gs_error *err);

#endif
