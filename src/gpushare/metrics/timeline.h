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
	double ntt; /* the bar beside the lane; 0: none */
};

struct gs_span {
	uint32_t lane, kind; /* indices */
	uint64_t from_ns, to_ns;
};

struct gs_span_kind {
	const char *words;  /* NULL: the lane's name */
	const char *colour; /* of SVG */
	int owns;           /* the lane has the GPU meanwhile: one after the other is a hand-over */
};

struct gs_panel {
	const char *name, *caption;
	const struct gs_lane *lane;
	size_t lanes;
	const struct gs_span *span;
	size_t spans;
	const struct gs_span_kind *kind;
};

/* One process per panel, one thread per lane; names may be any bytes. */
void gs_timeline_trace(FILE *out, const struct gs_panel *panel, size_t panels);

/* Lanes with their spans from origin_ns on, and the slowdown bars beside them. */
void gs_timeline_svg(FILE *out, const struct gs_panel *panel, size_t panels, uint64_t origin_ns,
		     const char *note);

#endif
