/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients or job steps to lanes, records to spans; see picture.h. */
#define _GNU_SOURCE
#include "gpushare/ctl/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By enum gs_trace_kind. */
static const struct gs_span_kind kinds[GS_TRACE_COUNT] = {
	[GS_TRACE_WAIT] = { .words = "waits", .colour = "#e8d9a0" },
	[GS_TRACE_SLICE] = { .words = "has the GPU", .colour = "#4f81bd", .owns = 1 },
	[GS_TRACE_EVICT] = { .words = "leaves", .colour = "#c0504d", .notch = 1 },
	[GS_TRACE_TELL] = { .words = "is told to leave", .colour = "#7a5fa8", .notch = 1 },
	[GS_TRACE_OVERDUE] = { .words = "did not leave in time", .colour = "#000000", .notch = 1 },
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
	panel->caption = lost ? "the latest time slices" : "all time slices since the daemon began";
	panel->kind = kinds;
	panel->kinds = GS_TRACE_COUNT;
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
			p->lane[used] = (struct gs_lane) { .name = p->text[image->lanes + used],
							   .ntt = from->ntt };
			name_lane(p->text[image->lanes + used++], from, lanes);
			panel->lanes++;
		}
		places[from - image->lane] =
			(struct place) { (uint32_t)(p->panels - 1), (uint32_t)(panel->lanes - 1) };
	}
}

static void fill(struct gs_picture *p, const struct gs_trace_image *image,
		 const struct place *places)
{
	struct gs_span *next = p->span;

	p->origin_ns = image->now_ns;
	for (size_t i = 0; i < image->records; i++)
		if (image->record[i].from_ns < p->origin_ns)
			p->origin_ns = image->record[i].from_ns;
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
	}
}

int gs_picture_select(struct gs_trace_image *image, uint32_t job_id, uint64_t since_ns)
{
	size_t lanes = 0, records = 0;
	uint32_t *place =
		calloc(image->lanes + 1, sizeof(*place)); /* counted from 1; 0: left out */

	if (!place)
		return -1;
	for (size_t i = 0; i < image->records; i++) {
		const struct gs_trace_record *r = &image->record[i];

		if (r->to_ns < since_ns || (job_id && image->lane[r->lane].job_id != job_id))
			continue;
		place[r->lane] = 1;
		image->record[records] = *r;
		if (r->from_ns < since_ns)
			image->record[records].from_ns = since_ns;
		records++;
	}
	for (size_t i = 0; i < image->lanes; i++)
		if (place[i]) {
			image->lane[lanes++] = image->lane[i];
			place[i] = (uint32_t)lanes;
		}
	for (size_t i = 0; i < records; i++)
		image->record[i].lane = place[image->record[i].lane] - 1;
	image->lanes = lanes;
	image->records = records;
	free(place);
	return 0;
}

int gs_picture_make(struct gs_picture *p, const struct gs_trace_image *image, enum gs_lanes lanes)
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
		fill(p, image, places);
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
