/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chrome trace events and SVG; see timeline.h. */
#include "gpushare/metrics/timeline.h"

#include <stdlib.h>
#include <string.h>

/* ---- Chrome trace events ---------------------------------------------- */

/* A JSON string; what is no plain character becomes '?'. */
static void put_json(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text >= ' ' && *text < 127 ? *text : '?', out);
	}
	fputc('"', out);
}

static void put_name(FILE *out, const char *comma, const char *what, size_t pid, size_t tid,
		     const char *name)
{
	fprintf(out, "%s\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%zu,", comma, what, pid);
	if (tid)
		fprintf(out, "\"tid\":%zu,", tid);
	fputs("\"args\":{\"name\":", out);
	put_json(out, name);
	fputs("}}", out);
}

static void put_span(FILE *out, const struct gs_panel *panel, const struct gs_span *s, size_t pid)
{
	const char *words = panel->kind[s->kind].words;

	fprintf(out, ",\n{\"ph\":\"%s\",\"name\":", s->to_ns > s->from_ns ? "X" : "i");
	put_json(out, words ? words : panel->lane[s->lane].name);
	fprintf(out, ",\"pid\":%zu,\"tid\":%u,\"ts\":%.3f,", pid, s->lane + 1,
		(double)s->from_ns / 1e3);
	if (s->to_ns > s->from_ns)
		fprintf(out, "\"dur\":%.3f}", (double)(s->to_ns - s->from_ns) / 1e3);
	else
		fputs("\"s\":\"t\"}", out);
}

/* The GPU went from one lane to another; `gap`: nobody had it meanwhile. */
static void put_handover(FILE *out, const struct gs_panel *panel, const struct gs_span *from,
			 const struct gs_span *to, size_t pid)
{
	uint64_t gap = to->from_ns > from->to_ns ? to->from_ns - from->to_ns : 0;

	fprintf(out,
		",\n{\"ph\":\"i\",\"name\":\"hand-over\",\"pid\":%zu,\"tid\":%u,\"ts\":%.3f,"
		"\"s\":\"p\",\"args\":{\"from\":",
		pid, to->lane + 1, (double)to->from_ns / 1e3);
	put_json(out, panel->lane[from->lane].name);
	fputs(",\"to\":", out);
	put_json(out, panel->lane[to->lane].name);
	fprintf(out, ",\"gap_us\":%.3f}}", (double)gap / 1e3);
}

void gs_timeline_trace(FILE *out, const struct gs_panel *panel, size_t panels)
{
	fprintf(out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
	for (size_t p = 0; p < panels; p++) {
		const struct gs_panel *q = &panel[p];
		const struct gs_span *series = NULL;

		put_name(out, p ? "," : "", "process_name", p + 1, 0, q->name);
		for (size_t i = 0; i < q->lanes; i++)
			put_name(out, ",", "thread_name", p + 1, i + 1, q->lane[i].name);
		for (size_t i = 0; i < q->spans; i++) {
			const struct gs_span *s = &q->span[i];

			put_span(out, q, s, p + 1);
			if (!q->kind[s->kind].owns)
				continue;
			if (series && series->lane != s->lane)
				put_handover(out, q, series, s, p + 1);
			series = s;
		}
	}
	fprintf(out, "\n]}\n");
}

/* ---- SVG --------------------------------------------------------------- */

enum { LANE = 16, LEFT = 130, WIDTH = 760, BARS = 230, HEAD = 42, LETTER = 7 };

struct scale {
	uint64_t origin_ns;
	double ns_per_px, most; /* the highest NTT */
	int left;               /* the lanes begin here */
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

static struct scale summarise(const struct gs_panel *panel, size_t panels, uint64_t origin_ns)
{
	struct scale s = { .origin_ns = origin_ns, .most = 1, .left = LEFT };
	uint64_t last = origin_ns + 1;

	for (size_t p = 0; p < panels; p++) {
		for (size_t i = 0; i < panel[p].lanes; i++) {
			int wide = LETTER * (int)strlen(panel[p].lane[i].name) + 16;

			if (panel[p].lane[i].ntt > s.most)
				s.most = panel[p].lane[i].ntt;
			if (wide > s.left)
				s.left = wide;
		}
		for (size_t i = 0; i < panel[p].spans; i++)
			if (panel[p].span[i].to_ns > last)
				last = panel[p].span[i].to_ns;
	}
	s.ns_per_px = (double)(last - origin_ns) / WIDTH;
	return s;
}

static void svg_lane(FILE *out, const struct gs_lane *lane, const struct scale *s, double top)
{
	double bar = lane->ntt / s->most * (BARS - 70);
	int left = s->left;

	fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", left - 8, top + 11);
	put_xml(out, lane->name);
	fprintf(out, "</text><line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#eee\"/>",
		left, left + WIDTH, top + LANE / 2.0, top + LANE / 2.0);
	if (lane->ntt > 0)
		fprintf(out,
			"<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
			"fill=\"#c0504d\"/><text x=\"%.1f\" y=\"%.1f\">%.2f</text>",
			left + WIDTH + 20, top + 2, bar, LANE - 5, left + WIDTH + 26 + bar,
			top + 11, lane->ntt);
	fputc('\n', out);
}

static void svg_panel(FILE *out, const struct gs_panel *panel, const struct scale *s, double y)
{
	fprintf(out, "<text x=\"%d\" y=\"%.0f\" font-weight=\"bold\">", s->left, y + 20);
	put_xml(out, panel->name);
	fputs(": ", out);
	put_xml(out, panel->caption);
	fputs("</text>\n", out);
	for (size_t i = 0; i < panel->lanes; i++)
		svg_lane(out, &panel->lane[i], s, y + HEAD + (double)i * LANE);
	for (size_t i = 0; i < panel->spans; i++) {
		const struct gs_span *t = &panel->span[i];

		if (t->from_ns < s->origin_ns)
			continue;
		fprintf(out,
			"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" "
			"fill=\"%s\"/>\n",
			s->left + (double)(t->from_ns - s->origin_ns) / s->ns_per_px,
			y + HEAD + t->lane * (double)LANE + 2,
			(double)(t->to_ns - t->from_ns) / s->ns_per_px, LANE - 5,
			panel->kind[t->kind].colour);
	}
}

void gs_timeline_svg(FILE *out, const struct gs_panel *panel, size_t panels, uint64_t origin_ns,
		     const char *note)
{
	struct scale s = summarise(panel, panels, origin_ns);
	double y = 14, high = 20;

	for (size_t p = 0; p < panels; p++)
		high += HEAD + (double)panel[p].lanes * LANE + 18;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"%d\" y=\"14\">who holds the GPU, 0 to %.2f ms%s</text>"
		"<text x=\"%d\" y=\"14\">slowdown (NTT)</text>\n",
		s.left + WIDTH + BARS, high, s.left, s.ns_per_px * WIDTH / 1e6, note,
		s.left + WIDTH + 20);
	for (size_t p = 0; p < panels; p++) {
		svg_panel(out, &panel[p], &s, y);
		y += HEAD + (double)panel[p].lanes * LANE + 18;
	}
	fprintf(out, "</svg>\n");
}
