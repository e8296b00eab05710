/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How punctual a step is; see report.h. */
#include <math.h>

#include "gpushare/daemon/report/report.h"

#define NS_PER_MS 1e6

static double ms_or_none(uint64_t ns)
{
	return ns ? (double)ns / NS_PER_MS : NAN;
}

static struct gs_timing_summary summary_of(const struct gs_timing *timing,
					   enum gs_timing_figure figure)
{
	return timing ? gs_timing_summary(timing, figure) :
			(struct gs_timing_summary) { NAN, NAN, NAN };
}

#define FILL(figure, FIGURE) \
	do { \
		struct gs_timing_summary is = summary_of(timing, GS_TIMING_##FIGURE); \
		row->figure##_p50_ms = is.p50_ms; \
		row->figure##_p99_ms = is.p99_ms; \
		row->figure##_max_ms = is.max_ms; \
	} while (0)

void gs_report_fill_punctual(struct gs_report_row *row, const struct gs_period *period,
			     const struct gs_timing *timing)
{
	row->period_ms = ms_or_none(period->every_ns);
	row->deadline_ms = ms_or_none(period->deadline_ns);
	row->bursts = timing ? (int64_t)timing->jobs : -1;
	row->missed = timing ? (int64_t)timing->missed : -1;
	FILL(response, RESPONSE);
	FILL(occupying, OCCUPYING);
	FILL(pending, PENDING);
	FILL(jitter, JITTER);
	FILL(tardiness, TARDINESS);
}
