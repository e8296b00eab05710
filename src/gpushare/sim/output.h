/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The results of gpushare-sim, as text; one writer per format. */
#ifndef GPUSHARE_SIM_OUTPUT_H
#define GPUSHARE_SIM_OUTPUT_H

#include <stdio.h>

#include "gpushare/metrics/timeline.h"
#include "gpushare/sim/cluster.h"
#include "gpushare/sim/experiment.h"

#define SIM_POLICIES_MAX 32 /* of one run */

/* One policy's results, in memory. */
struct sim_result {
	struct sim_summary summary;
	struct sim_row *row;  /* by kernel, in the file's order */
	struct gs_span *span; /* of the first round, lane: kernel; for pictures */
	size_t spans;
};

/*
 * Writes results as they come: for each policy, from 0, its head and a row per kernel, from 0;
 * at last the end, with all summaries.
 */
struct sim_writer {
	void (*head)(FILE *out, const struct sim_summary *summary, size_t policy, size_t count);
	void (*row)(FILE *out, const char *name, const struct sim_row *row, size_t kernel);
	void (*end)(FILE *out, const struct sim_summary *summary, size_t count);
};

/*
 *	FORMAT(name, "words")
 */
#define SIM_WRITERS \
	FORMAT(csv, "rows of all kernels, then one summary row per policy") \
	FORMAT(json, "the same as one object") \
	FORMAT(table, "for people")
#define SIM_PICTURES \
	FORMAT(trace, "Chrome trace events: who held the GPU when, for Perfetto") \
	FORMAT(svg, "the same as a picture, with the slowdowns")

#define FORMAT(name, words) extern const struct sim_writer sim_writer_##name;
SIM_WRITERS
#undef FORMAT

/* The head and the rows of one policy's result, number `policy` of `count`. */
void sim_write_result(FILE *out, const struct sim_writer *writer,
		      const struct sim_workload *workload, const struct sim_result *result,
		      size_t policy, size_t count);

/*
 * For each policy that broke its contract, so that fifo replaced it: a line that says so. Nothing
 * for the others.
 */
void sim_write_faults(FILE *out, const char *policy, unsigned faults);

/* All results, with their stretches, one per policy.  0, -1: no memory. */
#define FORMAT(name, words) \
	int sim_write_##name(FILE *out, const struct sim_workload *workload, \
			     const struct sim_result *result, size_t count);
SIM_PICTURES
#undef FORMAT

/* A cluster's jobs under one policy, a row each; and a row per policy. */
void sim_cluster_write_jobs(FILE *out, const struct sim_trace *trace,
			    const struct sim_job_outcome *outcome, const char *policy);
/* Both of a policy, of so many, in their order, as one object in all. */
void sim_cluster_write_json(FILE *out, const struct sim_cluster *cluster,
			    const struct sim_job_outcome *outcome,
			    const struct sim_cluster_summary *summary, size_t policy, size_t count);
void sim_cluster_write_csv(FILE *out, const struct sim_cluster *cluster,
			   const struct sim_cluster_summary *summary, size_t count);
void sim_cluster_write_table(FILE *out, const struct sim_cluster *cluster,
			     const struct sim_cluster_summary *summary, size_t count);

#endif
