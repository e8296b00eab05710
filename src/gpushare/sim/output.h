/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The results of gpushare-sim, as text; one writer per format. */
#ifndef GPUSHARE_SIM_OUTPUT_H
#define GPUSHARE_SIM_OUTPUT_H

#include <stdio.h>

#include "gpushare/metrics/timeline.h"
#include "gpushare/sim/cluster.h"
#include "gpushare/sim/experiment.h"

/* One policy's results. */
struct sim_result {
	struct sim_summary summary;
	struct sim_row *row;         /* by kernel, in the file's order */
	struct gs_span *span;        /* of the first round, lane: kernel; for trace and svg */
	size_t spans;
};

/*
 *	FORMAT(name, needs the stretches, "words")
 */
#define SIM_FORMATS \
	FORMAT(csv, 0, "rows of all kernels, then one summary row per policy") \
	FORMAT(json, 0, "the same as one object") \
	FORMAT(table, 0, "for people") \
	FORMAT(trace, 1, "Chrome trace events: who held the GPU when, for Perfetto") \
	FORMAT(svg, 1, "the same as a picture, with the slowdowns")

/* Write all results, one per policy, to out.  0, -1: no memory. */
#define FORMAT(name, stretches, words) \
	int sim_write_##name(FILE *out, const struct sim_workload *workload, \
			     const struct sim_result *result, size_t count);
SIM_FORMATS
#undef FORMAT

/* A cluster's jobs under one policy, a row each; and a row per policy. */
void sim_cluster_write_jobs(FILE *out, const struct sim_trace *trace,
			    const struct sim_job_outcome *outcome, const char *policy);
void sim_cluster_write_csv(FILE *out, const struct sim_cluster *cluster,
			   const struct sim_cluster_summary *summary, size_t count);
void sim_cluster_write_table(FILE *out, const struct sim_cluster *cluster,
			     const struct sim_cluster_summary *summary, size_t count);

#endif
