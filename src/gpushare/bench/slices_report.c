/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of gpushare-bench slices; see slices_verb.h. */
#define _GNU_SOURCE
#include "gpushare/bench/slices_verb.h"

static const char columns[] = "kernel,target_ms,blocks,slices,slice_ms,as_written_ms,one_slice,"
			      "in_stream,with_check,right,note";

void slices_head(const struct slices *s)
{
	const struct bench_answer *is = &s->workers.page->slot[0].answer;

	printf("%s, CUDA driver %s: kernels cut into slices of a target length; times in ms, and of "
	       "the kernel's own\n\n%-28s %9s %9s %7s %9s %10s %9s %9s %10s %5s %s\n",
	       is->device, is->driver, "kernel", "target_ms", "blocks", "slices", "slice_ms",
	       "as_written", "one_slice", "in_stream", "with_check", "right", "note");
	if (!s->csv)
		return;
	bench_output_head(s->csv, &s->common, is->device, is->driver);
	fprintf(s->csv, "%s\n", columns);
}

/* A cell: right of the one before it in the table, behind a comma in a CSV, where what was not
 * measured is nothing. */
static void put(FILE *out, int csv, int width, const char *text)
{
	if (csv)
		fprintf(out, ",%s", text);
	else
		fprintf(out, " %*s", width, *text ? text : "-");
}

static void put_number(FILE *out, int csv, int width, uint64_t value)
{
	char text[32] = "";

	if (value)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	put(out, csv, width, text);
}

static void put_real(FILE *out, int csv, int width, double value)
{
	char text[32] = "";

	if (value > 0)
		snprintf(text, sizeof(text), "%.4f", value);
	put(out, csv, width, text);
}

static void print_to(FILE *out, const struct slices_row *r, int csv)
{
	fprintf(out, csv ? "%s" : "%-28s", r->kernel);
	put_real(out, csv, 9, r->target_ns / 1e6);
	put_number(out, csv, 9, r->blocks);
	put_number(out, csv, 7, r->slices);
	put_real(out, csv, 9, r->slice_ns / 1e6);
	put_real(out, csv, 10, r->way_ns[BENCH_AS_WRITTEN] / 1e6);
	put_real(out, csv, 9, slices_ratio(r, BENCH_ONE_SLICE));
	put_real(out, csv, 9, slices_ratio(r, BENCH_IN_STREAM));
	put_real(out, csv, 10, slices_ratio(r, BENCH_WITH_CHECK));
	put(out, csv, 5, !r->measured ? "" : r->right ? "yes" : "no");
	if (*r->note)
		fprintf(out, csv ? ",\"%s\"\n" : " %s\n", r->note);
	else
		fputs(csv ? ",\n" : "\n", out);
	fflush(out);
}

void slices_print(const struct slices *s, const struct slices_row *row)
{
	print_to(stdout, row, 0);
	if (s->csv)
		print_to(s->csv, row, 1);
}

static void summary_to(FILE *out, const struct slices *s, const char *prefix)
{
	for (size_t i = 0; i < s->target.count; i++) {
		double ms = (double)s->target.ns[i] / 1e6;
		struct slices_mean m = slices_mean(s->row, s->rows, (double)s->target.ns[i]);

		if (m.rows)
			fprintf(out,
				"%s%.4f ms: geometric mean of in_stream %.4f, of with_check %.4f over "
				"%zu kernels, with_check at most %.4f (%s)\n",
				prefix, ms, m.in_stream, m.with_check, m.rows, m.worst, m.kernel);
		else
			fprintf(out, "%s%.4f ms: no kernel of several slices that can meet it\n",
				prefix, ms);
	}
	if (s->left_out)
		fprintf(out, "%s%zu of %zu rows were left out to end within %u s (--limit)\n",
			prefix, s->left_out, s->rows, s->limit_s);
}

void slices_summary(const struct slices *s)
{
	putchar('\n');
	summary_to(stdout, s, "");
	if (s->csv)
		summary_to(s->csv, s, "# ");
}
