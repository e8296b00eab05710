/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpushare-bench periodic: what its measuring and its table share. */
#ifndef GPUSHARE_BENCH_PERIODIC_H
#define GPUSHARE_BENCH_PERIODIC_H

#include "gpushare/bench/bench.h"
#include "gpushare/bench/measure.h"
#include "gpushare/metrics/timing.h"

#define PERIODIC_KINDS 4 /* of low programs */
/* Frames that are not counted, while variants are made and a copy that began whole ends. */
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
 * What the row says of the frames that a program has done. Those of the warm-up do not count, but
 * the jitter of the first that does is by the end of the last of them.
 */
void periodic_judge(const struct periodic *periodic, const struct bench_slot *slot,
		    struct periodic_row *row);

/* Frames per ns that a low program ended between two moments, by the first and the last of them. */
double periodic_speed(const struct bench_slot *slot, uint64_t from_ns, uint64_t to_ns);

/* The same by the median distance of the ends, so that what stops the machine once does not count;
 * of two frames at least.  -1 with the reason. */
int periodic_usual_speed(const struct bench_slot *slot, double *speed, struct gs_error *err);

/* The row's 99th percentile by that under time slicing. NAN: not measured, or time slicing has 0.
 */
double periodic_ratio(const struct periodic_row *row, enum gs_timing_figure figure);

/* The first lines of the table and of the CSV. */
void periodic_head(const struct periodic *periodic);

/* A line of both. */
void periodic_print(const struct periodic *periodic, const struct periodic_row *row);

#endif
