/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the daemon's trace to panels, one per GPU.  Pure. */
#ifndef GPUSHARE_CTL_PICTURE_H
#define GPUSHARE_CTL_PICTURE_H

#include "gpushare/metrics/timeline.h"
#include "gpushare/proto/trace.h"

struct gs_picture {
	struct gs_panel *panel;
	size_t panels;
	uint64_t origin_ns;   /* the first record */
	struct gs_lane *lane; /* what the panels point to; so are span and text */
	struct gs_span *span;
	char (*text)[GS_TRACE_NAME_MAX];
};

enum gs_lanes { GS_LANE_PER_CLIENT, GS_LANE_PER_STEP };

/*
 * Keep of the image what ended at since_ns of the daemon's clock or later, and only job_id's, 0
 * being all jobs. 0, -1: no memory.
 */
int gs_picture_select(struct gs_trace_image *image, uint32_t job_id, uint64_t since_ns);

/* Lanes in order of GPU and job. 0, -1: no memory. */
int gs_picture_make(struct gs_picture *picture, const struct gs_trace_image *image,
		    enum gs_lanes lanes);
void gs_picture_free(struct gs_picture *picture);

#endif
