/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One round of a workload file, in memory that grows with the kernels that are there at a
 * time and not with those of the file: kernels are read as they arrive, and what became
 * of them goes to a spool.  What experiment.h gives for one round, to the last bit.
 */
#ifndef GPUSHARE_SIM_STREAM_H
#define GPUSHARE_SIM_STREAM_H

#include "gpushare/sim/experiment.h"

struct sim_stream;

/*
 * Open the file, - for standard input, and look through it.  Of the experiment, which
 * outlives it, counts what is about one round: no shuffle.  NULL with the reason.
 */
struct sim_stream *sim_stream_open(const char *path, const struct sim_experiment *experiment,
				   struct gs_error *err);
void sim_stream_close(struct sim_stream *stream); /* NULL is fine */

/* Run it under a policy.  0, or -1 with the reason. */
int sim_stream_run(struct sim_stream *stream, const char *policy, struct sim_summary *summary,
		   struct gs_error *err);

/* Tell what became of each kernel in the last run, in the file's order.  0, or -1 with the reason. */
int sim_stream_rows(struct sim_stream *stream,
		    void (*tell)(void *arg, const char *name, const struct sim_row *row), void *arg,
		    struct gs_error *err);

#endif
