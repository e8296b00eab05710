/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of gpushare-bench corun; see corun_verb.h. */
#define _GNU_SOURCE
#include <string.h>

#include "device/ptx/kind.h"
#include "gpushare/bench/corun_verb.h"

/* A kernel that keeps this part of its rate on half of the multiprocessors waits for memory, or
 * does not fill the GPU. */
#define MEMORY_BOUND 0.75

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
	printf("\nSum of both kernels' progress (STP); fairness: the smaller progress by the "
	       "larger\n%-36s %7s %9s %7s %7s %4s %7s  %9s %7s\n",
	       "pair", "slices", "left-over", "halves", "spart", "SMs", "blocks", "fair left",
	       "spart");
	if (!c->csv)
		return;
	bench_output_head(c->csv, &c->common, is->device, is->driver);
	print_kernels_to(c->csv, c, "# ");
	fprintf(c->csv, "first,second,class,way,first_sms,second_sms,first_workers,second_workers,"
			"first_progress,second_progress,stp,antt,fairness,empty\n");
}

/* "C+M": the classes in the order of the alphabet; "": one has no variant. */
static const char *class_of(const struct corun_pair *pair)
{
	if (pair->of[0]->refused || pair->of[1]->refused)
		return "";
	switch (is_memory_bound(pair->of[0]) + is_memory_bound(pair->of[1])) {
	case 0:
		return "C+C";
	case 1:
		return "C+M";
	default:
		return "M+M";
	}
}

static void print_row(FILE *csv, const struct corun_row *r)
{
	fprintf(csv, "%s,%s,%s,%s,%u,%u,%u,%u,%.4f,%.4f,%.4f,%.4f,%.4f,%llu\n", r->pair.of[0]->name,
		r->pair.of[1]->name, class_of(&r->pair), corun_way_name(r->way), r->sms[0],
		r->sms[1], r->workers[0], r->workers[1], r->is.progress[0], r->is.progress[1],
		r->is.stp, r->is.antt, r->is.fair, (unsigned long long)r->empty);
}

/* Of a pair's rows: one of each way, of spart the best one and that of halves; NULL: not measured.
 */
struct chosen {
	const struct corun_row *way[CORUN_WAYS], *halves;
};

static struct chosen choose(const struct corun *c, size_t first, size_t end)
{
	struct chosen is = { .halves = NULL };

	for (size_t i = first; i < end; i++) {
		const struct corun_row *r = &c->row[i], **to = &is.way[r->way];

		if (!*to || r->is.stp > (*to)->is.stp)
			*to = r;
		if (r->way == CORUN_SPART && r->sms[0] == corun_border(c->sms, 4))
			is.halves = r;
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

void corun_print_pair(const struct corun *c, size_t first)
{
	struct chosen is = choose(c, first, c->rows);
	const struct corun_row *spart = is.way[CORUN_SPART];

	printf("%-18s%-18s", c->row[first].pair.of[0]->name, c->row[first].pair.of[1]->name);
	put(is.way[CORUN_SLICES], 7);
	put(is.way[CORUN_LEFT_OVER], 9);
	put(is.halves, 7);
	put(spart, 7);
	printf(" %4u", spart ? spart->sms[0] : 0);
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
	size_t pairs;
	double stp[CORUN_WAYS], antt[CORUN_WAYS], fair[CORUN_WAYS], halves;
	size_t of[CORUN_WAYS], with_antt[CORUN_WAYS];
};

static void add(struct sums *s, const struct chosen *is)
{
	s->pairs++;
	s->halves += is->halves ? is->halves->is.stp : 0;
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

/* The pairs of a class whose kernels both have variants; NULL: of all classes. */
static struct sums sum_up(const struct corun *c, const char *class)
{
	struct sums s = { .pairs = 0 };

	for (size_t first = 0, end; first < c->rows; first = end) {
		const struct corun_pair *pair = &c->row[first].pair;
		struct chosen is;

		for (end = first + 1; end < c->rows && c->row[end].pair.of[0] == pair->of[0] &&
				      c->row[end].pair.of[1] == pair->of[1];)
			end++;
		is = choose(c, first, end);
		if (is.way[CORUN_SPART] && (!class || strcmp(class, class_of(pair)) == 0))
			add(&s, &is);
	}
	return s;
}

/* ANTT is the mean of the pairs in which both kernels had progress. */
static void print_mean(FILE *out, const struct sums *s, enum corun_way way)
{
	size_t n = s->of[way], antt = s->with_antt[way];

	if (!n)
		return;
	fprintf(out, "%s %s", way ? ";" : "",
		way == CORUN_SPART ? "best spart" : corun_way_name(way));
	if (n != s->pairs)
		fprintf(out, " (%zu pairs)", n);
	fprintf(out, " STP %.3f, ANTT %.3f", s->stp[way] / (double)n,
		antt ? s->antt[way] / (double)antt : 0);
	if (antt != n)
		fprintf(out, " (of %zu)", antt);
	fprintf(out, ", fairness %.3f", s->fair[way] / (double)n);
}

static void print_means_to(FILE *out, const struct corun *c, const char *prefix)
{
	static const char *const class[] = { NULL, "C+C", "C+M", "M+M" };

	for (size_t i = 0; i < sizeof(class) / sizeof(*class); i++) {
		struct sums s = sum_up(c, class[i]);

		if (!s.pairs)
			continue;
		fprintf(out, "%s%s, %zu pairs:", prefix, class[i] ? class[i] : "all", s.pairs);
		for (int way = 0; way < CORUN_WAYS; way++)
			print_mean(out, &s, (enum corun_way)way);
		fprintf(out, "; halves STP %.3f\n", s.halves / (double)s.pairs);
	}
	if (c->left_out)
		fprintf(out, "%s%zu pairs were left out, as %u s were over (--limit)\n", prefix,
			c->left_out, c->limit_s);
}

void corun_print_means(const struct corun *c)
{
	putchar('\n');
	print_means_to(stdout, c, "");
	if (c->csv)
		print_means_to(c->csv, c, "# ");
}
