/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ticks of a time axis: where they are and what is written there.  Pure, but for the time zone.
 */
#ifndef GPUSHARE_METRICS_AXIS_H
#define GPUSHARE_METRICS_AXIS_H

#include <stddef.h>
#include <stdint.h>

#define GS_AXIS_LABEL_MAX 40

struct gs_axis {
	uint64_t from_ns, to_ns;
	uint64_t step_ns; /* a round number of what people count time in */
	int64_t clock_ns; /* the wall clock at time 0; 0: labels count from from_ns */
};

/* An axis with at most `most` steps; to_ns > from_ns. */
struct gs_axis gs_axis_of(uint64_t from_ns, uint64_t to_ns, int64_t clock_ns, unsigned most);

/* The first tick at or after at_ns; UINT64_MAX: there is none. */
uint64_t gs_axis_tick(const struct gs_axis *axis, uint64_t at_ns);

/* "18:30:05" of the local time, or "20 ms"; text has room for GS_AXIS_LABEL_MAX. */
void gs_axis_label(const struct gs_axis *axis, uint64_t at_ns, char *text);

/* From when to when it goes: "2026-11-26 18:30:05 to 18:40:05 CET", or "0 to 20 ms". */
void gs_axis_range(const struct gs_axis *axis, char *text, size_t size);

#endif
