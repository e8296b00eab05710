/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ticks at round times; see axis.h. */
#define _GNU_SOURCE
#include "gpushare/metrics/axis.h"

#include <stdio.h>
#include <time.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

/* Below a second 1, 2 and 5 times a power of ten; above it what a clock's face has. */
static const uint64_t long_steps[] = { SECOND,      2 * SECOND,  5 * SECOND,  10 * SECOND,
				       15 * SECOND, 30 * SECOND, MINUTE,      2 * MINUTE,
				       5 * MINUTE,  10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
				       HOUR,        2 * HOUR,    3 * HOUR,    6 * HOUR,
				       12 * HOUR,   24 * HOUR };

static uint64_t step_of(uint64_t least)
{
	static const unsigned factor[] = { 1, 2, 5 };

	for (uint64_t unit = 1; unit < SECOND; unit *= 10)
		for (unsigned i = 0; i < 3; i++)
			if (unit * factor[i] >= least)
				return unit * factor[i];
	for (size_t i = 0; i < sizeof(long_steps) / sizeof(long_steps[0]); i++)
		if (long_steps[i] >= least)
			return long_steps[i];
	return (least / (24 * HOUR) + 1) * 24 * HOUR;
}

struct gs_axis gs_axis_of(uint64_t from_ns, uint64_t to_ns, int64_t clock_ns, unsigned most)
{
	struct gs_axis axis = { from_ns, to_ns, 0, clock_ns };

	axis.step_ns = step_of((to_ns - from_ns) / (most ? most : 1) + 1);
	return axis;
}

static struct tm clock_of(const struct gs_axis *axis, uint64_t at_ns, uint64_t *rest_ns)
{
	int64_t wall = (int64_t)at_ns + axis->clock_ns;
	time_t t = (time_t)(wall / (int64_t)SECOND);
	struct tm tm = { .tm_mday = 1 };

	*rest_ns = (uint64_t)(wall % (int64_t)SECOND);
	localtime_r(&t, &tm);
	return tm;
}

/* How far at_ns is behind a multiple of the step: since from_ns, or by the local clock. */
static uint64_t behind(const struct gs_axis *axis, uint64_t at_ns)
{
	uint64_t unused;
	struct tm tm;

	if (!axis->clock_ns)
		return (at_ns - axis->from_ns) % axis->step_ns;
	tm = clock_of(axis, at_ns, &unused);
	return ((uint64_t)((int64_t)at_ns + axis->clock_ns) + (uint64_t)tm.tm_gmtoff * SECOND) %
	       axis->step_ns;
}

uint64_t gs_axis_tick(const struct gs_axis *axis, uint64_t at_ns)
{
	uint64_t past = behind(axis, at_ns);

	if (past)
		at_ns += axis->step_ns - past;
	return at_ns <= axis->to_ns ? at_ns : UINT64_MAX;
}

/* A length of time; the unit is one in which the step needs no decimals. */
static void put_length(char *text, size_t size, uint64_t ns, uint64_t step_ns)
{
	if (step_ns >= MINUTE)
		snprintf(text, size, "%g min", (double)ns / (double)MINUTE);
	else if (step_ns >= SECOND)
		snprintf(text, size, "%g s", (double)ns / (double)SECOND);
	else if (step_ns >= MS)
		snprintf(text, size, "%g ms", (double)ns / (double)MS);
	else
		snprintf(text, size, "%g us", (double)ns / (double)US);
}

void gs_axis_label(const struct gs_axis *axis, uint64_t at_ns, char *text)
{
	uint64_t rest;
	struct tm tm;
	size_t n;

	if (!axis->clock_ns) {
		put_length(text, GS_AXIS_LABEL_MAX, at_ns - axis->from_ns, axis->step_ns);
		return;
	}
	tm = clock_of(axis, at_ns, &rest);
	if (axis->step_ns >= 24 * HOUR) {
		strftime(text, GS_AXIS_LABEL_MAX, "%Y-%m-%d", &tm);
		return;
	}
	n = strftime(text, GS_AXIS_LABEL_MAX, axis->step_ns >= MINUTE ? "%H:%M" : "%H:%M:%S", &tm);
	if (axis->step_ns < MS)
		snprintf(text + n, GS_AXIS_LABEL_MAX - n, ".%06u", (unsigned)(rest / US));
	else if (axis->step_ns < SECOND)
		snprintf(text + n, GS_AXIS_LABEL_MAX - n, ".%03u", (unsigned)(rest / MS));
}

void gs_axis_range(const struct gs_axis *axis, char *text, size_t size)
{
	uint64_t length = axis->to_ns - axis->from_ns, rest;
	char from[64], to[64];
	struct tm a, b;

	if (!axis->clock_ns) {
		double unit = length >= SECOND ? (double)SECOND :
			      length >= MS     ? (double)MS :
						 (double)US;

		snprintf(text, size, "0 to %.4g %s", (double)length / unit,
			 length >= SECOND ? "s" :
			 length >= MS     ? "ms" :
					    "us");
		return;
	}
	a = clock_of(axis, axis->from_ns, &rest);
	b = clock_of(axis, axis->to_ns, &rest);
	strftime(from, sizeof(from), "%Y-%m-%d %H:%M:%S", &a);
	strftime(to, sizeof(to),
		 a.tm_year == b.tm_year && a.tm_yday == b.tm_yday ? "%H:%M:%S %Z" :
								    "%Y-%m-%d %H:%M:%S %Z",
		 &b);
	snprintf(text, size, "%s to %s", from, to);
}
