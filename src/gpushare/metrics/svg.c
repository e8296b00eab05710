/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture of a timeline; see timeline.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "gpushare/metrics/axis.h"
#include "gpushare/metrics/timeline.h"

enum {
	LANE = 20,   /* from one lane to the next */
	BAR = 12,    /* height of its spans */
	NOTCH = 3,   /* height of the notches below them */
	LEFT = 130,  /* width of the names, at least */
	WIDTH = 760, /* of the time axis */
	BARS = 230,  /* of the slowdowns */
	TOP = 66,    /* title, range, legend */
	HEAD = 24,   /* of a panel */
	FOOT = 34,   /* of a panel: its axis */
	LETTER = 7,
	TICK_ROOM = 84
};

struct scale {
	struct gs_axis axis;
	double ns_per_px;
	double most; /* the slowdown of the longest bar */
	int left;    /* the lanes begin here */
};

static void put_xml(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text >= ' ' && *text < 127 ? *text : '?', out);
		}
	}
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * The slowdown that fills the bars' room: the highest, but no more than four times the median, so
 * that one job that waited for long does not make all others look alike.
 */
static double longest_bar(const struct gs_panel *panel, size_t panels)
{
	double *all, most = 1;
	size_t lanes = 0, n = 0;

	for (size_t p = 0; p < panels; p++)
		lanes += panel[p].lanes;
	all = calloc(lanes + 1, sizeof(*all));
	if (!all)
		return 0;
	for (size_t p = 0; p < panels; p++)
		for (size_t i = 0; i < panel[p].lanes; i++)
			if (panel[p].lane[i].ntt > 0)
				all[n++] = panel[p].lane[i].ntt;
	qsort(all, n, sizeof(*all), by_size);
	if (n && all[n - 1] > most)
		most = all[n - 1];
	if (n && most > 4 * all[(n - 1) / 2])
		most = 4 * all[(n - 1) / 2];
	free(all);
	return most;
}

static int names_width(const struct gs_panel *panel, size_t panels)
{
	int left = LEFT;

	for (size_t p = 0; p < panels; p++)
		for (size_t i = 0; i < panel[p].lanes; i++) {
			int wide = LETTER * (int)strlen(panel[p].lane[i].name) + 16;

			if (wide > left)
				left = wide;
		}
	return left;
}

static uint64_t last_of(const struct gs_panel *panel, size_t panels, uint64_t from_ns)
{
	uint64_t last = from_ns + 1;

	for (size_t p = 0; p < panels; p++)
		for (size_t i = 0; i < panel[p].spans; i++)
			if (panel[p].span[i].to_ns > last)
				last = panel[p].span[i].to_ns;
	return last;
}

static double x_of(const struct scale *s, uint64_t at_ns)
{
	return s->left + (double)(at_ns - s->axis.from_ns) / s->ns_per_px;
}

/* ---- what a pixel's time was spent with -------------------------------- */

/* cover: of WIDTH columns of a lane, the part of each that the kind took; a moment counts a bit. */
static void add_span(float *cover, const struct gs_span *t, const struct scale *s)
{
	double from =
		x_of(s, t->from_ns < s->axis.from_ns ? s->axis.from_ns : t->from_ns) - s->left;
	double to = x_of(s, t->to_ns > s->axis.to_ns ? s->axis.to_ns : t->to_ns) - s->left;

	if (t->to_ns == t->from_ns && from < WIDTH) {
		cover[(int)from] += 0.01f;
		return;
	}
	for (int x = (int)from; x < WIDTH && x < to; x++) {
		double a = from > x ? from : x, b = to < x + 1 ? to : x + 1;

		cover[x] += (float)(b - a);
	}
}

/* NULL: no memory.  [lane][kind][column] */
static float *cover_of(const struct gs_panel *panel, const struct scale *s)
{
	float *cover = calloc(panel->lanes * panel->kinds * WIDTH + 1, sizeof(*cover));

	for (size_t i = 0; cover && i < panel->spans; i++) {
		const struct gs_span *t = &panel->span[i];

		if (t->to_ns >= s->axis.from_ns && t->from_ns <= s->axis.to_ns)
			add_span(&cover[(t->lane * panel->kinds + t->kind) * WIDTH], t, s);
	}
	return cover;
}

/* In half pixels of a lane's height; what there was at all is seen. */
static int height_of(float part)
{
	int halves = (int)(part * BAR * 2 + 0.5f);

	/* What rounding leaves at a span's edge is nothing. */
	if (part > 1e-6f && halves < 2)
		return 2;
	return halves > BAR * 2 ? BAR * 2 : halves;
}

/* The lane's columns of one kind: what has the GPU from the lane's foot up, the others above it. */
static void put_columns(FILE *out, const struct gs_panel *panel, size_t kind, const float *lane,
			const struct scale *s, double top)
{
	const struct gs_span_kind *k = &panel->kind[kind];
	const float *cover = lane + kind * WIDTH;
	int start = 0, high = 0, below = 0;

	for (int x = 0; x <= WIDTH; x++) {
		int h = 0, b = 0;

		if (x < WIDTH && k->notch) {
			h = cover[x] > 0 ? NOTCH * 2 : 0;
		} else if (x < WIDTH) {
			for (size_t j = 0; j < panel->kinds && !k->owns; j++)
				if (panel->kind[j].owns)
					b += height_of(lane[j * WIDTH + (size_t)x]);
			h = height_of(cover[x]);
			if (b + h > BAR * 2)
				h = b < BAR * 2 ? BAR * 2 - b : 0;
		}
		if (x < WIDTH && h == high && b == below)
			continue;
		if (high)
			fprintf(out,
				"<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" "
				"fill=\"%s\"/>\n",
				s->left + start,
				k->notch ? top + BAR + 1 : top + BAR - (below + high) / 2.0,
				x - start, high / 2.0, k->colour);
		start = x;
		high = h;
		below = b;
	}
}

/* ---- the parts of the picture ------------------------------------------ */

static void put_bar(FILE *out, const struct gs_lane *lane, const struct scale *s, double top)
{
	int cut = lane->ntt > s->most, left = s->left + WIDTH + 20;
	double bar = (cut ? 1 : lane->ntt / s->most) * (BARS - 80);

	if (lane->ntt <= 0)
		return;
	fprintf(out,
		"<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"#c0504d\"/>"
		"<text x=\"%.1f\" y=\"%.1f\">%.2f</text>",
		left, top, bar, BAR, left + 6 + bar, top + BAR - 2, lane->ntt);
	if (cut) /* a gap: the bar is longer than there is room for */
		fprintf(out, "<path d=\"M%.1f %.1f l8 -%d\" stroke=\"white\" stroke-width=\"3\"/>",
			left + bar - 26, top + BAR, BAR);
}

static void put_lane(FILE *out, const struct gs_lane *lane, const struct scale *s, double top)
{
	fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", s->left - 8, top + BAR - 2);
	put_xml(out, lane->name);
	fprintf(out, "</text><line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>",
		s->left, s->left + WIDTH, top + BAR + 0.5, top + BAR + 0.5);
	put_bar(out, lane, s, top);
	fputc('\n', out);
}

static void put_arrival(FILE *out, const struct gs_lane *lane, const struct scale *s, double top)
{
	if (lane->arrives && lane->arrived_ns >= s->axis.from_ns &&
	    lane->arrived_ns <= s->axis.to_ns)
		fprintf(out, "<path d=\"M%.1f %.1f l-4 -6 h8 z\" fill=\"#444\"/>\n",
			x_of(s, lane->arrived_ns), top + 5);
}

static void put_axis(FILE *out, const struct scale *s, double top, double bottom)
{
	char label[GS_AXIS_LABEL_MAX];

	fprintf(out, "<path d=\"M%d %.1f h%d\" stroke=\"#666\"/>\n", s->left, bottom, WIDTH);
	for (uint64_t at = gs_axis_tick(&s->axis, s->axis.from_ns); at != UINT64_MAX;
	     at = gs_axis_tick(&s->axis, at + 1)) {
		double x = x_of(s, at);

		gs_axis_label(&s->axis, at, label);
		fprintf(out,
			"<path d=\"M%.1f %.1f V%.1f\" stroke=\"#e4e4e4\"/>"
			"<path d=\"M%.1f %.1f v4\" stroke=\"#666\"/>"
			"<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
			x, top, bottom, x, bottom, x, bottom + 15, label);
	}
}

static int put_panel(FILE *out, const struct gs_panel *panel, const struct scale *s, double y)
{
	float *cover = cover_of(panel, s);
	double top = y + HEAD;

	if (!cover)
		return -1;
	fprintf(out, "<text x=\"%d\" y=\"%.0f\" font-weight=\"bold\">", s->left, y + 14);
	put_xml(out, panel->name);
	if (*panel->caption) {
		fputs(": ", out);
		put_xml(out, panel->caption);
	}
	fputs("</text>\n", out);
	put_axis(out, s, top - 3, top + (double)panel->lanes * LANE);
	for (size_t i = 0; i < panel->lanes; i++) {
		double at = top + (double)i * LANE;

		put_lane(out, &panel->lane[i], s, at);
		for (size_t k = 0; k < panel->kinds; k++)
			put_columns(out, panel, k, &cover[i * panel->kinds * WIDTH], s, at);
		put_arrival(out, &panel->lane[i], s, at);
	}
	free(cover);
	return 0;
}

static double put_words(FILE *out, double x, double y, const char *words)
{
	fprintf(out, "<text x=\"%.0f\" y=\"%.0f\">", x, y);
	put_xml(out, words);
	fputs("</text>\n", out);
	return x + LETTER * (double)strlen(words) + 14;
}

static void put_legend(FILE *out, const struct gs_panel *panel, size_t panels, double x, double y)
{
	int arrives = 0;

	for (size_t k = 0; panels && k < panel->kinds; k++) {
		const struct gs_span_kind *kind = &panel->kind[k];

		fprintf(out, "<rect x=\"%.0f\" y=\"%.0f\" width=\"11\" height=\"%d\" fill=\"%s\"/>",
			x, kind->notch ? y - NOTCH : y - 10, kind->notch ? NOTCH : 11,
			kind->colour);
		x = put_words(out, x + 16, y, kind->words ? kind->words : "has the GPU");
	}
	for (size_t p = 0; p < panels; p++)
		for (size_t i = 0; i < panel[p].lanes; i++)
			arrives |= panel[p].lane[i].arrives;
	if (arrives) {
		fprintf(out, "<path d=\"M%.0f %.0f l-4 -6 h8 z\" fill=\"#444\"/>", x + 5, y - 1);
		put_words(out, x + 16, y, "arrives");
	}
}

int gs_timeline_svg(FILE *out, const struct gs_panel *panel, size_t panels,
		    const struct gs_svg *how)
{
	uint64_t end = how->to_ns ? how->to_ns : last_of(panel, panels, how->from_ns);
	struct scale s = { .left = names_width(panel, panels) };
	double y = TOP, high = TOP + 4;
	char range[160];
	int rc = 0;

	if (end <= how->from_ns)
		end = how->from_ns + 1;
	s.axis = gs_axis_of(how->from_ns, end, how->clock_ns, WIDTH / TICK_ROOM);
	s.ns_per_px = (double)(end - how->from_ns) / WIDTH;
	s.most = longest_bar(panel, panels);
	if (s.most <= 0)
		return -1;
	for (size_t p = 0; p < panels; p++)
		high += HEAD + (double)panel[p].lanes * LANE + FOOT;
	gs_axis_range(&s.axis, range, sizeof(range));
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\" font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"%d\" y=\"17\" font-size=\"13\" font-weight=\"bold\">",
		s.left + WIDTH + BARS, high, s.left + WIDTH + BARS, high, s.left);
	put_xml(out, how->title);
	fprintf(out, "</text>\n<text x=\"%d\" y=\"34\">", s.left);
	put_xml(out, range);
	fprintf(out,
		"</text>\n<text x=\"%d\" y=\"54\" font-weight=\"bold\">slowdown (times)</text>\n",
		s.left + WIDTH + 20);
	put_legend(out, panel, panels, s.left, 54);
	for (size_t p = 0; p < panels && rc == 0; p++) {
		rc = put_panel(out, &panel[p], &s, y);
		y += HEAD + (double)panel[p].lanes * LANE + FOOT;
	}
	fprintf(out, "</svg>\n");
	return rc;
}
