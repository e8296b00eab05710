/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of gpushare-bench corun; see corun_verb.h. */
#define _GNU_SOURCE
#include <string.h>

#include "device/ptx/kind.h"
#include "gpushare/bench/corun_verb.h"

/* A kernel that keeps this part of its rate on half of the multiprocessors waits for memory, or
 * does not fill the GPU. */
#define MEMORY_BOUND 0.75
#define NAME_WIDTH 18

static int is_memory_bound(const struct corun_kernel *k)
{
	return k->half >= MEMORY_BOUND * k->workers;
}

static void print_kernels_to(FILE *out, const struct corun *c, const char *prefix)
{
	fprintf(out, "%s%-18s %9s %9s %7s %5s %9s %7s %7s %s\n", prefix, "kernel", "alone ms",
		"variant", "half", "fits", "registers", "shared", "threads", "class");
	for (size_t i = 0; i < c->kernels; i++) {
		const struct corun_kernel *k = &c->kernel[i];

		fprintf(out, "%s%-18s %9.4f ", prefix, k->name, 1e3 / k->alone);
		if (k->refused)
			fprintf(out, "no variant: it %s\n",
				ptx_reason_words((enum ptx_reason)k->refused));
		else
			fprintf(out, "%9.3f %7.3f %5u %9u %7u %7u %s\n", k->workers / k->alone,
				k->half / k->workers, k->fits, k->registers, k->shared, k->threads,
				is_memory_bound(k) ? "M" : "C");
	}
}

void corun_print_kernels(const struct corun *c)
{
	const struct bench_answer *is = &c->workers.page->slot[0].answer;

	printf("%s, CUDA driver %s, %u multiprocessors\n\n", is->device, is->driver, c->sms);
	print_kernels_to(stdout, c, "");
	printf("\nSum of the kernels' progress (STP); fairness: the smallest progress by the "
	       "largest\n%-*s %7s %9s %7s %7s %-15s %7s  %9s %7s\n",
	       (int)c->size * NAME_WIDTH, "kernels", "slices", "left-over", "equal", "spart", "SMs",
	       "blocks", "fair left", "spart");
	if (!c->csv)
		return;
	bench_output_head(c->csv, &c->common, is->device, is->driver);
	print_kernels_to(c->csv, c, "# ");
	fprintf(c->csv, "kernels,class,way,sms,workers,progress,stp,antt,fairness,empty\n");
}

/* How many of its kernels are of class M; -1: one of them has no variant. */
static int memory_bound(const struct corun_group *g)
{
	int n = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		if (g->of[i]->refused)
			return -1;
		n += is_memory_bound(g->of[i]);
	}
	return n;
}

/* "C+C+M" */
static void print_class(FILE *out, int size, int memory_bound)
{
	for (int i = 0; memory_bound >= 0 && i < size; i++)
		fprintf(out, "%s%c", i ? "+" : "", i < size - memory_bound ? 'C' : 'M');
}

static void print_numbers(FILE *out, const uint32_t *number, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s%u", i ? "+" : "", number[i]);
}

/* What each kernel has stands in one column, with a + between. */
static void print_row(FILE *csv, const struct corun_row *r)
{
	uint32_t n = r->of->n;

	for (uint32_t i = 0; i < n; i++)
		fprintf(csv, "%s%s", i ? "+" : "", r->of->of[i]->name);
	putc(',', csv);
	print_class(csv, (int)n, memory_bound(r->of));
	fprintf(csv, ",%s,", corun_way_name(r->way));
	print_numbers(csv, r->sms, n);
	putc(',', csv);
	print_numbers(csv, r->workers, n);
	for (uint32_t i = 0; i < n; i++)
		fprintf(csv, "%c%.4f", i ? '+' : ',', r->is.progress[i]);
	fprintf(csv, ",%.4f,%.4f,%.4f,%llu\n", r->is.stp, r->is.antt, r->is.fair,
		(unsigned long long)r->empty);
}

/* Of a group's rows: one of each way, of spart the best one, and the one that divides the GPU
 * equally; NULL: not measured. */
struct chosen {
	const struct corun_row *way[CORUN_WAYS], *equal;
};

static struct chosen choose(const struct corun *c, size_t first, size_t end)
{
	struct chosen is = { .equal = NULL };

	for (size_t i = first; i < end; i++) {
		const struct corun_row *r = &c->row[i], **to = &is.way[r->way];

		if (!*to || r->is.stp > (*to)->is.stp)
			*to = r;
		if (r->equal)
			is.equal = r;
	}
	return is;
}

static void put(const struct corun_row *r, int width)
{
	if (r)
		printf(" %*.3f", width, r->is.stp);
	else
		printf(" %*s", width, "-");
}

static void put_sms(const struct corun_row *r)
{
	char sms[4 * BENCH_CORUN_MAX] = "-";

	for (uint32_t i = 0, at = 0; r && i < r->of->n && at < sizeof(sms); i++)
		at += (uint32_t)snprintf(sms + at, sizeof(sms) - at, "%s%u", i ? "+" : "",
					 r->sms[i]);
	printf(" %-15s", sms);
}

void corun_print_group(const struct corun *c, size_t first)
{
	const struct corun_group *g = c->row[first].of;
	struct chosen is = choose(c, first, c->rows);
	const struct corun_row *spart = is.way[CORUN_SPART];

	for (uint32_t i = 0; i < g->n; i++)
		printf("%-*s", NAME_WIDTH, g->of[i]->name);
	put(is.way[CORUN_SLICES], 7);
	put(is.way[CORUN_LEFT_OVER], 9);
	put(is.equal, 7);
	put(spart, 7);
	put_sms(spart);
	put(is.way[CORUN_BLOCKS], 7);
	printf("  %9.3f %7.3f\n", is.way[CORUN_LEFT_OVER]->is.fair, spart ? spart->is.fair : 0);
	fflush(stdout);
	if (!c->csv)
		return;
	for (size_t i = first; i < c->rows; i++)
		print_row(c->csv, &c->row[i]);
	fflush(c->csv);
}

/* ---- means --------------------------------------------------------------------------- */

struct sums {
	size_t groups;
	double stp[CORUN_WAYS], antt[CORUN_WAYS], fair[CORUN_WAYS], equal;
	size_t of[CORUN_WAYS], with_antt[CORUN_WAYS];
};

static void add(struct sums *s, const struct chosen *is)
{
	s->groups++;
	s->equal += is->equal ? is->equal->is.stp : 0;
	for (int way = 0; way < CORUN_WAYS; way++) {
		const struct corun_row *r = is->way[way];

		if (!r)
			continue;
		s->of[way]++;
		s->stp[way] += r->is.stp;
		s->antt[way] += r->is.antt;
		s->with_antt[way] += r->is.antt > 0;
		s->fair[way] += r->is.fair;
	}
}

#define ALL_CLASSES (-1)

/* The groups all of whose kernels have variants, so many of them of class M. */
static struct sums sum_up(const struct corun *c, int memory)
{
	struct sums s = { .groups = 0 };

	for (size_t first = 0, end; first < c->rows; first = end) {
		struct chosen is;

		for (end = first + 1; end < c->rows && c->row[end].group == c->row[first].group;)
			end++;
		is = choose(c, first, end);
		if (is.way[CORUN_SPART] &&
		    (memory == ALL_CLASSES || memory_bound(c->row[first].of) == memory))
			add(&s, &is);
	}
	return s;
}

/* ANTT is the mean of the groups in which all kernels had progress. */
static void print_mean(FILE *out, const struct sums *s, enum corun_way way)
{
	size_t n = s->of[way], antt = s->with_antt[way];

	if (!n)
		return;
	fprintf(out, "%s %s", way ? ";" : "",
		way == CORUN_SPART ? "best spart" : corun_way_name(way));
	if (n != s->groups)
		fprintf(out, " (%zu groups)", n);
	fprintf(out, " STP %.3f, ANTT %.3f", s->stp[way] / (double)n,
		antt ? s->antt[way] / (double)antt : 0);
	if (antt != n)
		fprintf(out, " (of %zu)", antt);
	fprintf(out, ", fairness %.3f", s->fair[way] / (double)n);
}

static void print_means_to(FILE *out, const struct corun *c, const char *prefix)
{
	for (int memory = ALL_CLASSES; memory <= (int)c->size; memory++) {
		struct sums s = sum_up(c, memory);

		if (!s.groups)
			continue;
		fputs(prefix, out);
		if (memory == ALL_CLASSES)
			fputs("all", out);
		print_class(out, (int)c->size, memory);
		fprintf(out, ", %zu group%s:", s.groups, s.groups == 1 ? "" : "s");
		for (int way = 0; way < CORUN_WAYS; way++)
			print_mean(out, &s, (enum corun_way)way);
		fprintf(out, "; equal parts STP %.3f\n", s.equal / (double)s.groups);
	}
	if (c->left_out)
		fprintf(out, "%s%zu groups were left out, as %u s were over (--limit)\n", prefix,
			c->left_out, c->limit_s);
}

void corun_print_means(const struct corun *c)
{
	putchar('\n');
	print_means_to(stdout, c, "");
	if (c->csv)
		print_means_to(c->csv, c, "# ");
}
