/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-bench periodic: what its measuring and its table share. */
#ifndef GPUSHARE_BENCH_PERIODIC_H
#define GPUSHARE_BENCH_PERIODIC_H

#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"
#include "gpushare/metrics/timing.h"

#define PERIODIC_KINDS 4 /* of low programs */
/* So many frames do not count: variants are made meanwhile, and a large copy may still be under way
 * that began before it would have gone out in chunks. */
#define PERIODIC_WARM_UP 5

/* What a frame is, be it of the periodic program or of a low one. */
struct periodic_frame {
	uint64_t bytes, kernel_ns;
	uint32_t kernels;
};

struct periodic {
	struct bench_common common;
	struct bench_ways ways;
	struct bench_yard yard;
	const char *low; /* list of kinds */
	struct periodic_frame frame;
	struct gs_period period;
	uint64_t low_kernel_ns, low_short_ns, low_bytes, task_ns;
	uint32_t count, lows;
	uint64_t alone_ns;                /* a frame under the driver */
	double low_alone[PERIODIC_KINDS]; /* frames per ns */
	int has_driver;
	struct gs_timing_summary driver[PERIODIC_KINDS][GS_TIMING_FIGURES]; /* time slicing */
	FILE *csv;                                                          /* or NULL */
};

/* A line of the table. */
struct periodic_row {
	const char *low, *isolation, *policy;
	struct gs_timing_summary is[GS_TIMING_FIGURES];
	const struct gs_timing_summary *driver; /* under time slicing; NULL: not measured */
	uint64_t frames, missed;
	double kept; /* of the low programs' speed alone; NAN: there were none */
};

/*
 * Fill in what the row says of the frames that a program has done. Those of the warm-up do not
 * count, but the jitter of the first frame that does is measured from the end of their last one.
 */
void periodic_judge(const struct periodic *periodic, const struct bench_slot *slot,
		    struct periodic_row *row);

/* The low program's speed between two moments, in frames per ns, by the first and the last frame
 * that ended in between. */
double periodic_speed(const struct bench_slot *slot, uint64_t from_ns, uint64_t to_ns);

/* The low program's speed by the median time between two ends, so that a single pause of the
 * machine does not count. It takes two frames at least.  -1 with the reason. */
int periodic_usual_speed(const struct bench_slot *slot, double *speed, struct gs_error *err);

/* The row's 99th percentile divided by that under time slicing. NAN if that is 0 or not measured.
 */
double periodic_ratio(const struct periodic_row *row, enum gs_timing_figure figure);

/* Print the first lines of the table and of the CSV. */
void periodic_head(const struct periodic *periodic);

/* Print a line of both. */
void periodic_print(const struct periodic *periodic, const struct periodic_row *row);

#endif
