/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of gpushare-bench periodic; see periodic.h. */
#define _GNU_SOURCE
#include <math.h>

#include "gpushare/bench/periodic.h"

static void print_head(const struct periodic *p)
{
	printf("%s, CUDA driver %s: a frame of %.3f ms every %.3f ms, due after %.3f ms; times in "
	       "ms\n\n%-8s %-9s %-7s %6s %6s",
	       p->yard.device, p->yard.driver, (double)p->alone_ns / 1e6,
	       (double)p->period.every_ns / 1e6, (double)p->period.deadline_ns / 1e6, "", "", "",
	       "", "");
#define COLUMN(name, heading, below, figure) printf(" %8s", heading);
#include "gpushare/bench/periodic_columns.def"
#undef COLUMN
	printf("\n%-8s %-9s %-7s %6s %6s", "low", "isolation", "policy", "frames", "missed");
#define COLUMN(name, heading, below, figure) printf(" %8s", below);
#include "gpushare/bench/periodic_columns.def"
#undef COLUMN
	printf("\n");
}

static void print_csv_head(const struct periodic *p)
{
	bench_output_head(p->csv, &p->common, p->yard.device, p->yard.driver);
	fputs("low,isolation,policy,frames,missed", p->csv);
#define COLUMN(name, heading, below, figure) fputs("," #name, p->csv);
#include "gpushare/bench/periodic_columns.def"
#undef COLUMN
	fputc('\n', p->csv);
}

static void print_to(FILE *out, const struct periodic_row *r, int csv)
{
	const double figures[] = {
#define COLUMN(name, heading, below, figure) figure,
#include "gpushare/bench/periodic_columns.def"
#undef COLUMN
	};

	fprintf(out, csv ? "%s,%s,%s,%llu,%llu" : "%-8s %-9s %-7s %6llu %6llu", r->low,
		r->isolation, r->policy, (unsigned long long)r->frames,
		(unsigned long long)r->missed);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (isnan(figures[i]))
			fprintf(out, csv ? "," : " %8s", "-");
		else
			fprintf(out, csv ? ",%.4f" : " %8.3f", figures[i]);
	fputc('\n', out);
	fflush(out);
}

void periodic_print(const struct periodic *p, const struct periodic_row *r)
{
	print_to(stdout, r, 0);
	if (p->csv)
		print_to(p->csv, r, 1);
}

void periodic_head(const struct periodic *p)
{
	print_head(p);
	if (p->csv)
		print_csv_head(p);
}
