/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How punctual a periodic program is: the measures of GPES (sections III and V), of its jobs. A job
 * is the work of one period: in the simulator a kernel, online what a client does on the GPU
 * between two of its pauses. Times are ns.
 *
 *   response    from the job's arrival to its end
 *   occupying   the part of it with the GPU
 *   pending     the rest
 *   jitter      |t_i - (t_(i-1) + p)|, t_i the end of job i, when its frame can be shown, and p the
 *               period; the first job has none, nor has any without a period
 *   tardiness   how long after the deadline it ended; 0: in time
 *
 * Maxima are of all jobs, quantiles of the latest GS_TIMING_SAMPLES. Pure; not thread-safe.
 */
#ifndef GPUSHARE_METRICS_TIMING_H
#define GPUSHARE_METRICS_TIMING_H

#include <stdint.h>

#define GS_TIMING_SAMPLES 512

enum gs_timing_figure {
	GS_TIMING_RESPONSE,
	GS_TIMING_OCCUPYING,
	GS_TIMING_PENDING,
	GS_TIMING_JITTER,
	GS_TIMING_TARDINESS,
	GS_TIMING_FIGURES
};
#define GS_TIMING_NAMES \
	{ \
		"response", "occupying", "pending", "jitter", "tardiness" \
	} /* in that order */

/* One job. deadline_ns counts from the arrival. */
struct gs_timing_job {
	uint64_t arrival_ns, end_ns;
	uint64_t last_end_ns; /* when the program's job before it ended; 0: it is the first */
	uint64_t occupying_ns;
	uint64_t period_ns, deadline_ns; /* 0: it has none */
};

/* All zero is a program without any job yet. */
struct gs_timing {
	uint64_t jobs, missed; /* missed: of them, so many ended after their deadline */
	struct gs_timing_samples {
		uint64_t count; /* of all jobs that have this figure */
		uint64_t most_ns;
		uint32_t us[GS_TIMING_SAMPLES]; /* the latest ones */
	} of[GS_TIMING_FIGURES];
};

/* Adds a job that has ended. */
void gs_timing_add(struct gs_timing *timing, const struct gs_timing_job *job);

/* A figure's distribution, ms; NaN: no job has it. */
struct gs_timing_summary {
	double p50_ms, p99_ms, max_ms;
};
struct gs_timing_summary gs_timing_summary(const struct gs_timing *timing,
					   enum gs_timing_figure figure);

#endif
