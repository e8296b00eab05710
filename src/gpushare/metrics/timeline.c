/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chrome trace events; see timeline.h. */
#include "gpushare/metrics/timeline.h"

#include <stdlib.h>
#include <string.h>

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
