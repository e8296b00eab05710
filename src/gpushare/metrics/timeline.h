/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures of who held the GPU when, for the simulator and for gpusharectl:
 * Chrome trace events (Perfetto opens them) and SVG.  Pure.
 *
 * A panel is one GPU or one policy; it has a lane per kernel or per client,
 * and spans in the lanes.  A span without length is a moment.
 */
#ifndef GPUSHARE_METRICS_TIMELINE_H
#define GPUSHARE_METRICS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct gs_lane {
	const char *name;
	double ntt;  /* the bar beside the lane; 0: none */
	int arrives; /* SVG shows arrived_ns in the lane */
	uint64_t arrived_ns;
};

struct gs_span {
	uint32_t lane, kind; /* indices */
	uint64_t from_ns, to_ns;
};

struct gs_span_kind {
	const char *words;  /* NULL: the lane's name */
	const char *colour; /* of SVG */
	int owns;           /* the lane has the GPU meanwhile: one after the other is a hand-over */
	int notch;          /* SVG shows that it happened, below the lane, not how long it took */
};

struct gs_panel {
	const char *name, *caption;
	const struct gs_lane *lane;
	size_t lanes;
	const struct gs_span *span;
	size_t spans;
	const struct gs_span_kind *kind;
	size_t kinds;
};

/* One process per panel, one thread per lane; names may be any bytes. */
void gs_timeline_trace(FILE *out, const struct gs_panel *panel, size_t panels);

struct gs_svg {
	const char *title;
	uint64_t from_ns,
		to_ns;    /* what of the spans' time is drawn; to_ns 0: up to the last span */
	int64_t clock_ns; /* the wall clock at time 0; 0: the axis counts from from_ns */
};

/*
 * A legend, a time axis with ticks, the lanes with their spans, and the slowdown bars beside them.
 * What is thinner than a pixel adds up: the height of a column is the part of its time. 0, -1: no
 * memory.
 */
int gs_timeline_svg(FILE *out, const struct gs_panel *panel, size_t panels,
		    const struct gs_svg *how);

#endif
