/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results as Chrome trace events (one process per policy, one thread per
 * kernel) and as SVG (one lane per kernel, the slowdown bars beside it); see
 * output.h.
 */
#include "gpushare/sim/output.h"

void sim_write_trace(FILE *out, const struct sim_workload *workload,
		     const struct sim_result *result, size_t count)
{
	const char *comma = "";

	fprintf(out, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [");
	for (size_t p = 0; p < count; p++) {
		fprintf(out, "%s\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%zu,"
			"\"args\":{\"name\":\"%s\"}}", comma, p + 1, result[p].summary.policy);
		comma = ",";
		for (size_t i = 0; i < workload->count; i++)
			fprintf(out, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%zu,"
				"\"tid\":%zu,\"args\":{\"name\":\"%s\"}}", p + 1, i + 1,
				workload->kernel[i].name);
		for (size_t i = 0; i < result[p].stretches; i++) {
			const struct sim_stretch *s = &result[p].stretch[i];

			fprintf(out, ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%zu,\"tid\":%u,"
				"\"ts\":%.3f,\"dur\":%.3f}", workload->kernel[s->kernel].name,
				p + 1, s->kernel + 1, (double)s->from_ns / 1e3,
				(double)(s->to_ns - s->from_ns) / 1e3);
		}
	}
	fprintf(out, "\n]}\n");
}

enum { LANE = 16, LEFT = 130, WIDTH = 760, BARS = 230, HEAD = 42 };

static double widest_ntt(const struct sim_workload *workload, const struct sim_result *result,
			 size_t count)
{
	double most = 1;

	for (size_t p = 0; p < count; p++)
		for (size_t i = 0; i < workload->count; i++)
			if (result[p].row[i].ntt > most)
				most = result[p].row[i].ntt;
	return most;
}

static uint64_t last_end(const struct sim_result *result, size_t count)
{
	uint64_t last = 1;

	for (size_t p = 0; p < count; p++)
		for (size_t i = 0; i < result[p].stretches; i++)
			if (result[p].stretch[i].to_ns > last)
				last = result[p].stretch[i].to_ns;
	return last;
}

/* One policy: its lanes from y on. */
static void svg_panel(FILE *out, const struct sim_workload *workload,
		      const struct sim_result *result, double y, double ns_per_px, double most)
{
	const struct sim_summary *s = &result->summary;

	fprintf(out, "<text x=\"%d\" y=\"%.0f\" font-weight=\"bold\">%s: ANTT %.2f, DNTT %.2f, "
		"STP %.2f, makespan %.2f ms</text>\n", LEFT, y + 20, s->policy, s->antt, s->dntt,
		s->stp, s->makespan_ms);
	for (size_t i = 0; i < workload->count; i++) {
		double top = y + HEAD + (double)i * LANE, ntt = result->row[i].ntt;

		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>"
			"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#eee\"/>"
			"<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"#c0504d\"/>"
			"<text x=\"%.1f\" y=\"%.1f\">%.2f</text>\n", LEFT - 8, top + 11,
			workload->kernel[i].name, LEFT, LEFT + WIDTH, top + LANE / 2.0,
			top + LANE / 2.0, LEFT + WIDTH + 20, top + 2, ntt / most * (BARS - 70),
			LANE - 5, LEFT + WIDTH + 26 + ntt / most * (BARS - 70), top + 11, ntt);
	}
	for (size_t i = 0; i < result->stretches; i++) {
		const struct sim_stretch *t = &result->stretch[i];

		fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" "
			"fill=\"#4f81bd\"/>\n", LEFT + (double)t->from_ns / ns_per_px,
			y + HEAD + t->kernel * (double)LANE + 2,
			(double)(t->to_ns - t->from_ns) / ns_per_px, LANE - 5);
	}
}

void sim_write_svg(FILE *out, const struct sim_workload *workload,
		   const struct sim_result *result, size_t count)
{
	double panel = HEAD + (double)workload->count * LANE + 18;
	double ns_per_px = (double)last_end(result, count) / WIDTH;
	double most = widest_ntt(workload, result, count);

	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		"<text x=\"%d\" y=\"14\">who holds the GPU, 0 to %.2f ms (first round)</text>"
		"<text x=\"%d\" y=\"14\">slowdown (NTT)</text>\n", LEFT + WIDTH + BARS,
		panel * (double)count + 20, LEFT, ns_per_px * WIDTH / 1e6, LEFT + WIDTH + 20);
	for (size_t p = 0; p < count; p++)
		svg_panel(out, workload, &result[p], 14 + panel * (double)p, ns_per_px, most);
	fprintf(out, "</svg>\n");
}
