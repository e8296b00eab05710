/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients or job steps to lanes, records to spans; see picture.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIXELS 1500

/* By enum gs_trace_kind. */
static const struct gs_span_kind kinds[GS_TRACE_COUNT] = {
	[GS_TRACE_WAIT] = { "waits", "#e8d9a0", 0 },
	[GS_TRACE_SLICE] = { "has the GPU", "#4f81bd", 1 },
	[GS_TRACE_EVICT] = { "leaves", "#c0504d", 0 },
	[GS_TRACE_TELL] = { "is told to leave", "#7a2f2c", 0 },
	[GS_TRACE_OVERDUE] = { "did not leave in time", "#7f0000", 0 },
};

static int by_gpu_and_job(const void *a, const void *b)
{
	const struct gs_trace_lane *x = *(const struct gs_trace_lane *const *)a;
	const struct gs_trace_lane *y = *(const struct gs_trace_lane *const *)b;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->job_id != y->job_id)
		return x->job_id < y->job_id ? -1 : 1;
	if (x->step_id != y->step_id)
		return x->step_id < y->step_id ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int by_time(const void *a, const void *b)
{
	const struct gs_span *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind); /* what leaves is drawn over the turn */
}

static int same_lane(const struct gs_trace_lane *x, const struct gs_trace_lane *y,
		     enum gs_lanes lanes)
{
	return lanes == GS_LANE_PER_STEP && x->gpu == y->gpu && x->job_id == y->job_id &&
	       x->step_id == y->step_id;
}

/* Where each client of the image is found: panel and lane in it. */
struct place {
	uint32_t panel, lane;
};

static void new_panel(struct gs_picture *p, const struct gs_trace_lane *from, uint64_t lost)
{
	char *text = p->text[p->panels];
	struct gs_panel *panel = &p->panel[p->panels++];

	memset(panel, 0, sizeof(*panel));
	snprintf(text, GS_TRACE_NAME_MAX, "GPU %u", from->gpu);
	panel->name = text;
	panel->caption = lost ? "the latest turns" : "all turns since the daemon began";
	panel->kind = kinds;
}

/* A step has many processes: "job 12.0 uid 1000 pid 4711 triad" is then "job 12.0 triad". */
static void name_lane(char *text, const struct gs_trace_lane *from, enum gs_lanes lanes)
{
	const char *uid = strstr(from->name, " uid "), *pid = strstr(from->name, " pid ");

	if (lanes == GS_LANE_PER_STEP && uid && pid && pid > uid) {
		pid += strlen(" pid ");
		pid += strspn(pid, "0123456789");
		snprintf(text, GS_TRACE_NAME_MAX, "%.*s%s", (int)(uid - from->name), from->name,
			 pid);
	} else {
		memcpy(text, from->name, GS_TRACE_NAME_MAX);
	}
}

/* Lanes in order of GPU and job; places[] by the image's numbering. */
static void lay_out(struct gs_picture *p, const struct gs_trace_image *image,
		    const struct gs_trace_lane **order, enum gs_lanes lanes, struct place *places)
{
	size_t used = 0;

	for (size_t i = 0; i < image->lanes; i++)
		order[i] = &image->lane[i];
	qsort(order, image->lanes, sizeof(*order), by_gpu_and_job);
	for (size_t i = 0; i < image->lanes; i++) {
		const struct gs_trace_lane *from = order[i];
		struct gs_panel *panel;

		if (!i || order[i - 1]->gpu != from->gpu)
			new_panel(p, from, image->lost);
		panel = &p->panel[p->panels - 1];
		if (!panel->lanes || !same_lane(order[i - 1], from, lanes)) {
			if (!panel->lanes)
				panel->lane = &p->lane[used];
			p->lane[used] =
				(struct gs_lane) { p->text[image->lanes + used], from->ntt };
			name_lane(p->text[image->lanes + used++], from, lanes);
			panel->lanes++;
		}
		places[from - image->lane] =
			(struct place) { (uint32_t)(p->panels - 1), (uint32_t)(panel->lanes - 1) };
	}
}

/* One span where the eye would see one. */
static size_t melt(struct gs_span *span, size_t n, uint64_t pixel, size_t lanes)
{
	size_t kept = 0, *last = calloc(lanes * GS_TRACE_COUNT + 1, sizeof(*last));

	if (!last)
		return n;
	for (size_t i = 0; i < n; i++) {
		size_t *at = &last[span[i].lane * GS_TRACE_COUNT + span[i].kind];
		struct gs_span *before = *at ? &span[*at - 1] : NULL;

		if (before && span[i].from_ns < before->to_ns + pixel) {
			if (span[i].to_ns > before->to_ns)
				before->to_ns = span[i].to_ns;
			continue;
		}
		span[kept++] = span[i];
		*at = kept;
	}
	free(last);
	return kept;
}

static void fill(struct gs_picture *p, const struct gs_trace_image *image,
		 const struct place *places, int coalesce)
{
	struct gs_span *next = p->span;
	uint64_t pixel;

	p->origin_ns = image->now_ns;
	for (size_t i = 0; i < image->records; i++)
		if (image->record[i].from_ns < p->origin_ns)
			p->origin_ns = image->record[i].from_ns;
	pixel = (image->now_ns - p->origin_ns) / PIXELS;
	for (size_t g = 0; g < p->panels; g++) {
		struct gs_span *first = next;

		for (size_t i = 0; i < image->records; i++) {
			const struct gs_trace_record *r = &image->record[i];

			if (places[r->lane].panel == g)
				*next++ = (struct gs_span) { places[r->lane].lane, r->kind,
							     r->from_ns, r->to_ns };
		}
		qsort(first, (size_t)(next - first), sizeof(*first), by_time);
		p->panel[g].span = first;
		p->panel[g].spans = (size_t)(next - first);
		if (coalesce)
			p->panel[g].spans =
				melt(first, p->panel[g].spans, pixel, p->panel[g].lanes);
	}
}

int gs_picture_make(struct gs_picture *p, const struct gs_trace_image *image, enum gs_lanes lanes,
		    int coalesce)
{
	const struct gs_trace_lane **order = calloc(image->lanes + 1, sizeof(*order));
	struct place *places = calloc(image->lanes + 1, sizeof(*places));
	int rc = -1;

	memset(p, 0, sizeof(*p));
	p->panel = calloc(image->lanes + 1, sizeof(*p->panel));
	p->lane = calloc(image->lanes + 1, sizeof(*p->lane));
	p->text = calloc(2 * image->lanes + 1, sizeof(*p->text));
	p->span = calloc(image->records + 1, sizeof(*p->span));
	if (order && places && p->panel && p->lane && p->text && p->span) {
		lay_out(p, image, order, lanes, places);
		fill(p, image, places, coalesce);
		rc = 0;
	} else {
		gs_picture_free(p);
	}
	free(order);
	free(places);
	return rc;
}

void gs_picture_free(struct gs_picture *p)
{
	free(p->panel);
	free(p->lane);
	free(p->text);
	free(p->span);
}
